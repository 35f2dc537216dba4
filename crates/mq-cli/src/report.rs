//! Output: tables, JSON and readable numbers.

use std::collections::BTreeMap;
use std::io::Write;

use mq_trace::Header;
use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::formatting::AlignmentStrategy;
use tabled::settings::object::{Columns, Rows};
use tabled::settings::{Alignment, Style};

use crate::error::Error;

/// Writes text to standard output and flushes it.
///
/// # Errors
/// [`Error::ClosedPipe`] if nobody reads it any more.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes());
    written.and_then(|()| stdout.flush()).map_err(Error::stdout)
}

/// Writes a value to standard output as indented JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|error| Error::stdout(error.into()))?;
    print(&format!("{text}\n"))
}

/// The fields of a trace's header, by name; in JSON an object.
#[derive(Serialize, Clone, Debug)]
#[serde(transparent)]
pub(crate) struct Fields(BTreeMap<String, String>);

impl Fields {
    /// The fields of this header.
    pub(crate) fn of(header: &Header) -> Self {
        Self(header.fields().iter().cloned().collect())
    }

    /// The value of a field, if the header has it.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Every field as (key, value).
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }
}

/// A list of JSON objects that is written as they become known. The result is what
/// [`print_json`] writes for all of them.
#[derive(Default)]
pub(crate) struct JsonList {
    begun: bool,
}

impl JsonList {
    /// Writes the next objects.
    pub(crate) fn add<T: Serialize>(&mut self, values: &[T]) -> Result<(), Error> {
        let text = self.text(values);
        print(&text.map_err(|error| Error::stdout(error.into()))?)
    }

    /// Writes the end; no object follows.
    pub(crate) fn end(self) -> Result<(), Error> {
        print(if self.begun { "\n]\n" } else { "[]\n" })
    }

    fn text<T: Serialize>(&mut self, values: &[T]) -> serde_json::Result<String> {
        let mut text = String::new();
        for value in values {
            text += if self.begun { ",\n  " } else { "[\n  " };
            text += &serde_json::to_string_pretty(value)?.replace('\n', "\n  ");
            self.begun = true;
        }
        Ok(text)
    }
}

/// The content of the columns after the first, which holds names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cells {
    /// Numbers, right-aligned.
    Numbers,
    /// Text, left-aligned.
    Text,
}

/// A table, ending in a line feed.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>], cells: Cells) -> String {
    let mut builder = Builder::with_capacity(rows.len() + 1, header.len());
    builder.push_record(header.iter().copied());
    for row in rows {
        builder.push_record(row);
    }
    let mut table = builder.build();
    table.with(Style::psql());
    table.modify(Rows::first(), Alignment::left());
    if cells == Cells::Numbers {
        table.modify(Columns::new(1..), Alignment::right());
        table.modify(Columns::new(1..), AlignmentStrategy::PerLine);
    }
    // Trailing spaces would only disturb diffs.
    let text = table.to_string();
    text.lines()
        .fold(String::new(), |lines, line| lines + line.trim_end() + "\n")
}

/// The heading of a table whose rows are printed one by one as they become known, with the width of
/// each column's cells. It looks like [`table`]'s.
pub(crate) fn head(columns: &[(&str, usize)]) -> String {
    let names: Vec<String> = columns
        .iter()
        .map(|(name, width)| format!(" {name:<width$} "))
        .collect();
    let rules = columns
        .iter()
        .map(|(name, width)| "-".repeat(2 + width.max(&name.len())));
    let rule = rules.collect::<Vec<_>>().join("+");
    format!("{}\n{rule}\n", names.join("|").trim_end())
}

/// A row of such a table; a cell that is wider than its column pushes the rest to the right.
pub(crate) fn row(columns: &[(&str, usize)], cells: &[String]) -> String {
    let aligned = columns
        .iter()
        .zip(cells)
        .enumerate()
        .map(|(i, ((name, width), cell))| {
            let width = *width.max(&name.len());
            match i {
                0 => format!(" {cell:<width$} "),
                _ => format!(" {cell:>width$} "),
            }
        });
    let aligned: Vec<String> = aligned.collect();
    format!("{}\n", aligned.join("|").trim_end())
}

/// Text in lines of at most `width` characters, broken at spaces; a longer word gets its own line.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut lines = String::with_capacity(text.len());
    let mut column = 0;
    for word in text.split(' ') {
        let letters = word.chars().count();
        if column > 0 {
            let fits = column + 1 + letters <= width;
            lines.push(if fits { ' ' } else { '\n' });
            column = if fits { column + 1 } else { 0 };
        }
        lines += word;
        column += letters;
    }
    lines
}

/// A count with commas between the thousands.
pub(crate) fn count(number: impl TryInto<u64>) -> String {
    let digits = number.try_into().unwrap_or(u64::MAX).to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count and its noun, `1 trace` or `2 traces`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}

/// The most names in a list of [`first_names`].
const MOST_NAMES: usize = 3;

/// Names separated by commas, and how many more there are than fit into a sentence.
pub(crate) fn first_names(names: &[String]) -> String {
    let first = &names[..names.len().min(MOST_NAMES)];
    let mut text = first.join(", ");
    if names.len() > MOST_NAMES {
        text += &format!(" and {} more", count(names.len() - MOST_NAMES));
    }
    text
}

/// Text with control characters escaped as in Rust, so that a terminal does not act on them; and two others that are no
/// characters, and may not be in XML.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') {
            escaped.extend(letter.escape_default());
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// A memory size in the largest fitting unit.
pub(crate) fn bytes(bytes: usize) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // From 1023.95 on, one decimal would show 1024.0.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A time given in nanoseconds, in the largest fitting unit.
pub(crate) fn time(nanoseconds: f64) -> String {
    const UNITS: [&str; 4] = ["ns", "µs", "ms", "s"];
    let mut value = nanoseconds;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{} {}", decimal(value), UNITS[unit])
}

