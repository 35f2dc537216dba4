//! The cost of an operation in each structure, as bars: a panel for each trace.

use mq_core::structures::{Choice, Kind};
use plotters::coord::combinators::{IntoLogRange, LogCoord};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::{
    Area, GRID, HEAD, INK, MARGIN, NOTE, PANEL_TITLE, TEXT, cut, failed, image, note, shown, text,
};
use crate::error::Error;
use crate::replay::Replayed;
use crate::replay::table::HINDSIGHT;
use crate::report::{count, decimal};
use crate::trace_names;

const BASELINE: RGBColor = RGBColor(0x77, 0x77, 0x77);
const PUBLISHED: RGBColor = RGBColor(0x4c, 0x8b, 0xc4);
const DEFAULT: RGBColor = RGBColor(0xd5, 0x5e, 0x00);

/// The legend of the colours.
const LEGEND: [(&str, RGBColor); 3] = [
    ("list, the baseline", BASELINE),
    ("published structures", PUBLISHED),
    ("the default structure", DEFAULT),
];

/// Pixels of a panel, and of one bar with the space around it.
const PANEL_WIDTH: u32 = 620;
const BAR_HEIGHT: u32 = 22;
/// Pixels of a panel outside the bars: its title above, the axis below.
const PANEL_HEAD: u32 = 34;
const PANEL_FOOT: u32 = 52;
/// Space for the structures' names, if they are short, and for each letter.
const NAMES: u32 = 92;
const LETTER: u32 = 7;

/// A panel: costs to the right, structures downwards.
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<LogCoord<f64>, RangedCoordf64>>;

/// Draws nanoseconds per operation on a logarithmic scale that all panels share; of many traces, those
/// that take longest in `list`.
pub(crate) fn draw(results: &[Replayed]) -> Result<String, Error> {
    let traces: Vec<&str> = results.iter().map(|result| &*result.trace).collect();
    let labels = trace_names::labels(&traces);
    let panels = panels_of(results);
    let notes = notes_on(results, &panels);
    let head = HEAD + NOTE * notes.len() as u32;
    let columns = if panels.len() > 2 { 2 } else { 1 };
    let rows = panels.len().div_ceil(columns);
    let bars = results.iter().map(|result| result.rows.len()).max();
    let panel_height = PANEL_HEAD + PANEL_FOOT + BAR_HEIGHT * bars.unwrap_or(0) as u32;
    let names_width = width_of_names(results);
    let panel_width = PANEL_WIDTH + names_width - NAMES;
    let size = (
        panel_width * columns as u32 + MARGIN as u32,
        head + panel_height * rows as u32,
    );
    let legend: Vec<_> = LEGEND
        .into_iter()
        .filter(|&(_, kind)| {
            let mut rows = results.iter().flat_map(|result| &result.rows);
            rows.any(|row| color(&row.structure) == kind)
        })
        .collect();
    let title = "Cost of a match operation (ns, median, loop floor subtracted)";
    image(size, title, &legend, |root| {
        for (line, words) in (0..).zip(&notes) {
            note(root, line, words)?;
        }
        let range = cost_range(results, &panels);
        for (at, &i) in panels.iter().enumerate() {
            let (column, row) = (at % columns, at / columns);
            let x = panel_width as i32 * column as i32;
            let y = head as i32 + panel_height as i32 * row as i32;
            let panel = root.clone().shrink((x, y), (panel_width, panel_height));
            draw_panel(root, &panel, (&results[i], &labels[i]), names_width, range)?;
        }
        Ok(())
    })
}

/// What is to be known of the whole plot.
fn notes_on(results: &[Replayed], panels: &[usize]) -> Vec<String> {
    let mut notes = Vec::new();
    if panels.len() < results.len() {
        notes.push(format!(
            "The {} of {} traces that take longest in list; the others are not shown.",
            panels.len(),
            count(results.len())
        ));
    }
    let mut rows = panels.iter().flat_map(|&i| &results[i].rows);
    if rows.any(|row| row.hindsight) {
        notes.push(format!("{HINDSIGHT}."));
    }
    notes
}

/// The traces that get a panel.
fn panels_of(results: &[Replayed]) -> Vec<usize> {
    let list_ns = |i: usize| results[i].list_ns_per_op * results[i].operations as f64;
    shown(results.len(), list_ns)
}

