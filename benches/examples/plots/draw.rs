//! Panels of lines beside each other, both axes logarithmic.

use plotters::coord::combinators::IntoLogRange;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Pixels of a panel, and of what is above the panels.
const PANEL: (u32, u32) = (500, 380);
const HEAD: u32 = 92;
const MARGIN: i32 = 16;
/// Pixels of a letter of the legend, at most; no font is available to measure.
const LETTER: i32 = 7;

const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const FAINT: RGBColor = RGBColor(0x66, 0x66, 0x66);
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

/// How the lines of one name are drawn, and what the legend calls them.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    pub(crate) legend: &'static str,
    pub(crate) color: RGBColor,
    pub(crate) width: u32,
}

/// A line: its style, and its points from left to right.
pub(crate) struct Line {
    pub(crate) style: Style,
    pub(crate) points: Vec<(f64, f64)>,
}

pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
    /// Those drawn later lie above.
    pub(crate) lines: Vec<Line>,
}

pub(crate) struct Plot {
    pub(crate) title: &'static str,
    /// What the figures are of.
    pub(crate) origin: String,
    /// With the same units, which share their axes, or with others, which do not.
    pub(crate) panels: Vec<Panel>,
}

type Failed = Box<dyn std::error::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// The plot as SVG.
pub(crate) fn draw(plot: &Plot) -> Result<String, Failed> {
    let size = (PANEL.0 * plot.panels.len() as u32, HEAD + PANEL.1);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        write(&root, plot.title, (MARGIN, 24), 19, INK)?;
        write(&root, &plot.origin, (MARGIN, 46), 13, FAINT)?;
        draw_legend(&root, plot)?;
        for (at, panel) in (0..).zip(&plot.panels) {
            let place = (PANEL.0 as i32 * at, HEAD as i32);
            let area = root.clone().shrink(place, PANEL);
            let alike = plot.panels.iter().filter(|other| other.y == panel.y);
            draw_panel(&area, panel, &Axes::of(alike))?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn write(
    area: &Area<'_>,
    words: &str,
    at: (i32, i32),
    size: u32,
    color: RGBColor,
) -> Result<(), Failed> {
    let style = ("sans-serif", size).into_font().color(&color);
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    Ok(area.draw(&Text::new(words, at, style))?)
}

/// Each name once, those of the lines that lie above first.
fn draw_legend(root: &Area<'_>, plot: &Plot) -> Result<(), Failed> {
    let mut named: Vec<Style> = Vec::new();
    for line in plot
        .panels
        .iter()
        .flat_map(|panel| panel.lines.iter().rev())
    {
        if named.iter().all(|style| style.legend != line.style.legend) {
            named.push(line.style);
        }
    }
    let mut x = MARGIN;
    for style in named {
        let swatch = PathElement::new(
            [(x, 72), (x + 22, 72)],
            style.color.stroke_width(style.width),
        );
        root.draw(&swatch)?;
        write(root, style.legend, (x + 28, 72), 13, INK)?;
        x += 44 + LETTER * style.legend.chars().count() as i32;
    }
    Ok(())
}

/// The ranges of both axes, and the values that are marked.
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
    xs: Vec<f64>,
    ys: Vec<f64>,
}

impl Axes {
    /// Of panels with the same axes.
    fn of<'a>(panels: impl Iterator<Item = &'a Panel>) -> Self {
        let lines = panels.flat_map(|panel| &panel.lines);
        let points: Vec<(f64, f64)> = lines.flat_map(|line| line.points.iter().copied()).collect();
        let mut xs: Vec<f64> = points.iter().map(|point| point.0).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let (first, last) = (xs[0], xs[xs.len() - 1]);
        // With many sizes, not all numbers fit.
        let every = xs.len().div_ceil(6);
        let least = points.iter().map(|point| point.1).fold(f64::MAX, f64::min);
        let most = points.iter().map(|point| point.1).fold(f64::MIN, f64::max);
        // Powers of ten; within two of them also what is between.
        let between: &[f64] = match most / least > 100.0 {
            true => &[1.0],
            false => &[1.0, 2.0, 5.0],
        };
        let powers = least.log10().floor() as i32..=most.log10().ceil() as i32;
        let marks = powers.flat_map(|power| between.iter().map(move |by| by * 10_f64.powi(power)));
        let marks: Vec<f64> = marks.collect();
        let below = marks.iter().rposition(|&mark| mark <= least).unwrap_or(0);
        let above = marks.iter().position(|&mark| mark >= most);
        let ys = marks[below..=above.unwrap_or(marks.len() - 1)].to_vec();
        Self {
            x: (first / 1.15, last * 1.15),
            y: (ys[0], ys[ys.len() - 1]),
            xs: xs.into_iter().step_by(every).collect(),
            ys,
        }
    }
}

fn draw_panel(area: &Area<'_>, panel: &Panel, axes: &Axes) -> Result<(), Failed> {
    let (x, y) = (axes.x.0..axes.x.1, axes.y.0..axes.y.1);
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 15).into_font().color(&INK))
        .margin(8)
        .margin_right(28)
        .y_label_area_size(70)
        .x_label_area_size(42)
        .build_cartesian_2d(
            x.log_scale().with_key_points(axes.xs.clone()),
            y.log_scale().with_key_points(axes.ys.clone()),
        )?;
    chart
        .configure_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .x_desc(panel.x)
        .y_desc(panel.y)
        .x_label_formatter(&|x| match panel.x {
            BYTES => in_units(*x),
            _ => grouped(*x),
        })
        .y_label_formatter(&|y| grouped(*y))
        .draw()?;
    for Line { style, points } in &panel.lines {
        let stroke = style.color.stroke_width(style.width);
        chart.draw_series(LineSeries::new(points.iter().copied(), stroke))?;
        let dots = points.iter();
        let dots = dots.map(|&point| Circle::new(point, style.width + 1, style.color.filled()));
        chart.draw_series(dots)?;
    }
    Ok(())
}

/// The label of an axis whose numbers are written in binary units.
pub(crate) const BYTES: &str = "bytes of a message";

/// A number of bytes: all are powers of two.
fn in_units(bytes: f64) -> String {
    match bytes {
        1_048_576.0.. => format!("{} MiB", grouped(bytes / 1_048_576.0)),
        1_024.0.. => format!("{} KiB", grouped(bytes / 1_024.0)),
        _ => grouped(bytes),
    }
}

/// A number with a comma before each three digits.
fn grouped(value: f64) -> String {
    if value < 1.0 {
        return format!("{value}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
