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

const TEMPLATE: &str = "; it looks like a template: render it first (helm template)";
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
        Err(Mistake { line, mut reason }) => {
            let is_template = may_be_template(text, line);
            if is_template {
                reason += TEMPLATE;
            }
            document.problems.push(Problem {
                line: Some(first_line + line - 1),
                is_foreign: is_template || !may_be_object(text),
                ..Problem::new(place, reason)
            });
        }
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

/// The field of a document, of the object that is within it.
fn field_within(within: &str, field: &str) -> String {
    match within {
        DOCUMENT => field.to_owned(),
        within => format!("{within}.{field}"),
    }
}

/// One object; `within`: its field of the document, in which there may be template actions.
fn read_object(
    mut item: Value,
    remarks: &mut Vec<Remark>,
    within: &str,
    has_action: bool,
) -> Option<Object> {
    let note = |field: &str, reason: String| Remark {
        field: field_within(within, field),
        reason,
        harmless: true,
        is_foreign: false,
    };
    let old = upgrade(&mut item);
    let leftovers = leftovers(&item);
    let intent = Intent::new(&item, has_action);
    let (object, mut unknown) = match Object::with_unknown_fields(item) {
        Ok(read) => read,
        Err(error) => {
            remarks.push(intent.remark(&error, within));
            return None;
        }
    };
    // What is not served for it is reported with its Ingress.
    let reference = object.reference();
    let about = |field: &str, reason: &str| note(field, format!("{reference}: {field}: {reason}"));
    remarks.extend(leftovers.iter().map(|(field, reason)| about(field, reason)));
    unknown.retain(|field| !leftovers.iter().any(|(named, _)| field.starts_with(named)));
    remarks.extend(unknown.iter().map(|field| about(field, UNKNOWN_FIELD)));
    remarks.extend(old.map(|version| note("apiVersion", outdated(&object, &version))));
    Some(object)
}

/// Intent of a document that is no object.
struct Intent {
    /// An object, though its kind or its version is missing.
    object: bool,
    /// An Ingress, also with a wrong version or in other letters: it is none of the kinds that have nothing to do with us.
    ingress: bool,
    /// Fields with template actions.
    templated: Vec<String>,
}

impl Intent {
    fn new(item: &Value, has_action: bool) -> Self {
        let text = |field| item.get(field).and_then(Value::as_str);
        let (kind, version) = (text("kind"), text("apiVersion"));
        let group = version.and_then(|version| version.split_once('/'));
        let has_kind = Kind::ALL.iter().any(|known| Some(known.as_str()) == kind);
        Intent {
            object: has_kind || version.is_some() && item.get("metadata").is_some(),
            ingress: matches!(group, Some(("networking.k8s.io" | "extensions", _)))
                && kind.is_some_and(|kind| kind.eq_ignore_ascii_case("Ingress")),
            templated: match has_action {
                true => fields_with_action(item),
                false => Vec::new(),
            },
        }
    }

    fn remark(&self, error: &InvalidObject, within: &str) -> Remark {
        let mut reason = error.to_string();
        let (field, harmless, is_foreign) = match error {
            InvalidObject::UnknownKind { .. } => ("kind", !self.ingress, false),
            InvalidObject::NoObject { field } => {
                if within != DOCUMENT {
                    reason = reason.replacen("document", within, 1);
                }
                (*field, false, !self.object)
            }
            InvalidObject::Malformed { field, .. } => {
                let is_template = self.templated.contains(field);
                if is_template {
                    reason += TEMPLATE;
                }
                (field.as_str(), false, is_template)
            }
        };
        Remark {
            field: field_within(within, field),
            reason,
            harmless,
            is_foreign,
        }
    }
}

fn outdated(object: &Object, version: &str) -> String {
    let reference = object.reference();
    format!(
        "{reference}: {version} is not served since Kubernetes 1.22; read as networking.k8s.io/v1"
    )
}

#[cfg(test)]
// The fuzzer takes this file as a module of its own.
#[path = "documents/tests.rs"]
mod tests;
