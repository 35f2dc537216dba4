//! Plots, as self-contained SVG.

pub(crate) mod costs;
pub(crate) mod lengths;
#[cfg(target_os = "linux")]
pub(crate) mod series;
#[cfg(target_os = "linux")]
mod ticks;

use std::io::Write;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::Error;
use crate::output_file;

/// The canvas of a plot.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Axis numbers and labels, in pixels.
const TEXT: u32 = 13;
/// Names of panels.
const PANEL_TITLE: u32 = 15;
/// The title of the plot.
const TITLE: u32 = 20;
/// The colour of text.
const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
/// Lines behind the data.
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
/// Space for the title and the legend.
const HEAD: u32 = 76;
/// Space for a [`note`] below them.
const NOTE: u32 = 20;
/// Space around everything.
const MARGIN: i32 = 16;
/// The most panels: nobody would look at more.
const PANELS: usize = 24;

/// Writes a drawn plot to a file.
pub(crate) fn save(path: &Path, svg: &str) -> Result<(), Error> {
    output_file::write(path, |mut file| file.write_all(svg.as_bytes()))
        .map_err(|error| Error::write(path, error))
}

/// Draws an image of `size` with a title and a legend; `body` draws what is below them.
fn image(
    size: (u32, u32),
    title: &str,
    legend: &[(&str, RGBColor)],
    body: impl FnOnce(&Area<'_>) -> Result<(), Error>,
) -> Result<String, Error> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        text(&root, title, (MARGIN, 26), TITLE, HPos::Left)?;
        let mut x = MARGIN;
        for &(name, color) in legend {
            let swatch = Rectangle::new([(x, 49), (x + 14, 61)], color.filled());
            root.draw(&swatch).map_err(failed)?;
            text(&root, name, (x + 20, 55), TEXT, HPos::Left)?;
            // No font is available to measure; most letters are narrower than this.
            x += 48 + name.chars().count() as i32 * 13 / 2;
        }
        body(&root)?;
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

/// Writes one of the lines below the legend, which apply to the whole plot.
fn note(root: &Area<'_>, line: i32, words: &str) -> Result<(), Error> {
    let y = HEAD as i32 + 6 + NOTE as i32 * line;
    text(root, words, (MARGIN, y), TEXT, HPos::Left)
}

/// Writes one line of text, vertically centred on `at`.
fn text(area: &Area<'_>, text: &str, at: (i32, i32), size: u32, anchor: HPos) -> Result<(), Error> {
    let style = ("sans-serif", size).into_font().color(&INK);
    let style = style.pos(Pos::new(anchor, VPos::Center));
    area.draw(&Text::new(text, at, style)).map_err(failed)
}

/// The traces that get a panel, in the order in which they were given: if there are many, those with the
/// largest `to_see`.
fn shown(traces: usize, to_see: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..traces).collect();
    shown.sort_by(|&a, &b| to_see(b).total_cmp(&to_see(a)));
    shown.truncate(PANELS);
    shown.sort_unstable();
    shown
}

/// A text, cut so that it fits.
fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let cut: String = text.chars().take(letters.saturating_sub(1)).collect();
    cut + "…"
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Plot(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_traces_those_with_most_to_see_are_shown() {
        assert_eq!(shown(3, |i| i as f64), [0, 1, 2]);
        let most: Vec<usize> = (76..100).collect();
        assert_eq!(shown(110, |i| (i % 100) as f64), most);
        let first: Vec<usize> = (0..PANELS).collect();
        assert_eq!(shown(110, |_| 0.0), first);
    }
}
