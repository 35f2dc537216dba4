//! Measurements by size: a line for each series, both axes logarithmic.

use plotters::prelude::*;

use super::{Area, GRID, HEAD, INK, MARGIN, NOTE, TEXT, cut, failed, image, note, ticks};
use crate::error::Error;
use crate::report::count;

/// One for each call of `mq calls`, which has the most series.
const COLORS: [RGBColor; 9] = [
    RGBColor(0x1f, 0x6f, 0xb4),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x6a, 0x3d, 0x9a),
    RGBColor(0x80, 0x80, 0x80),
    RGBColor(0x8c, 0x51, 0x0a),
];
/// Space on the right, for half of the number under the last point: 1,073,741,824 at most.
const RIGHT: i32 = 48;
/// Pixels of the plot without what is above it.
const SIZE: (u32, u32) = (900, 444);
/// Characters of a note that fit.
const LETTERS: usize = 130;

/// The titles of the plot and its axes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axes {
    pub(crate) title: &'static str,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
}

/// A point: the name of its series, a size, and the value measured for it.
type Point = (&'static str, f64, f64);

/// Draws points, each with the name of its series; a size of 0 is placed at 1/2, and a value of 0 at
/// the least value above it. The notes are written above the plot, a line each.
pub(crate) fn draw(axes: &Axes, notes: &[String], points: &[Point]) -> Result<String, Error> {
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
    let points = placed(points);
    let title = format!("{} (both axes logarithmic)", axes.title);
    let head = HEAD + NOTE * notes.len() as u32;
    let size = (SIZE.0, head + SIZE.1);
    image(size, &title, &legend, |root| {
        for (i, line) in notes.iter().enumerate() {
            note(root, i as i32, &cut(line, LETTERS))?;
        }
        let panel = root.clone().shrink((0, head as i32), SIZE);
        draw_chart(&panel, axes, &legend, &points)
    })
}

/// The points where they are drawn, above 0 in both directions.
fn placed(points: &[Point]) -> Vec<Point> {
    let above = points.iter().map(|&(.., y)| y).filter(|&y| y > 0.0);
    let lowest = above.reduce(f64::min).unwrap_or(1.0);
    let height = |y: f64| if y > 0.0 { y } else { lowest };
    let place = |&(name, x, y): &Point| (name, x.max(0.5), height(y));
    points.iter().map(place).collect()
}

/// Draws axes that fit the points, and the series of the legend.
fn draw_chart(
    panel: &Area<'_>,
    axes: &Axes,
    legend: &[(&str, RGBColor)],
    points: &[Point],
) -> Result<(), Error> {
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::MAX, f64::min);
    let greatest = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::MIN, f64::max);
    let xs = || points.iter().map(|&(_, x, _)| x);
    let ys = || points.iter().map(|&(.., y)| y);
    let (y_least, y_most) = (least(&mut ys()) * 0.8, greatest(&mut ys()) * 1.25);
    let x_range = (least(&mut xs()) * 0.9..greatest(&mut xs()) * 1.1)
        .log_scale()
        .with_key_points(ticks::of_values(xs()));
    let y_range = (y_least..y_most)
        .log_scale()
        .with_key_points(ticks::of_range(y_least, y_most));
    let mut chart = ChartBuilder::on(panel)
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
        .y_label_formatter(&|&y| ticks::label(y))
        .draw()
        .map_err(failed)?;
    for &(name, color) in legend {
        let of_series = points.iter().filter(|(series, ..)| *series == name);
        let mut line: Vec<_> = of_series.map(|&(_, x, y)| (x, y)).collect();
        // Sizes may have been given in any order.
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
        let dots = line
            .iter()
            .map(|&point| Circle::new(point, 3, color.filled()));
        chart.draw_series(dots).map_err(failed)?;
        let line = LineSeries::new(line.clone(), color.stroke_width(2));
        chart.draw_series(line).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: Axes = Axes {
        title: "Latency",
        x: "bytes",
        y: "ns one way",
    };

    /// The value of an attribute of a tag.
    fn attribute<'a>(tag: &'a str, name: &str) -> &'a str {
        let (_, rest) = tag
            .split_once(&format!(" {name}=\""))
            .expect("the tag has it");
        rest.split('"').next().expect("it has an end")
    }

    fn number(text: &str) -> f64 {
        text.parse().expect("a number")
    }

    /// The position of a text, in pixels from the left.
    fn place(svg: &str, text: &str) -> f64 {
        let lines: Vec<&str> = svg.lines().collect();
        let at = lines.iter().position(|line| *line == text).expect("there");
        number(attribute(lines[at - 1], "x"))
    }

    /// The dots, in pixels from the left and from the top, in drawing order.
    fn dots(svg: &str) -> Vec<(f64, f64)> {
        let circles = svg.lines().filter(|line| line.starts_with("<circle "));
        let place = |tag, name| number(attribute(tag, name));
        circles
            .map(|tag| (place(tag, "cx"), place(tag, "cy")))
            .collect()
    }

    #[test]
    fn the_first_and_the_last_number_are_there_and_whole() {
        let sizes = core::iter::once(0.0).chain((0..23).map(|power| f64::from(1 << power)));
        let points: Vec<_> = sizes.map(|size| ("median", size, 100.0 + size)).collect();
        let svg = draw(&AXES, &["Notes.".into()], &points).expect("drawn");
        assert!(svg.contains("\nNotes.\n"));
        assert!(place(&svg, "0") < 120.0, "{svg}");
        let half = 7.0 * "4,194,304".len() as f64 / 2.0;
        assert!(place(&svg, "4,194,304") + half < f64::from(SIZE.0), "{svg}");
    }
    #[test]
    fn small_values_are_where_they_belong_and_have_their_numbers() {
        let points = [("a", 1.0, 1e-4), ("a", 2.0, 1e-3), ("a", 4.0, 1e-2)];
        let svg = draw(&AXES, &[], &points).expect("drawn");
        let all = dots(&svg);
        let [low, middle, high] = all[..] else {
            panic!("three points, three dots: {svg}");
        };
        assert!(low.1 > middle.1 && middle.1 > high.1, "{svg}");
        let distances = (low.1 - middle.1, middle.1 - high.1);
        assert!((distances.0 - distances.1).abs() < 3.0, "{distances:?}");
        for label in ["0.0001", "0.002", "0.01"] {
            assert!(svg.contains(&format!("\n{label}\n")), "{label}: {svg}");
        }
        assert!(!svg.contains("\n0.00\n"), "{svg}");
    }

    #[test]
    fn nothing_stands_where_the_least_does() {
        let points = [("a", 0.0, 0.0), ("a", 1.0, 0.002), ("a", 2.0, 5.0)];
        let dots = dots(&draw(&AXES, &[], &points).expect("drawn"));
        assert!((dots[0].1 - dots[1].1).abs() < 0.5, "{dots:?}");
        let nothing = draw(&AXES, &[], &[("a", 1.0, 0.0)]).expect("drawn");
        assert!(nothing.contains("\n0.9\n"), "{nothing}");
    }

    #[test]
    fn lines_go_from_left_to_right() {
        let points = [("a", 8.0, 3.0), ("a", 1.0, 1.0), ("a", 2.0, 2.0)];
        let svg = draw(&AXES, &[], &points).expect("drawn");
        let mut lines = svg.lines().filter(|line| line.starts_with("<polyline "));
        let line = lines.find(|tag| attribute(tag, "stroke-width") == "2");
        let places = attribute(line.expect("there is a line"), "points");
        let xs: Vec<f64> = places
            .split_whitespace()
            .map(|place| number(place.split(',').next().expect("a number")))
            .collect();
        assert_eq!(xs.len(), 3, "{places}");
        assert!(xs.is_sorted_by(|a, b| a < b), "{places}");
    }
}
