//! Rows as a table: for a terminal and for Markdown.

use crate::row::{Measured, number};

const HEAD: [&str; 6] = ["name", "value", "unit", "samples", "target", "met"];

/// Aligned columns, a header first.
pub(crate) fn text(rows: &[Measured]) -> String {
    let lines: Vec<[String; 6]> = std::iter::once(HEAD.map(str::to_owned))
        .chain(rows.iter().map(cells))
        .collect();
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].len())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let line = |cells: &[String; 6]| {
        let [name, value, unit, samples, target, met] = cells;
        let [a, b, c, d, e, _] = widths;
        format!("{name:<a$}  {value:>b$}  {unit:<c$}  {samples:>d$}  {target:>e$}  {met}")
            .trim_end()
            .to_owned()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Head of the same in Markdown.
pub(crate) fn head() -> String {
    joined(&HEAD.map(str::to_owned)) + "|---|---:|---|---:|---:|---|\n"
}

/// A row in Markdown.
pub(crate) fn line(row: &Measured) -> String {
    let mut cells = cells(row);
    cells[0] = format!("`{}`", cells[0]);
    joined(&cells)
}

fn joined(cells: &[String; 6]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn cells(row: &Measured) -> [String; 6] {
    let met = match row.is_met() {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    };
    [
        row.name.clone(),
        number(row.value),
        row.unit.clone(),
        row.samples.to_string(),
        row.target.map(number).unwrap_or_default(),
        met.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    #[test]
    fn columns_are_aligned_and_a_missed_target_is_said() {
        let rows = [Row::new("long_name/x", "ns").measured(1234.0, 9), {
            Row::new("a", "ratio").target(1.2).measured(1.254, 11)
        }];
        let expected = "\
name         value  unit   samples  target  met
long_name/x   1234  ns           9
a             1.25  ratio       11    1.20  no";
        assert_eq!(text(&rows), expected);
        assert_eq!(line(&rows[1]), "| `a` | 1.25 | ratio | 11 | 1.20 | no |\n");
    }
}
