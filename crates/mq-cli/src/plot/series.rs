//! Measurements by size: a line for each series, both axes logarithmic.

use plotters::prelude::*;

use super::{GRID, HEAD, INK, MARGIN, NOTE, TEXT, cut, failed, image, note, ticks};
use crate::error::Error;
use crate::report::count;

const COLORS: [RGBColor; 4] = [
    RGBColor(0x1f, 0x6f, 0xb4),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
];
/// Space on the right, for half of the number under the last point: 1,073,741,824 at most.
const RIGHT: i32 = 48;
/// Pixels of the plot without what stands above it.
const SIZE: (u32, u32) = (900, 444);
/// Letters of a note that fit.
const LETTERS: usize = 130;

/// What the plot and its axes are called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axes {
    pub(crate) title: &'static str,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
}

/// Draws points, each with the name of its series; a size of 0 stands where 1/2 would. The notes
/// stand above them, a line each.
pub(crate) fn draw(
    axes: &Axes,
    notes: &[String],
    points: &[(&'static str, f64, f64)],
) -> Result<String, Error> {
    let mut names: Vec<&str> = Vec::new();
    for (name, ..) in points {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let legend: Vec<_> = names
        .iter()
        .copied()
        .zip(COLORS.into_iter().cycle())
        .collect();
    let place = |x: f64| x.max(0.5);
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::MAX, f64::min);
    let greatest = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::MIN, f64::max);
    let xs = || points.iter().map(|&(_, x, _)| place(x));
    let ys = || points.iter().map(|&(.., y)| y.max(1e-3));
    let (y_least, y_most) = (least(&mut ys()) * 0.8, greatest(&mut ys()) * 1.25);
    let x_range = (least(&mut xs()) * 0.9..greatest(&mut xs()) * 1.1)
        .log_scale()
        .with_key_points(ticks::of_values(xs()));
    let y_range = (y_least..y_most)
        .log_scale()
        .with_key_points(ticks::of_range(y_least, y_most));
    let title = format!("{} (both axes logarithmic)", axes.title);
    let head = HEAD + NOTE * notes.len() as u32;
    let size = (SIZE.0, head + SIZE.1);
    image(size, &title, &legend, |root| {
        for (i, line) in notes.iter().enumerate() {
            note(root, i as i32, &cut(line, LETTERS))?;
        }
        let panel = root.clone().shrink((0, head as i32), SIZE);
        let mut chart = ChartBuilder::on(&panel)
            .margin(MARGIN)
            .margin_right(RIGHT)
            .y_label_area_size(82)
            .x_label_area_size(46)
            .build_cartesian_2d(x_range, y_range)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .label_style(("sans-serif", TEXT).into_font().color(&INK))
            .x_desc(axes.x)
            .y_desc(axes.y)
            .x_label_formatter(&|&x| if x < 1.0 { "0".into() } else { count(x as u64) })
            .y_label_formatter(&|&y| {
                if y < 1.0 {
                    format!("{y:.2}")
                } else if y < 10.0 {
                    format!("{y:.1}")
                } else {
                    count(y as u64)
                }
            })
            .draw()
            .map_err(failed)?;
        for &(name, color) in &legend {
            let line: Vec<_> = points
                .iter()
                .filter(|(series, ..)| *series == name)
                .map(|&(_, x, y)| (place(x), y.max(1e-3)))
                .collect();
            let dots = line
                .iter()
                .map(|&point| Circle::new(point, 3, color.filled()));
            chart.draw_series(dots).map_err(failed)?;
            let line = LineSeries::new(line.clone(), color.stroke_width(2));
            chart.draw_series(line).map_err(failed)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a text stands, in pixels from the left.
    fn place(svg: &str, text: &str) -> f64 {
        let lines: Vec<&str> = svg.lines().collect();
        let at = lines.iter().position(|line| *line == text).expect("there");
        let (_, place) = lines[at - 1].split_once(" x=\"").expect("it has a place");
        place
            .split('"')
            .next()
            .expect("a number")
            .parse()
            .expect("a number")
    }

    #[test]
    fn the_first_and_the_last_number_are_there_and_whole() {
        let sizes = core::iter::once(0.0).chain((0..23).map(|power| f64::from(1 << power)));
        let points: Vec<_> = sizes.map(|size| ("median", size, 100.0 + size)).collect();
        let axes = Axes {
            title: "Latency",
            x: "bytes",
            y: "ns one way",
        };
        let svg = draw(&axes, &["Notes.".into()], &points).expect("drawn");
        assert!(svg.contains("\nNotes.\n"));
        assert!(place(&svg, "0") < 120.0, "{svg}");
        let half = 7.0 * "4,194,304".len() as f64 / 2.0;
        assert!(place(&svg, "4,194,304") + half < f64::from(SIZE.0), "{svg}");
    }
}
