//! The documents of one manifest: text to objects, each on its own.
//!
//! Documents are split before they are parsed, so that one that cannot be read costs only itself.

use serde_json::Value;
use sluice_translate::{InvalidObject, Kind, Object, leftovers, upgrade};

use crate::Problem;
use crate::lines::{DOCUMENT, Lines};
use crate::templates::{fields_with_action, has_action, may_be_object, may_be_template};
use crate::yaml::{self, Mistake};

/// One document, read.
pub(crate) struct Document<'a> {
    text: &'a str,
    /// Line of the manifest that it begins in, from 1.
    first_line: usize,
    /// Each with its field of the document: [`DOCUMENT`], or `items[0]` of a list.
    pub(crate) objects: Vec<(String, Object)>,
    pub(crate) problems: Vec<Problem>,
}

impl Document<'_> {
    /// Lines of its fields.
    pub(crate) fn lines(&self) -> Lines {
        Lines::new(self.text, self.first_line)
    }
}

/// Reads every document of a manifest.
pub(crate) fn parse(place: &str, text: &str) -> (Vec<Object>, Vec<Problem>) {
    let (mut objects, mut problems) = (Vec::new(), Vec::new());
    for document in documents(place, text) {
        objects.extend(document.objects.into_iter().map(|(_, object)| object));
        problems.extend(document.problems);
    }
    (objects, problems)
}

/// The same, one document after the other.
pub(crate) fn documents<'a>(place: &'a str, text: &'a str) -> impl Iterator<Item = Document<'a>> {
    let (mut line, mut counted) = (1, 0);
    split(text)
        .filter(|(_, text)| !is_blank(text))
        .map(move |(start, document)| {
            line += newlines(&text[counted..start]);
            counted = start;
            read(place, document, line)
        })
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// `---` at the start of a line ends a document, whatever it stands in. Each with the place where it begins.
fn split(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_marker = |line: &str| {
        line.strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
    };
    let mut rest = Some(0);
    std::iter::from_fn(move || {
        let start = rest?;
        let mut at = start;
        for line in text[start..].split_inclusive('\n') {
            if is_marker(line) {
                rest = Some(at + 3);
                return Some((start, &text[start..at]));
            }
            at += line.len();
        }
        rest = None;
        Some((start, &text[start..]))
    })
}

fn is_blank(document: &str) -> bool {
    document
        .lines()
        .map(str::trim)
        .all(|line| line.is_empty() || line.starts_with('#') || line == "...")
}

const UNKNOWN_FIELD: &str = "unknown field; ignored, as the API server does";

fn read<'a>(place: &str, text: &'a str, first_line: usize) -> Document<'a> {
    let mut document = Document {
        text,
        first_line,
        objects: Vec::new(),
        problems: Vec::new(),
    };
    let mut remarks = Vec::new();
    match yaml::parse(text) {
        Ok(value) => {
            // Once for all items of a list.
            let has_action = has_action(text);
            for (field, item) in items(value) {
                let object = read_object(item, &mut remarks, &field, has_action);
                document
                    .objects
                    .extend(object.map(|object| (field, object)));
            }
        }
        Err(Mistake { line, reason }) => document.problems.push(Problem {
            line: Some(first_line + line - 1),
            is_foreign: !may_be_object(text) || may_be_template(text, line),
            ..Problem::new(place, reason)
        }),
    }
    if !remarks.is_empty() {
        let lines = document.lines();
        let problems = remarks.into_iter().map(|remark| remark.at(place, &lines));
        document.problems.extend(problems);
    }
    document
}

/// The object of a document, or those of a list, each with its field.
fn items(mut value: Value) -> Vec<(String, Value)> {
    if value.get("kind").and_then(Value::as_str) != Some("List") {
        return vec![(DOCUMENT.to_owned(), value)];
    }
    let items = value.get_mut("items").map(Value::take);
    let Some(Value::Array(items)) = items else {
        return Vec::new();
    };
    let named = items.into_iter().enumerate();
    named
        .map(|(position, item)| (format!("items[{position}]"), item))
        .collect()
}

/// Something about a field of the document.
struct Remark {
    field: String,
    reason: String,
    harmless: bool,
    is_foreign: bool,
}

impl Remark {
    fn at(self, place: &str, lines: &Lines) -> Problem {
        Problem {
            line: Some(lines.nearest(&self.field)),
            harmless: self.harmless,
            is_foreign: self.is_foreign,
            ..Problem::new(place, self.reason)
        }
    }
}

