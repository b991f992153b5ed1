//! YAML, and JSON as a part of it, to a value: how much a document may have in it, and what is said of one that cannot be read.

use serde_json::Value;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Error, budget, options};

/// Keys, values, lists and mappings of any document, however short it is.
const VALUES: usize = 250_000;
/// A longer one has one for so many bytes. Manifests have 7 bytes for each as compact JSON, and 20 as kubectl writes them; what
/// has less is built to fill memory.
const BYTES_OF_A_VALUE: usize = 4;
/// Of a document, as serde-saphyr has it.
const DEPTH: usize = 64;

/// A mistake in a document.
pub(crate) struct Mistake {
    /// From 1.
    pub(crate) line: usize,
    pub(crate) reason: String,
}

/// Reads one document. What an alias stands for counts each time, and the library has limits of its own for aliases.
pub(crate) fn parse(document: &str) -> Result<Value, Mistake> {
    parse_within(document, most_values(document))
}

fn parse_within(document: &str, values: usize) -> Result<Value, Mistake> {
    let options = options! {
        budget: budget! {
            max_nodes: values,
            // Each list and mapping has an end.
            max_events: values.saturating_mul(2),
            max_depth: DEPTH,
        },
    };
    serde_saphyr::from_str_with_options(document, options).map_err(|error| {
        let at = error.location().map(|at| at.line());
        let line = at.and_then(|line| usize::try_from(line).ok());
        Mistake {
            line: line.unwrap_or(1).max(1),
            reason: reason(&error, values),
        }
    })
}

fn most_values(document: &str) -> usize {
    VALUES + document.len() / BYTES_OF_A_VALUE
}

fn reason(error: &Error, values: usize) -> String {
    const ALIASES: &str = "fewer anchors and aliases";
    let limit = match error.without_snippet() {
        Error::Budget { breach, .. } => match breach {
            BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. } => {
                format!("at most {values} values in a document of its size; split it with ---")
            }
            BudgetBreach::Depth { .. } => format!("at most {DEPTH} levels of lists and mappings"),
            _ => ALIASES.to_owned(),
        },
        Error::AliasReplayLimitExceeded { .. } | Error::AliasReplayStackDepthExceeded { .. } => {
            ALIASES.to_owned()
        }
        Error::AliasError { error, .. } if is_limit(error) => ALIASES.to_owned(),
        // No character of YAML: its name says less than where it comes from.
        other if other.to_string().contains("`\\u{0}'") => {
            return "expected YAML, got no text file; not read".to_owned();
        }
        _ => return not_yaml(&error.to_string()),
    };
    format!("expected {limit}; document not served")
}

fn is_limit(error: &Error) -> bool {
    matches!(
        error.without_snippet(),
        Error::Budget { .. }
            | Error::AliasReplayLimitExceeded { .. }
            | Error::AliasReplayStackDepthExceeded { .. }
    )
}

/// The parser draws a picture of the place under its message; a log line has room for the message.
fn not_yaml(error: &str) -> String {
    // The rest is for who calls the library.
    let (error, _) = error
        .split_once(", set DuplicateKeyPolicy")
        .unwrap_or((error, ""));
    let message = error.lines().next().unwrap_or_default().trim();
    // The line is that of the document; the place has that of the file.
    let message = message
        .strip_prefix("error: line ")
        .and_then(|rest| rest.split_once(": "))
        .map_or(message, |(_, message)| message);
    format!("expected YAML: {message}; document not served")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    /// As `kubectl get ingress -A -o json | jq -c` writes it.
    fn list(count: usize) -> String {
        let mut text = String::from("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[");
        for number in 0..count {
            let separator = if number == 0 { "" } else { "," };
            write!(
                text,
                "{separator}{{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"Ingress\",\"metadata\":{{\"name\":\"a{number}\",\
                 \"namespace\":\"n\",\"annotations\":{{\"a\":\"b\",\"c\":\"d\"}}}},\"spec\":{{\"ingressClassName\":\"nginx\",\
                 \"tls\":[{{\"hosts\":[\"a\"],\"secretName\":\"s\"}}],\"rules\":[{{\"host\":\"a\",\"http\":{{\"paths\":[\
                 {{\"path\":\"/\",\"pathType\":\"Prefix\",\"backend\":{{\"service\":{{\"name\":\"a\",\"port\":{{\"number\":80}}}}}}}}\
                 ]}}}}]}},\"status\":{{\"loadBalancer\":{{\"ingress\":[{{\"ip\":\"10.0.0.1\"}}]}}}}}}"
            )
            .unwrap();
        }
        text + "]}"
    }

    fn count(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
            Value::Object(entries) => {
                1 + entries
                    .values()
                    .map(|value| 1 + count(value))
                    .sum::<usize>()
            }
            _ => 1,
        }
    }

    /// However long it is: its values are fewer than its bytes allow.
    #[test]
    fn a_list_has_room_for_as_many_objects_as_fit_into_its_file() {
        let text = list(100);
        let values = parse(&text).map_err(|mistake| mistake.reason).unwrap();
        let values = count(&values);
        assert!(
            values <= most_values(&text) - VALUES,
            "{values} in {}",
            text.len()
        );
        assert!(parse_within(&text, values).is_ok());
        assert!(parse_within(&text, values - 1).is_err());
    }

    #[test]
    fn a_file_that_is_no_text_is_called_so() {
        for document in ["\0\u{1}", "a: \0", "a: b\n\0\0\n"] {
            let mistake = parse(document).err().map(|mistake| mistake.reason);
            let expected = "expected YAML, got no text file; not read";
            assert_eq!(mistake.as_deref(), Some(expected), "{document:?}");
        }
    }

    #[test]
    fn limits_are_said_in_words() {
        for (document, expected) in [
            (
                format!("[{}]", "1,".repeat(2_000)),
                "expected at most 1000 values",
            ),
            (
                format!("{}1{}", "[".repeat(65), "]".repeat(65)),
                "expected at most 64 levels",
            ),
            (
                format!("a: &a [{}]\nb: [{}]", "1,".repeat(50), "*a,".repeat(50)),
                "expected fewer anchors",
            ),
        ] {
            let mistake = parse_within(&document, 1_000).err();
            let reason = mistake.map(|mistake| mistake.reason).unwrap_or_default();
            assert!(reason.starts_with(expected), "{reason}");
            assert!(!reason.contains(['{', '}']), "{reason}");
        }
    }
}
