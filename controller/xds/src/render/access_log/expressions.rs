//! CEL about a request or a connection that is over: how a value is found, and how it is shown.
//!
//! An expression that fails is logged as `-`, and a filter that fails writes no line. So nothing is read before it is known to be
//! there: no request keeps its line, or a field of it, out of the log.

use sluice_ir::LogEscaping;

use crate::render::cel::{header, regex_capture, string_literal};
use crate::render::forwarded;

/// Namespace of metadata: of a request, what the client sent; of a route, what the log says of it.
pub(in crate::render) const LOG_METADATA: &str = "sluice.log";
/// Key of a route with `enable-access-log: "false"`.
pub(in crate::render) const UNLOGGED: &str = "unlogged";
/// Key of the route's main backend, where there are canaries.
pub(in crate::render) const MAIN: &str = "backend";
/// Control characters but tabs, which begin lines and command terminals, in bytes of UTF-8: Envoy's own patterns know no characters.
/// Noted text has `?` in place of each.
pub(super) const CONTROLS: &str = r"[\x00-\x08\x0a-\x1f\x7f]|\xc2[\x80-\x9f]";
/// The same to CEL, which knows characters, and has no pattern to replace.
const CONTROL: &str = r"[\x{0}-\x{8}\x{a}-\x{1f}\x{7f}-\x{9f}]";
/// Envoy notes no value that has as many bytes.
const MOST_NOTED: usize = 8 * 1024;

const ROUTE: &str = "xds.route_metadata.filter_metadata";

/// Author of a value, and with it what has to be escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// Envoy, the controller or the operator.
    Ours,
    /// A client; control characters were replaced when it was noted.
    Noted,
    /// A client, a pod or a certificate.
    Other,
}

/// A value where its condition holds. Of several readings of a field the first one is taken.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) condition: String,
    pub(super) value: String,
    pub(super) author: Author,
}

impl Reading {
    pub(super) fn new(condition: impl Into<String>, value: impl Into<String>, by: Author) -> Self {
        Reading {
            condition: condition.into(),
            value: value.into(),
            author: by,
        }
    }

    /// Of an attribute of Envoy's.
    pub(super) fn attribute(name: &str, author: Author) -> Self {
        Reading::new(format!("has({name})"), name, author)
    }

    /// The same, where empty is not there.
    pub(super) fn text_attribute(name: &str, author: Author) -> Self {
        Reading::new(format!("has({name}) && {name} != ''"), name, author)
    }

    pub(super) fn with_value(self, value: impl FnOnce(&str) -> String) -> Self {
        Reading {
            value: value(&self.value),
            ..self
        }
    }

    /// The group of a pattern where it matches the whole value.
    pub(super) fn matched(self, pattern: &str) -> Self {
        let whole = string_literal(&format!("^(?:{pattern})$"));
        Reading {
            condition: format!("{} && {}.matches({whole})", self.condition, self.value),
            value: regex_capture(&self.value, pattern),
            ..self
        }
    }

    fn shown(&self, escaping: LogEscaping) -> String {
        let special = match escaping {
            LogEscaping::Default => {
                r#".replace('\\', '\\x5C').replace('"', '\\x22').replace('\t', '\\x09')"#
            }
            LogEscaping::Json => {
                r#".replace('\\', '\\\\').replace('"', '\\"').replace('\t', '\\t')"#
            }
            LogEscaping::None => "",
        };
        match self.author {
            Author::Ours => self.value.clone(),
            Author::Noted => format!("{}{special}", self.value),
            Author::Other => format!("{}{special}", without_controls(&self.value)),
        }
    }
}

/// A text up to its first control character, and `?` in place of the rest.
fn without_controls(text: &str) -> String {
    let control = string_literal(CONTROL);
    let before = regex_capture(text, &format!(r"(\C*?){CONTROL}\C*"));
    format!("({text}.matches({control}) ? {before} + '?' : {text})")
}

/// An operator that writes the first reading that there is.
pub(super) fn operator(readings: &[Reading], escaping: LogEscaping, missing: &str) -> String {
    let expression = readings
        .iter()
        .rev()
        .fold(missing.to_owned(), |otherwise, it| {
            format!("{} ? {} : {otherwise}", it.condition, it.shown(escaping))
        });
    format!("%CEL({expression})%")
}

/// A header as the client sent it. One that is too long to be noted is shown as the pod got it.
pub(super) fn sent_header(name: &str) -> [Reading; 2] {
    let sent = forwarded::as_sent(name);
    let (key, value) = (string_literal(sent), header(sent));
    let is_long = format!("{key} in request.headers && size(bytes({value})) >= {MOST_NOTED}");
    [
        Reading::new(is_noted(name), noted(name), Author::Noted),
        Reading::new(is_long, value, Author::Other),
    ]
}

pub(super) fn noted(key: &str) -> String {
    format!(
        "metadata.filter_metadata['{LOG_METADATA}'][{}]",
        string_literal(key)
    )
}

pub(super) fn is_noted(key: &str) -> String {
    let key = string_literal(key);
    format!(
        "('{LOG_METADATA}' in metadata.filter_metadata && {key} in metadata.filter_metadata['{LOG_METADATA}'])"
    )
}

/// A request that no route took has no metadata, and is written.
pub(super) fn logged() -> String {
    format!("!({})", is_of_route(UNLOGGED))
}

/// The id of a route's main backend, where its metadata have it.
pub(super) fn main_with_canaries() -> Reading {
    let main = format!("{ROUTE}['{LOG_METADATA}']['{MAIN}']");
    let condition = format!("has(xds.cluster_name) && {}", is_of_route(MAIN));
    Reading::new(condition, main, Author::Ours)
}

fn is_of_route(key: &str) -> String {
    format!(
        "has(xds.route_metadata) && '{LOG_METADATA}' in {ROUTE} && '{key}' in {ROUTE}['{LOG_METADATA}']"
    )
}

/// Namespace, Service and port of the id of a backend. The label of its transport, which may follow, is nobody's business.
pub(super) fn service_port(id: &str, separator: char) -> String {
    format!("{id}.replace('/', '{separator}', 2).split('/')[0]")
}

/// A host outside of the cluster has no Service, and alone has a colon in its id.
pub(super) fn has_service(id: &str) -> String {
    format!("!{id}.contains(':')")
}
