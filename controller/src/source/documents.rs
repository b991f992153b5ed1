//! The documents of one manifest: text to objects, each on its own.
//!
//! Documents are split before they are parsed, so that one that cannot be read costs only itself.

use sluice_translate::{InvalidObject, Object};

use super::Problem;

/// A manifest larger than this is not read. The API server stores objects of up to 1.5 MB.
pub(super) const LARGEST: u64 = 64 << 20;

/// Reads every document of a manifest.
pub(super) fn parse(place: &str, text: &str) -> (Vec<Object>, Vec<Problem>) {
    let (mut objects, mut problems) = (Vec::new(), Vec::new());
    let documents: Vec<&str> = split(text).filter(|document| !is_blank(document)).collect();
    for (position, document) in documents.iter().enumerate() {
        let place = match documents.len() {
            1 => place.to_owned(),
            _ => format!("{place} (document {})", position + 1),
        };
        match read(document) {
            Ok(found) => objects.extend(found),
            Err((reason, harmless)) => problems.push(Problem { place, reason, harmless }),
        }
    }
    (objects, problems)
}

/// `---` at the start of a line ends a document, whatever it stands in.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let is_marker = |line: &str| {
        line.strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
    };
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if is_marker(line) {
                rest = Some(&text[at + 3..]);
                return Some(&text[..at]);
            }
            at += line.len();
        }
        rest = None;
        Some(text)
    })
}

fn is_blank(document: &str) -> bool {
    document.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#') || line == "...")
}

type Failure = (String, bool);

fn read(document: &str) -> Result<Vec<Object>, Failure> {
    let value: serde_json::Value = serde_saphyr::from_str(document).map_err(|error| {
        (format!("expected YAML: {}; document not served", one_line(&error.to_string())), false)
    })?;
    let items = match value.get("kind").and_then(serde_json::Value::as_str) {
        Some("List") => value.get("items").and_then(serde_json::Value::as_array).cloned().unwrap_or_default(),
        _ => vec![value],
    };
    let object = |value| {
        Object::from_value(value)
            .map_err(|error| (error.to_string(), matches!(error, InvalidObject::UnknownKind { .. })))
    };
    items.into_iter().map(object).collect()
}

/// The parser draws a picture of the place under its message; a log line has room for the message.
fn one_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n";

    #[test]
    fn a_bad_document_costs_only_itself() {
        let text = format!("{SERVICE}---\nkind: [\n--- # next\n{}", SERVICE.replace("name: a", "name: b"));
        let (objects, problems) = parse("x.yaml", &text);
        assert_eq!(objects.len(), 2);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].to_string().starts_with("x.yaml (document 2): expected YAML"), "{}", problems[0]);
    }

    #[test]
    fn dashes_inside_a_line_end_nothing() {
        let text = format!("# ---\n{SERVICE}  # a --- b\n----\n");
        assert_eq!(split(&text).count(), 1);
    }

    #[test]
    fn a_list_is_its_items() {
        let text =
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: a}}\n";
        assert_eq!(parse("x.yaml", text).0.len(), 1);
    }

    #[test]
    fn other_kinds_are_harmless() {
        let (_, problems) = parse("x.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n");
        assert!(problems[0].harmless);
    }
}