/// Pixels for the longest of the structures' names, which may have parameters.
fn width_of_names(results: &[Replayed]) -> u32 {
    let rows = results.iter().flat_map(|result| &result.rows);
    let letters = rows.map(|row| row.structure.len() as u32).max();
    NAMES.max(LETTER * letters.unwrap_or(0) + 10)
}

fn draw_panel(
    root: &Area<'_>,
    panel: &Area<'_>,
    (result, label): (&Replayed, &str),
    names_width: u32,
    (low, high): (f64, f64),
) -> Result<(), Error> {
    let count = result.rows.len();
    let title = cut(label, 60);
    text(
        panel,
        &title,
        (MARGIN + names_width as i32, 18),
        PANEL_TITLE,
        HPos::Left,
    )?;
    let mut chart = ChartBuilder::on(panel)
        .margin_left(MARGIN)
        .margin_right(MARGIN)
        .margin_top(PANEL_HEAD)
        .margin_bottom(8)
        .y_label_area_size(names_width)
        .x_label_area_size(PANEL_FOOT - 12)
        .build_cartesian_2d((low..high).log_scale(), 0.0..count as f64)
        .map_err(failed)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(0)
        .x_labels(6)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .label_style(("sans-serif", TEXT).into_font().color(&INK))
        .x_desc("ns per operation, logarithmic")
        .x_label_formatter(&|value| tick(*value))
        .draw()
        .map_err(failed)?;
    draw_bars(root, &mut chart, result)
}

/// Draws the bars, with the structures' names to their left and the values to their right.
fn draw_bars(root: &Area<'_>, chart: &mut Chart<'_, '_>, result: &Replayed) -> Result<(), Error> {
    let low = chart.x_range().start;
    for (i, row) in result.rows.iter().enumerate() {
        let middle = (result.rows.len() - i) as f64 - 0.5;
        let end = row.ns_per_op.max(low);
        let bar = [(low, middle - 0.34), (end, middle + 0.34)];
        let bar = Rectangle::new(bar, color(&row.structure).filled());
        chart.draw_series([bar]).map_err(failed)?;
        let (x, y) = chart.backend_coord(&(low, middle));
        text(root, &row.structure, (x - 8, y), TEXT, HPos::Right)?;
        let (x, y) = chart.backend_coord(&(end, middle));
        text(root, &decimal(row.ns_per_op), (x + 6, y), TEXT, HPos::Left)?;
    }
    Ok(())
}

fn color(structure: &str) -> RGBColor {
    match structure.parse::<Choice>() {
        Ok(choice) if choice.kind() == Kind::List => BASELINE,
        Ok(choice) if choice.kind() == Kind::default() => DEFAULT,
        _ => PUBLISHED,
    }
}

/// The scale: from a power of ten below the shortest bar to past the end of the longest, where its
/// value is written.
fn cost_range(results: &[Replayed], panels: &[usize]) -> (f64, f64) {
    let costs = || {
        let rows = panels.iter().flat_map(|&i| &results[i].rows);
        rows.map(|row| row.ns_per_op).filter(|&cost| cost > 0.0)
    };
    let shortest = costs().reduce(f64::min).unwrap_or(1.0);
    let longest = costs().reduce(f64::max).unwrap_or(1.0);
    let low = 10_f64.powf((shortest / 1.5).log10().floor());
    let decades = (longest / low).log10().max(1.0);
    (low, low * 10_f64.powf(decades * 1.15))
}

/// A power of ten in readable form.
fn tick(value: f64) -> String {
    if value >= 1.0 {
        decimal(value.round())
            .trim_end_matches(".00")
            .trim_end_matches(".0")
            .into()
    } else {
        format!("{value}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::PANELS;
    use super::*;

    #[test]
    fn many_short_operations_take_longer_than_a_slow_one() {
        let result = |operations, list_ns_per_op| Replayed {
            trace: "t".into(),
            rows: Vec::new(),
            operations,
            communicators: 1,
            library: None,
            floor_ns_per_op: 0.0,
            list_ns_per_op,
        };
        let mut results = vec![result(1, 1000.0)];
        results.resize_with(PANELS + 1, || result(10_000, 5.0));
        let others: Vec<usize> = (1..=PANELS).collect();
        assert_eq!(panels_of(&results), others);
    }
}
