//! Reports about an Ingress that have to do with a request: none of paths and rules that other requests are for.

use sluice_explain::Request;
use sluice_translate::{Ingress, Report};

/// Characters that begin a pattern, or may be written in other ways.
const OF_PATTERNS: [char; 16] = [
    '(', ')', '[', ']', '{', '}', '|', '\\', '^', '$', '*', '+', '?', '.', '%', ' ',
];

/// A rule, and a path of it.
type Place = (usize, Option<usize>);

/// True unless the report is about a path, or a rule, that cannot have a part in it. `owner`: the field of the route's path.
pub(super) fn concerns(report: &Report, owner: &str, ingress: &Ingress, request: &Request) -> bool {
    let Some((rule, path)) = place(&report.field) else {
        return true;
    };
    let own = place(owner);
    let spec = ingress.spec.as_ref();
    let Some(found) = spec.and_then(|spec| spec.rules.as_ref()?.get(rule)) else {
        return true;
    };
    let is_own_rule = own.is_some_and(|(own, _)| own == rule);
    let is_of_host = found
        .host
        .as_deref()
        .is_none_or(|host| is_named(host, &request.host));
    if !is_own_rule && !is_of_host {
        return false;
    }
    let http = found.http.as_ref();
    let other = path.filter(|_| own != Some((rule, path)));
    let other = other.and_then(|path| http?.paths.get(path));
    other.is_none_or(|path| may_take(path.path.as_deref(), request))
}

/// True if a rule for a host is one for this name.
pub(super) fn is_named(rule: &str, host: &str) -> bool {
    let wildcard = rule.strip_prefix('*');
    rule == host || wildcard.is_some_and(|suffix| host.ends_with(suffix))
}

/// `spec.rules[0].http.paths[1].backend`
fn place(field: &str) -> Option<Place> {
    let (rule, rest) = index(field.strip_prefix("spec.rules[")?)?;
    let path = rest.strip_prefix(".http.paths[").and_then(index);
    Some((rule, path.map(|(path, _)| path)))
}

fn index(text: &str) -> Option<(usize, &str)> {
    let (number, rest) = text.split_once(']')?;
    Some((number.parse().ok()?, rest))
}

/// True if a path may be why another one serves the request: by the text in front of any pattern, in any case.
fn may_take(written: Option<&str>, request: &Request) -> bool {
    let (Some(written), Some(path)) = (written, &request.path) else {
        return true;
    };
    let plain = written.split(OF_PATTERNS).next().unwrap_or_default();
    path.to_lowercase().starts_with(&plain.to_lowercase())
}
