//! Queue lengths over time: a panel for each trace.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::{Area, GRID, HEAD, INK, MARGIN, PANEL_TITLE, TEXT, failed, image, panel_title, text};
use crate::error::Error;
use crate::report::count;
use crate::stats::Lengths;

const POSTED: RGBColor = RGBColor(0x1f, 0x6f, 0xb4);
const UNEXPECTED: RGBColor = RGBColor(0xd5, 0x5e, 0x00);

/// Pixels of a panel.
const WIDTH: u32 = 1000;
const HEIGHT: u32 = 300;

/// Draws the queue lengths by operation number.
pub(crate) fn draw(traces: &[Lengths]) -> Result<String, Error> {
    let size = (WIDTH, HEAD + HEIGHT * traces.len() as u32);
    let legend = [
        ("posted receives", POSTED),
        ("unexpected messages", UNEXPECTED),
    ];
    image(
        size,
        "Queue lengths over time (entries, all communicators)",
        &legend,
        |root| {
            for (i, trace) in traces.iter().enumerate() {
                let y = HEAD as i32 + HEIGHT as i32 * i as i32;
                let panel = root.clone().shrink((0, y), (WIDTH, HEIGHT));
                draw_panel(&panel, trace)?;
            }
            Ok(())
        },
    )
}

fn draw_panel(panel: &Area<'_>, trace: &Lengths) -> Result<(), Error> {
    let top = match trace.posted.iter().chain(&trace.unexpected).max() {
        None | Some(0) => 1,
        Some(longest) => longest + longest.div_ceil(20),
    };
    let label = panel_title(&trace.label, 70);
    let title = match trace.stretch {
        1 => label,
        stretch => format!("{label} (each point: the longest of {stretch} operations)"),
    };
    text(panel, &title, (MARGIN + 72, 16), PANEL_TITLE, HPos::Left)?;
    let mut chart = ChartBuilder::on(panel)
        .margin_left(MARGIN)
        .margin_right(MARGIN + 24)
        .margin_top(32)
        .margin_bottom(8)
        .y_label_area_size(72)
        .x_label_area_size(46)
        .build_cartesian_2d(0..trace.operations.max(1), 0..top)
        .map_err(failed)?;
    chart
        .configure_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .label_style(("sans-serif", TEXT).into_font().color(&INK))
        .x_labels(10)
        .y_labels(6)
        .x_desc("operation number")
        .y_desc("entries queued")
        .x_label_formatter(&|&operation| count(operation))
        .y_label_formatter(&|&length| count(length))
        .draw()
        .map_err(failed)?;
    for (lengths, color) in [(&trace.posted, POSTED), (&trace.unexpected, UNEXPECTED)] {
        let points = lengths.iter().enumerate();
        let points = points.map(|(i, &length)| (i * trace.stretch, length));
        let line = LineSeries::new(points, color.stroke_width(1));
        chart.draw_series(line).map_err(failed)?;
    }
    Ok(())
}
