//! Tables of a printed document.

/// A table: the names of its columns, and its cells row by row.
pub(crate) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// The first table after the line that begins so.
    pub(crate) fn after(document: &str, beginning: &str) -> Result<Self, String> {
        let mut lines = document
            .lines()
            .skip_while(|line| !line.starts_with(beginning))
            .skip_while(|line| !line.starts_with('|'))
            .take_while(|line| line.starts_with('|'))
            .map(cells);
        let columns = lines
            .next()
            .ok_or_else(|| format!("no table after `{beginning}`"))?;
        // The line under the names.
        let rows: Vec<Vec<String>> = lines.skip(1).collect();
        match rows.iter().find(|row| row.len() != columns.len()) {
            Some(row) => Err(format!(
                "a row after `{beginning}` has other columns: {row:?}"
            )),
            None => Ok(Self { columns, rows }),
        }
    }

    /// The numbers of a column in the rows that have these cells, each given by its column's name.
    pub(crate) fn numbers(&self, column: &str, of: &[(&str, &str)]) -> Result<Vec<f64>, String> {
        let column = self.column(column)?;
        let wanted: Vec<(usize, &str)> = of
            .iter()
            .map(|&(name, cell)| Ok((self.column(name)?, cell)))
            .collect::<Result<_, String>>()?;
        let is_wanted = |row: &&Vec<String>| wanted.iter().all(|&(at, cell)| row[at] == cell);
        let numbers = self.rows.iter().filter(is_wanted).map(|row| {
            number(&row[column]).ok_or_else(|| format!("`{}` is not a number", row[column]))
        });
        let numbers: Vec<f64> = numbers.collect::<Result<_, String>>()?;
        match numbers.is_empty() {
            true => Err(format!("no row has {of:?}")),
            false => Ok(numbers),
        }
    }

    fn column(&self, name: &str) -> Result<usize, String> {
        let found = self.columns.iter().position(|column| column == name);
        found.ok_or_else(|| format!("no column `{name}` in {:?}", self.columns))
    }
}

/// The cells of a line.
fn cells(line: &str) -> Vec<String> {
    let inside = line.trim().trim_start_matches('|').trim_end_matches('|');
    inside.split('|').map(|cell| cell.trim().into()).collect()
}

/// The number that a cell begins with: `31 (30)`, `~121693` (measured over a part), `1,234 ±3%`.
fn number(cell: &str) -> Option<f64> {
    let first = cell.trim_start_matches('~').split_whitespace().next()?;
    first.replace(',', "").parse().ok()
}

/// What the document says of the processor, the commit and the date it was printed on.
pub(crate) fn origin(document: &str) -> Result<String, String> {
    let head = Table::after(document, "# ")?;
    let cell = |name: &str| {
        let value = head.rows.iter().find_map(|row| match &row[..] {
            [first, value] if first == name => Some(value.clone()),
            _ => None,
        });
        value.ok_or_else(|| format!("the document does not say of what {name} it is"))
    };
    let processor = cell("processor")?;
    let name = processor.split(',').next().unwrap_or_default();
    Ok(format!("{name}, {}, {}", cell("commit")?, cell("date")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "\
# Measured

| | |
| --- | --- |
| processor | Some CPU, family 1, 2 cores |
| commit | abc |
| date | 2026-01-02 |

## Rows

| stream | list | best |
| --- | ---: | --- |
| 4 posted | 31 (30) | x |
| 64 posted | ~1,234 ±3% | |
";

    #[test]
    fn numbers_are_found_by_the_names_of_rows_and_columns() {
        let table = Table::after(DOCUMENT, "## Rows").expect("it is there");
        let of = |stream| table.numbers("list", &[("stream", stream)]);
        assert_eq!(of("4 posted"), Ok(vec![31.0]));
        assert_eq!(of("64 posted"), Ok(vec![1234.0]));
        assert!(of("5 posted").is_err_and(|error| error.contains("5 posted")));
        assert!(table.numbers("best", &[]).is_err());
        assert!(table.numbers("array", &[]).is_err());
        assert!(Table::after(DOCUMENT, "## Keys").is_err());
        let short = DOCUMENT.replace("±3% | |", "±3% |");
        assert!(Table::after(&short, "## Rows").is_err());
    }

    #[test]
    fn a_plot_says_where_its_figures_are_from() {
        assert_eq!(origin(DOCUMENT), Ok("Some CPU, abc, 2026-01-02".into()));
    }
}
