//! Measurements by size: a line for each series, both axes logarithmic.

use plotters::prelude::*;

use super::{GRID, HEAD, INK, MARGIN, TEXT, failed, image, ticks};
use crate::error::Error;
use crate::report::count;

const COLORS: [RGBColor; 4] = [
    RGBColor(0x1f, 0x6f, 0xb4),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
];
/// Pixels of the plot.
const SIZE: (u32, u32) = (900, 520);

/// What the plot and its axes are called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axes {
    pub(crate) title: &'static str,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
}

/// Draws points, each with the name of its series; a size of 0 stands where 1/2 would.
pub(crate) fn draw(axes: &Axes, points: &[(&'static str, f64, f64)]) -> Result<String, Error> {
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
    image(SIZE, &title, &legend, |root| {
        let panel = root
            .clone()
            .shrink((0, HEAD as i32), (SIZE.0, SIZE.1 - HEAD));
        let mut chart = ChartBuilder::on(&panel)
            .margin(MARGIN)
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
