//! The controller's metrics, in Prometheus' text form.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::super::then::Then;
use super::super::world::World;
use crate::cases::ingress::check::texts;
use crate::cases::ingress::expect;
use crate::http;

impl World {
    /// Reads a metric.
    pub async fn metric(&self, name: &str, then: &Then) -> Result<Vec<String>, String> {
        let addr = self.sluice.health();
        let page = async {
            let page = http::get(addr, "localhost", "/metrics").await?;
            ensure!(page.status == 200, "/metrics: status {}", page.status);
            Ok(page.text())
        };
        match page.await {
            Ok(page) => against(&series(&page, name), then),
            Err(error) => Ok(vec![format!("metric {name}: {error:#}")]),
        }
    }
}

/// One line of a metric.
#[derive(Debug)]
struct Series {
    labels: Vec<(String, String)>,
    value: f64,
}

/// The series of a metric; those of a histogram have its name with an end of their own.
fn series(page: &str, name: &str) -> Vec<Series> {
    let parse = |line: &str| {
        let rest = line.strip_prefix(name)?;
        let rest = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| rest.strip_prefix(end))
            .unwrap_or(rest);
        let (labels, value) = match rest.strip_prefix('{') {
            Some(rest) => rest.rsplit_once('}')?,
            None => ("", rest.strip_prefix(' ')?),
        };
        let value = value.split_whitespace().next()?.parse().ok()?;
        Some(Series {
            labels: pairs(labels),
            value,
        })
    };
    page.lines().filter_map(parse).collect()
}

/// `a="1",b="2"`; a value may hold commas, and quotes behind a backslash.
fn pairs(labels: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = labels;
    while let Some((name, behind)) = rest.split_once("=\"") {
        let mut value = String::new();
        let mut characters = behind.char_indices();
        rest = "";
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
                '"' => {
                    rest = &behind[at + 1..];
                    break;
                }
                other => value.push(other),
            }
        }
        pairs.push((name.trim_start_matches(',').trim().to_owned(), value));
    }
    pairs
}

fn against(series: &[Series], then: &Then) -> Result<Vec<String>, String> {
    let mut reasons = Vec::new();
    if let Some(absent) = then.absent
        && absent != series.is_empty()
    {
        reasons.push(format!(
            "absent: expected {absent}, there are {} series",
            series.len()
        ));
    }
    if let Some(expected) = &then.label_host {
        let label = |series: &Series| {
            series
                .labels
                .iter()
                .find(|(name, _)| name == "host")
                .map(|(_, v)| v.clone())
        };
        let hosts: BTreeSet<String> = series.iter().filter_map(label).collect();
        let expected: BTreeSet<String> = expected.iter().flat_map(texts).collect();
        if hosts != expected || (series.is_empty() && !expected.is_empty()) {
            reasons.push(format!("label_host: expected {expected:?}, got {hosts:?}"));
        }
    }
    let expected = then
        .equals
        .as_ref()
        .map(|value| value.clone().unwrap_or(Value::Null));
    for expected in expected.iter().chain(&then.total) {
        let sum: f64 = series.iter().map(|series| series.value).sum();
        if !expect::number(expected, sum, sum)? {
            reasons.push(format!("value: expected {expected}, got {sum}"));
        }
    }
    Ok(reasons)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PAGE: &str = "# HELP requests of all\nrequests{host=\"a\",path=\"/x,\\\"y\"} 3\nrequests{host=\"b\"} 4\n\
        requests_created 9\nsize_bucket{le=\"1\",host=\"a\"} 1\nplain 5\n";

    fn wrong(name: &str, then: Value) -> usize {
        against(&series(PAGE, name), &serde_json::from_value(then).unwrap())
            .unwrap()
            .len()
    }

    #[test]
    fn series_are_found_by_name_and_label() {
        for right in [
            json!({ "label_host": ["a", "b"] }),
            json!({ "absent": false }),
            json!({ "equals": 7 }),
        ] {
            assert_eq!(wrong("requests", right.clone()), 0, "{right}");
        }
        for wrong_one in [
            json!({ "label_host": "a" }),
            json!({ "absent": true }),
            json!({ "equals": 8 }),
        ] {
            assert_eq!(wrong("requests", wrong_one.clone()), 1, "{wrong_one}");
        }
        assert_eq!(
            wrong("size", json!({ "label_host": "a", "absent": false })),
            0
        );
        assert_eq!(
            wrong("nothing", json!({ "absent": true, "label_host": null })),
            0
        );
        assert_eq!(wrong("plain", json!({ "equals": 5 })), 0);
        assert_eq!(
            series(PAGE, "requests")[0].labels[1],
            ("path".to_owned(), "/x,\"y".to_owned())
        );
    }
}
