//! Queue lengths over time: a panel for each trace.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::{
    Area, GRID, HEAD, INK, MARGIN, NOTE, PANEL_TITLE, TEXT, cut, failed, image, note, shown, text,
};
use crate::error::Error;
use crate::report::count;
use crate::stats::Lengths;
use crate::trace_names;

const POSTED: RGBColor = RGBColor(0x1f, 0x6f, 0xb4);
const UNEXPECTED: RGBColor = RGBColor(0xd5, 0x5e, 0x00);

/// Pixels of a panel.
const WIDTH: u32 = 1000;
const HEIGHT: u32 = 300;

/// Draws the queue lengths by operation number; of many traces, those with the longest queues.
pub(crate) fn draw(traces: &[Lengths]) -> Result<String, Error> {
    let names: Vec<&str> = traces.iter().map(|trace| &*trace.trace).collect();
    let labels = trace_names::labels(&names);
    let shown = shown(traces.len(), |i| longest(&traces[i]) as f64);
    let (head, left_out) = match shown.len() {
        all if all == traces.len() => (HEAD, None),
        some => (HEAD + NOTE, Some((some, traces.len()))),
    };
    let size = (WIDTH, head + HEIGHT * shown.len() as u32);
    let legend = [
        ("posted receives", POSTED),
        ("unexpected messages", UNEXPECTED),
    ];
    image(
        size,
        "Queue lengths over time (entries, all communicators)",
        &legend,
        |root| {
            if let Some((some, all)) = left_out {
                let text = format!(
                    "The {some} of {} traces with the longest queues; the others are not shown.",
                    count(all)
                );
                note(root, 0, &text)?;
            }
            for (at, &i) in shown.iter().enumerate() {
                let y = head as i32 + HEIGHT as i32 * at as i32;
                let panel = root.clone().shrink((0, y), (WIDTH, HEIGHT));
                draw_panel(&panel, &traces[i], &labels[i])?;
            }
            Ok(())
        },
    )
}

/// The length of the longest queue.
fn longest(trace: &Lengths) -> usize {
    let lengths = trace.posted.iter().chain(&trace.unexpected);
    lengths.copied().max().unwrap_or(0)
}

fn draw_panel(panel: &Area<'_>, trace: &Lengths, label: &str) -> Result<(), Error> {
    let top = match longest(trace) {
        0 => 1,
        longest => longest + longest.div_ceil(20),
    };
    let label = cut(label, 70);
    let title = match trace.stretch {
        1 => label,
        stretch => format!(
            "{label} (each point: the longest of {} operations)",
            count(stretch)
        ),
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
        // To the end of the last stretch: a line of one point would not be seen.
        let end = lengths.last().map(|&length| (trace.operations, length));
        let points = points.chain(end);
        let line = LineSeries::new(points, color.stroke_width(1));
        chart.draw_series(line).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_traces_those_with_the_longest_queues_are_shown() {
        let traces = |count: usize| -> Vec<Lengths> {
            let trace = |i: usize| Lengths {
                trace: format!("r{i}.mqt"),
                operations: 1,
                stretch: 1,
                posted: vec![i % 100],
                unexpected: vec![0],
            };
            (0..count).map(trace).collect()
        };
        let svg = draw(&traces(110)).expect("drawn");
        let note = "The 24 of 110 traces with the longest queues; the others are not shown.";
        assert!(svg.contains(note));
        assert!(svg.contains("\nr99\n") && !svg.contains("\nr75\n"));
        assert!(!draw(&traces(24)).expect("drawn").contains("not shown"));
    }

    #[test]
    fn long_stretches_are_written_as_other_counts() {
        let trace = Lengths {
            trace: "t.mqt".into(),
            operations: 1_000_000,
            stretch: 1250,
            posted: vec![1; 800],
            unexpected: vec![0; 800],
        };
        let title = "\nt (each point: the longest of 1,250 operations)\n";
        assert!(draw(&[trace]).expect("drawn").contains(title));
    }
}
