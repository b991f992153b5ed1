//! Reports and Ingresses as people read them. Their texts are tenants': none of them reaches a terminal as it is.

use serde_json::Value;
use sluice_syntax::printable;

const HEAD: [&str; 7] = [
    "NAMESPACE",
    "INGRESS",
    "HOST+PATH",
    "TLS",
    "ACTION",
    "SERVICE",
    "ENDPOINTS",
];

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// A line for each path.
pub(super) fn ingresses(all: &[Value]) -> String {
    let rows = all.iter().map(|it| {
        let service = match (word(it, "service"), word(it, "port")) {
            ("", _) => "-".to_owned(),
            (service, "") => service.to_owned(),
            (service, port) => format!("{service}:{port}"),
        };
        [
            word(it, "namespace").to_owned(),
            word(it, "ingress").to_owned(),
            format!("{}{}", word(it, "host"), word(it, "path")),
            if it["tls"] == true { "yes" } else { "no" }.to_owned(),
            word(it, "action").to_owned(),
            service,
            it["endpoints"].to_string(),
        ]
    });
    let head = HEAD.map(str::to_owned);
    let rows: Vec<[String; 7]> = std::iter::once(head)
        .chain(rows)
        .map(|row| row.map(|text| printable(&text)))
        .collect();
    let widths = std::array::from_fn(|column| {
        let widths = rows
            .iter()
            .map(|row: &[String; 7]| row[column].chars().count());
        widths.max().unwrap_or_default()
    });
    let lines = rows.iter().map(|row| line(row, &widths));
    lines.collect::<Vec<_>>().join("\n")
}

fn line(row: &[String; 7], widths: &[usize; 7]) -> String {
    let cells = row.iter().zip(widths);
    let cells: Vec<String> = cells
        .map(|(text, width)| format!("{text:width$}"))
        .collect();
    cells.join("   ").trim_end().to_owned()
}

/// A line for each report, as in the log.
pub(super) fn reports(all: &[Value]) -> String {
    let lines = all.iter().map(|it| {
        let [severity, object, field, reason, consequence] =
            ["severity", "object", "field", "reason", "consequence"].map(|name| word(it, name));
        printable(&format!(
            "{severity:8} {object}: {field}: {reason}; {consequence}"
        ))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ingresses_are_a_table_without_control_characters() {
        let all = [
            json!({
                "namespace": "shop", "ingress": "web", "host": "a.example", "path": "/\u{1b}[2J", "tls": true,
                "action": "forward", "service": "web", "port": "80", "endpoints": 2,
            }),
            json!({
                "namespace": "shop", "ingress": "old", "host": "_", "path": "/", "tls": false, "action": "redirect",
                "endpoints": 0,
            }),
        ];
        let expected = "\
NAMESPACE   INGRESS   HOST+PATH             TLS   ACTION     SERVICE   ENDPOINTS
shop        web       a.example/\\u{1b}[2J   yes   forward    web:80    2
shop        old       _/                    no    redirect   -         0";
        assert_eq!(ingresses(&all), expected);
    }

    #[test]
    fn a_report_is_a_line_without_control_characters() {
        let report = json!({
            "severity": "error", "object": "Ingress shop/web", "field": "annotation x", "reason": "got \"\n\u{9b}\"",
            "consequence": "ignored",
        });
        assert_eq!(
            reports(&[report]),
            "error    Ingress shop/web: annotation x: got \"\\n\\u{9b}\"; ignored"
        );
    }
}