/// A share in percent; `-` if the whole is 0.
pub(crate) fn percent(part: impl TryInto<u64>, whole: impl TryInto<u64>) -> String {
    match (part.try_into(), whole.try_into()) {
        (Ok(part), Ok(whole)) if whole > 0 => {
            format!("{:.1}%", part as f64 * 100.0 / whole as f64)
        }
        _ => "-".into(),
    }
}

/// A share in percent for a sentence, with a decimal if it is small.
pub(crate) fn share(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 1.0 {
        format!("{percent:.1}%")
    } else {
        format!("{percent:.0}%")
    }
}

/// Nanoseconds, entries or rates with three significant digits or more, and with two below a tenth.
pub(crate) fn decimal(value: f64) -> String {
    if value >= 999.5 {
        return count(value.round() as u64);
    }
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        0.1.. => 2,
        // Not rounded to nothing: a bandwidth of a few bytes at a time.
        0.0001.. => (1.0 - value.log10().floor()) as usize,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_in_parts_is_the_list_at_once() {
        let objects = [[("a", "1\n2")], [("b", "")], [("c", "[")]].map(BTreeMap::from);
        let mut list = JsonList::default();
        let mut parts = list.text(&objects[..1]).expect("JSON");
        parts += &list.text(&objects[..0]).expect("JSON");
        parts += &list.text(&objects[1..]).expect("JSON");
        parts += "\n]";
        let at_once = serde_json::to_string_pretty(&objects).expect("JSON");
        assert_eq!(parts, at_once);
    }

    #[test]
    fn what_is_no_text_is_escaped() {
        assert_eq!(escaped("r\u{ffff}\n\u{fffe}ä"), "r\\u{ffff}\\n\\u{fffe}ä");
    }

    #[test]
    fn thousands_are_separated() {
        let texts: Vec<String> = [0_u64, 999, 1000, 53_321, 1_234_567]
            .into_iter()
            .map(count)
            .collect();
        assert_eq!(texts, ["0", "999", "1,000", "53,321", "1,234,567"]);
        assert_eq!(counted(1, "trace"), "1 trace");
        assert_eq!(counted(0, "trace"), "0 traces");
    }

    #[test]
    fn text_is_broken_at_spaces() {
        assert_eq!(wrapped("a few hundred ranks", 9), "a few\nhundred\nranks");
        assert_eq!(wrapped("a few hundred ranks", 13), "a few hundred\nranks");
        assert_eq!(wrapped("incommensurable it", 5), "incommensurable\nit");
        assert_eq!(wrapped("", 5), "");
    }

    #[test]
    fn many_names_are_not_all_given() {
        let names = |count: usize| -> Vec<String> { (0..count).map(|i| format!("r{i}")).collect() };
        assert_eq!(first_names(&names(1)), "r0");
        assert_eq!(first_names(&names(3)), "r0, r1, r2");
        assert_eq!(first_names(&names(5)), "r0, r1, r2 and 2 more");
    }

    #[test]
    fn control_characters_are_not_passed_on() {
        assert_eq!(escaped("Größe 2"), "Größe 2");
        assert_eq!(escaped("\x1b[2J\u{9b}1m"), "\\u{1b}[2J\\u{9b}1m");
    }

    #[test]
    fn bytes_have_the_largest_fitting_unit() {
        let texts: Vec<String> = [0, 1023, 1024, 1536, 1_048_575, 1 << 20, 5 << 30]
            .into_iter()
            .map(bytes)
            .collect();
        let expected = [
            "0 B", "1023 B", "1.0 KiB", "1.5 KiB", "1.0 MiB", "1.0 MiB", "5.0 GiB",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn times_have_the_largest_fitting_unit() {
        let texts: Vec<String> = [0.0, 12.34, 999.6, 2.5e5, 7.2e6, 3.6e12]
            .into_iter()
            .map(time)
            .collect();
        let expected = [
            "0.00 ns", "12.3 ns", "1.00 µs", "250 µs", "7.20 ms", "3,600 s",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_share_of_nothing_is_a_dash() {
        assert_eq!(percent(1_u64, 3_u64), "33.3%");
        assert_eq!(percent(0_u64, 0_u64), "-");
        assert_eq!([0.004, 0.05, 9.4].map(share), ["0.4%", "5%", "940%"]);
    }

    #[test]
    fn decimals_fade_as_numbers_grow() {
        let numbers = [0.0, 0.000_123, 0.0456, 0.456, 1.234, 12.34, 123.4, 12_345.6];
        let texts = numbers.map(decimal);
        let expected = [
            "0.00", "0.00012", "0.046", "0.46", "1.23", "12.3", "123", "12,346",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn numbers_are_aligned_to_the_right() {
        let rows = [vec!["a".into(), "1".into()], vec!["b".into(), "22".into()]];
        let text = table(&["x", "long"], &rows, Cells::Numbers);
        let expected = " x | long\n---+------\n a |    1\n b |   22\n";
        assert_eq!(text, expected);
        let columns = [("x", 1), ("long", 2)];
        let one_by_one = head(&columns) + &row(&columns, &rows[0]) + &row(&columns, &rows[1]);
        assert_eq!(one_by_one, expected);
        let wide = row(&columns, &["ab".into(), "12345".into()]);
        assert_eq!(wide, " ab | 12345\n");
    }
}