/// One object; `within`: its field of the document, in which there may be template actions.
fn read_object(
    mut item: Value,
    remarks: &mut Vec<Remark>,
    within: &str,
    has_action: bool,
) -> Option<Object> {
    let field_of = |field: &str| match within {
        DOCUMENT => field.to_owned(),
        within => format!("{within}.{field}"),
    };
    let old = upgrade(&mut item);
    let leftovers = leftovers(&item);
    let templated = match has_action {
        true => fields_with_action(&item),
        false => Vec::new(),
    };
    let is_object = names_an_object(&item);
    match Object::with_unknown_fields(item) {
        Ok((object, mut unknown)) => {
            // What is not served for it is reported with its Ingress.
            let reference = object.reference();
            let note = |field: &str, reason: &str| Remark {
                field: field_of(field),
                reason: format!("{reference}: {field}: {reason}"),
                harmless: true,
                is_foreign: false,
            };
            remarks.extend(leftovers.iter().map(|(field, reason)| note(field, reason)));
            unknown.retain(|field| !leftovers.iter().any(|(named, _)| field.starts_with(named)));
            remarks.extend(unknown.iter().map(|field| note(field, UNKNOWN_FIELD)));
            remarks.extend(old.map(|version| Remark {
                field: field_of("apiVersion"),
                reason: outdated(&object, &version),
                harmless: true,
                is_foreign: false,
            }));
            Some(object)
        }
        Err(error) => {
            let (field, is_foreign) = match &error {
                InvalidObject::UnknownKind { .. } => ("kind", false),
                InvalidObject::NoObject { field } => (*field, !is_object),
                InvalidObject::Malformed { field, .. } => {
                    (field.as_str(), templated.contains(field))
                }
            };
            remarks.push(Remark {
                field: field_of(field),
                reason: error.to_string(),
                harmless: matches!(error, InvalidObject::UnknownKind { .. }),
                is_foreign,
            });
            None
        }
    }
}

/// True if a document is meant as an object, though its kind or its version is missing.
fn names_an_object(item: &Value) -> bool {
    let text = |field| item.get(field).and_then(Value::as_str);
    let has_kind = Kind::ALL
        .iter()
        .any(|kind| Some(kind.as_str()) == text("kind"));
    has_kind || text("apiVersion").is_some() && item.get("metadata").is_some()
}

fn outdated(object: &Object, version: &str) -> String {
    let reference = object.reference();
    format!(
        "{reference}: {version} is not served since Kubernetes 1.22; read as networking.k8s.io/v1"
    )
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
        assert!(!problems[0].is_foreign);
        assert!(
            problems[0]
                .to_string()
                .starts_with("x.yaml:5: expected YAML"),
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

    /// Nothing looks at the whole document for each item.
    #[test]
    fn a_list_costs_its_items_and_not_their_square() {
        let item = "- {apiVersion: v1, kind: Service, metadata: {name: a}}\n";
        let comment = format!("# {}\n", "x ".repeat(2_000_000));
        let seconds = |items: &str, comment: &str| {
            let text = format!("apiVersion: v1\nkind: List\nitems:\n{items}{comment}");
            let began = std::time::Instant::now();
            parse("x.yaml", &text);
            began.elapsed()
        };
        let one = seconds(item, &comment);
        let many = seconds(&item.repeat(1_000), "");
        let both = seconds(&item.repeat(1_000), &comment);
        assert!(both < (one + many) * 4, "{one:?}, {many:?}, {both:?}");
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
    fn only_what_names_no_object_or_is_a_template_is_foreign() {
        let ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: NAME}\n";
        let named = |name: &str| ingress.replace("NAME", name);
        for (text, is_foreign) in [
            ("replicas: 2\n".to_owned(), true),
            ("replicas: [\n".to_owned(), true),
            ("apiVersion: v2\nname: chart\n".to_owned(), true),
            (named("{{ .Name }}"), true),
            (named("\"{{ .Name }}\""), true),
            (
                named("\"{{ .Name }}\"").replace("{name", "{namespace: A_B, name"),
                true,
            ),
            (named("A_B"), false),
            (format!("# {{{{docs}}}}\n{}", named("A_B")), false),
            (named("A_B, labels: {a: \"{{ .Name }}\"}"), false),
            (named("a").replace("kind: Ingress\n", ""), false),
            (
                named("a").replace("apiVersion: networking.k8s.io/v1\n", ""),
                false,
            ),
            (format!("# {{{{docs}}}}\n{}spec: [\n", named("a")), false),
        ] {
            let (_, problems) = parse("x.yaml", &text);
            assert_eq!(problems.len(), 1, "{text}");
            assert_eq!(problems[0].is_foreign, is_foreign, "{text}{}", problems[0]);
        }
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
