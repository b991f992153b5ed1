//! The tables of the comparison in docs/benchmarks.md: a line for each proxy, a column for each measure.

use super::contender::Contender;
use super::{PREFIX, Protocol};
use crate::row::{Measured, number};

/// A column: its heading, and the measure in names of rows.
type Column = (&'static str, &'static str);

const OF_REQUESTS: [Column; 4] = [
    ("CPU per request, us", "cpu_us"),
    ("p50, ms", "p50_ms"),
    ("p99, ms", "p99_ms"),
    ("p99.9, ms", "p999_ms"),
];

const OF_MEMORY: [Column; 2] = [
    ("memory, MB", "memory_mb"),
    ("idle connection, KB", "idle_connection_kb"),
];

/// All tables, of these rows.
pub(crate) fn tables(rows: &[Measured]) -> String {
    let mut page = String::new();
    for protocol in Protocol::ALL {
        let of = format!("/{}", protocol.name());
        page += &table(protocol.title(), &OF_REQUESTS, &of, rows);
    }
    for (title, protocol) in [
        ("Memory", Protocol::Http1),
        ("Memory with TLS", Protocol::Https),
    ] {
        page += &table(title, &OF_MEMORY, &format!("/{}", protocol.name()), rows);
    }
    page + &table(
        "New pods",
        &[("until they serve, ms", "change_ms")],
        "",
        rows,
    )
}

fn table(title: &str, columns: &[Column], of: &str, rows: &[Measured]) -> String {
    let heads: String = columns
        .iter()
        .map(|(head, _)| format!(" {head} |"))
        .collect();
    let mut table = format!(
        "\n| {title} |{heads}\n|---|{}\n",
        "---:|".repeat(columns.len())
    );
    for contender in Contender::ALL {
        let cell = |(_, measure): &Column| {
            let name = format!("{PREFIX}{measure}{of}/{}", contender.name());
            let row = rows.iter().find(|row| row.name == name)?;
            Some(format!(" {} |", number(row.value)))
        };
        let cells: Option<String> = columns.iter().map(cell).collect();
        let cells =
            cells.unwrap_or_else(|| " not measured |".to_owned() + &" |".repeat(columns.len() - 1));
        table += &format!("| {} |{cells}\n", contender.title());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    #[test]
    fn a_proxy_that_was_not_measured_is_said_to_be_so() {
        let row = |measure: &str, value| {
            Row::new(format!("{PREFIX}{measure}/https/nginx"), "").measured(value, 1)
        };
        let rows = [row("memory_mb", 8.0), row("idle_connection_kb", 0.5)];
        let page = tables(&rows);
        assert!(
            page.contains("| nginx, minimal | 8.00 | 0.50 |\n"),
            "{page}"
        );
        assert!(
            page.contains("| Caddy, minimal | not measured | |\n"),
            "{page}"
        );
        // Half of a line is none.
        assert!(!tables(&rows[..1]).contains("8.00"));
    }

    #[test]
    fn every_row_is_in_a_table() {
        let rows: Vec<Measured> = crate::registry::names()
            .into_iter()
            .filter(|name| name.starts_with(PREFIX))
            .map(|name| Row::new(name, "").measured(1.0, 1))
            .collect();
        let page = tables(&rows);
        assert_eq!(page.matches("1.00").count(), rows.len(), "{page}");
        assert!(!page.contains("not measured"), "{page}");
    }
}
