//! The documents of one manifest: text to objects, each on its own.
//!
//! Documents are split before they are parsed, so that one that cannot be read costs only itself.

use sluice_translate::{InvalidObject, Object, leftovers, upgrade};

use crate::Problem;

/// A manifest larger than this is not read. The API server stores objects of up to 1.5 MB.
pub(crate) const LARGEST: u64 = 64 << 20;

/// Reads every document of a manifest.
pub(crate) fn parse(place: &str, text: &str) -> (Vec<Object>, Vec<Problem>) {
    let (mut objects, mut problems) = (Vec::new(), Vec::new());
    let documents: Vec<&str> = split(text).filter(|document| !is_blank(document)).collect();
    for (position, document) in documents.iter().enumerate() {
        let place = match documents.len() {
            1 => place.to_owned(),
            _ => format!("{place} (document {})", position + 1),
        };
        let (found, trouble) = read(document);
        objects.extend(found);
        let problem = |(reason, harmless)| Problem {
            place: place.clone(),
            reason,
            harmless,
        };
        problems.extend(trouble.into_iter().map(problem));
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
    document
        .lines()
        .map(str::trim)
        .all(|line| line.is_empty() || line.starts_with('#') || line == "...")
}

const UNKNOWN_FIELD: &str = "unknown field; ignored, as the API server does";

/// Error, and true if it is harmless.
type Trouble = (String, bool);

fn read(document: &str) -> (Vec<Object>, Vec<Trouble>) {
    let (mut objects, mut trouble) = (Vec::new(), Vec::new());
    let value: serde_json::Value = match serde_saphyr::from_str(document) {
        Ok(value) => value,
        Err(error) => {
            let error = error.to_string();
            // The rest is for who calls the library.
            let (error, _) = error
                .split_once(", set DuplicateKeyPolicy")
                .unwrap_or((&error, ""));
            let reason = format!("expected YAML: {}; document not served", one_line(error));
            return (objects, vec![(reason, false)]);
        }
    };
    let items = match value.get("kind").and_then(serde_json::Value::as_str) {
        Some("List") => value
            .get("items")
            .and_then(serde_json::Value::as_array)
            .cloned()
            .unwrap_or_default(),
        _ => vec![value],
    };
    for mut item in items {
        let old = upgrade(&mut item);
        let leftovers = leftovers(&item);
        match Object::with_unknown_fields(item) {
            Ok((object, mut unknown)) => {
                // What is not served for it is reported with its Ingress.
                let reference = object.reference();
                let note =
                    |field: &str, reason: &str| (format!("{reference}: {field}: {reason}"), true);
                trouble.extend(leftovers.iter().map(|(field, reason)| note(field, reason)));
                unknown
                    .retain(|field| !leftovers.iter().any(|(named, _)| field.starts_with(named)));
                trouble.extend(unknown.iter().map(|field| note(field, UNKNOWN_FIELD)));
                trouble.extend(old.map(|version| (outdated(&object, &version), true)));
                objects.push(object);
            }
            Err(error) => {
                let harmless = matches!(error, InvalidObject::UnknownKind { .. });
                trouble.push((error.to_string(), harmless));
            }
        }
    }
    (objects, trouble)
}

fn outdated(object: &Object, version: &str) -> String {
    let reference = object.reference();
    format!(
        "{reference}: {version} is not served since Kubernetes 1.22; read as networking.k8s.io/v1"
    )
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
        let text = format!(
            "{SERVICE}---\nkind: [\n--- # next\n{}",
            SERVICE.replace("name: a", "name: b")
        );
        let (objects, problems) = parse("x.yaml", &text);
        assert_eq!(objects.len(), 2);
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0]
                .to_string()
                .starts_with("x.yaml (document 2): expected YAML"),
            "{}",
            problems[0]
        );
    }

    #[test]
    fn a_key_that_is_there_twice_is_named() {
        let (_, problems) = parse("x.yaml", "kind: Service\nkind: Ingress\n");
        let told = problems[0].to_string();
        assert!(told.contains("duplicate mapping key: kind"), "{told}");
        assert!(!told.contains("DuplicateKeyPolicy"), "{told}");
    }

    #[test]
    fn dashes_inside_a_line_end_nothing() {
        let text = format!("# ---\n{SERVICE}  # a --- b\n----\n");
        assert_eq!(split(&text).count(), 1);
    }

    #[test]
    fn a_list_is_its_items() {
        let text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: a}}\n";
        assert_eq!(parse("x.yaml", text).0.len(), 1);
    }

    #[test]
    fn an_ingress_of_an_old_version_is_read_with_a_note() {
        let text = "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n";
        let (objects, problems) = parse("x.yaml", text);
        assert_eq!(objects.len(), 1);
        assert!(
            problems[0].harmless && problems[0].reason.contains("since Kubernetes 1.22"),
            "{}",
            problems[0]
        );
    }

    #[test]
    fn what_an_ingress_has_no_field_for_is_noted_once() {
        let path = "{path: /, pathType: Exact, backend: {serviceName: a, servicePort: 80}}";
        let text = format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: a}}\n\
             spec: {{ingressclass: x, rules: [{{http: {{paths: [{path}]}}}}]}}\n"
        );
        let (objects, problems) = parse("x.yaml", &text);
        assert_eq!(objects.len(), 1);
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0].contains("backend: expected service, got serviceName"),
            "{said:?}"
        );
        assert!(
            said[1].contains("spec.ingressclass: unknown field; ignored"),
            "{said:?}"
        );
        assert!(problems.iter().all(|problem| problem.harmless));
    }

    #[test]
    fn other_kinds_are_harmless() {
        let (_, problems) = parse(
            "x.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
        );
        assert!(problems[0].harmless);
    }
}
