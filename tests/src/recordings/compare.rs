//! Differences between a recorded answer and an observed one.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

/// One field of an answer that is not as recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The field: `status`, `header location`, `pod header x-real-ip`, `auth uri` ...
    pub field: String,
    /// The recorded value; empty if there is none.
    pub expected: String,
    /// The observed value; empty if there is none.
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference {
            field,
            expected,
            got,
        } = self;
        write!(f, "{field}: expected {expected:?}, got {got:?}")
    }
}

/// The fields that differ. Of a repeated request, statuses and pods are counted; of Services only the names are compared, not
/// how often each answered.
pub fn differences(expected: &Map<String, Value>, got: &Map<String, Value>) -> Vec<Difference> {
    let mut found = Vec::new();
    for field in ["error", "status", "body", "cert", "status_counts", "pods"] {
        differ(field, expected.get(field), got.get(field), &mut found);
    }
    let services = |answer: &Map<String, Value>| {
        let by_name = answer.get("services").and_then(Value::as_object);
        by_name.map(|by_name| by_name.keys().cloned().collect::<Vec<_>>().into())
    };
    differ(
        "services",
        services(expected).as_ref(),
        services(got).as_ref(),
        &mut found,
    );
    by_name(
        "header",
        expected.get("headers"),
        got.get("headers"),
        &mut found,
    );
    match (expected.get("echo"), got.get("echo")) {
        (Some(expected), Some(got)) => request("pod", expected, got, &mut found),
        (expected, got) => {
            let service = |echo: Option<&Value>| echo.map(|echo| echo["service"].clone());
            differ(
                "answered by",
                service(expected).as_ref(),
                service(got).as_ref(),
                &mut found,
            );
        }
    }
    others(expected, got, &mut found);
    found
}

/// Requests to services beside the one that answered, in the order of each service.
fn others(expected: &Map<String, Value>, got: &Map<String, Value>, found: &mut Vec<Difference>) {
    let list = |answer: &Map<String, Value>| {
        let list = answer.get("also_asked").and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let (expected, got) = (list(expected), list(got));
    let names = expected
        .iter()
        .chain(&got)
        .filter_map(|one| one["service"].as_str());
    for name in names.collect::<BTreeSet<&str>>() {
        let of = |list: &[Value]| -> Vec<Value> {
            list.iter()
                .filter(|one| one["service"] == *name)
                .cloned()
                .collect()
        };
        let (expected, got) = (of(&expected), of(&got));
        if expected.len() != got.len() {
            found.push(Difference {
                field: format!("{name} requests"),
                expected: expected.len().to_string(),
                got: got.len().to_string(),
            });
        }
        for (expected, got) in expected.iter().zip(&got) {
            request(name, expected, got, found);
        }
    }
}

/// A request that a service received; which of its pods is a matter of chance.
fn request(who: &str, expected: &Value, got: &Value, found: &mut Vec<Difference>) {
    for field in ["service", "method", "uri", "version", "body", "tls"] {
        differ(
            &format!("{who} {field}"),
            expected.get(field),
            got.get(field),
            found,
        );
    }
    let field = format!("{who} header");
    by_name(&field, expected.get("headers"), got.get("headers"), found);
}

fn by_name(
    field: &str,
    expected: Option<&Value>,
    got: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    let fields = |value: Option<&Value>| {
        value
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    };
    let (expected, got) = (fields(expected), fields(got));
    for name in expected.keys().chain(got.keys()).collect::<BTreeSet<_>>() {
        differ(
            &format!("{field} {name}"),
            expected.get(name),
            got.get(name),
            found,
        );
    }
}

fn differ(field: &str, expected: Option<&Value>, got: Option<&Value>, found: &mut Vec<Difference>) {
    let text = |value: Option<&Value>| match value {
        None => String::new(),
        Some(Value::String(text)) if text.starts_with("-----BEGIN") => "<pem>".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let (expected, got) = (text(expected), text(got));
    if expected != got {
        found.push(Difference {
            field: field.to_owned(),
            expected,
            got,
        });
    }
}
