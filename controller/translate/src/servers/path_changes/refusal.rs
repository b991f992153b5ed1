//! Paths that are closed because a change of theirs cannot be served.

use sluice_ir::{HttpRoute, PathMatch, ReasonCode};
use sluice_syntax::shortened;
use sluice_translate_engine::{Report, Reporter, Severity, closed_text};

use super::super::path_rule::{Origin, PathRule};
use super::super::server_snippet::FIELD;
use super::is_found_again;
use crate::global::Globals;
use crate::snippet::PathChange;

/// The location of the ConfigMap without which nginx would find the same location again, if it is one.
pub(super) fn in_the_way(
    route: &HttpRoute,
    changes: &[PathChange],
    routes: &[(PathMatch, Option<&PathRule>)],
    globals: &Globals,
) -> String {
    let is_of_configmap = |rule: &Option<&PathRule>| {
        let origin = rule.map(|rule| rule.origin);
        origin == Some(Origin::ConfigMap)
    };
    let own = routes.iter().filter(|(_, rule)| !is_of_configmap(rule));
    let own: Vec<PathMatch> = own.map(|(path, _)| path.clone()).collect();
    let is_found = |paths: &[PathMatch]| {
        let mut changes = changes.iter();
        changes.all(|change| is_found_again(route, change, paths))
    };
    let mut others = routes.iter().filter(|(_, rule)| is_of_configmap(rule));
    let other = others.find(|(path, _)| {
        let with_it: Vec<PathMatch> = own.iter().chain([path]).cloned().collect();
        !is_found(&with_it)
    });
    match other.filter(|_| is_found(&own)) {
        Some((path, _)) => format!(
            " (location {:?} of {})",
            shortened(path.text()),
            globals.server_snippet_name()
        ),
        None => String::new(),
    }
}

pub(super) fn report(
    rule: &PathRule,
    changes: &[PathChange],
    cause: &str,
    reports: &mut Vec<Report>,
) {
    let mut reporter = Reporter::new(rule.owner.clone(), reports);
    let path = &rule.path;
    let (field, effect) = match rule.origin {
        Origin::Ingress => (
            "annotation configuration-snippet",
            concat!("snippet not served; ", closed_text!()),
        ),
        Origin::ServerSnippet | Origin::ConfigMap => (FIELD, "the location answers 503"),
    };
    let reason = match changes.iter().any(|change| change.is_last) {
        true => format!(
            "rewrite with last is not supported for the path {path:?}: the new path may be one of another location{cause}, or be rewritten \
             again; use break"
        ),
        false => format!(
            "rewrite with break is not supported for the path {path:?}, which its pattern does not begin with"
        ),
    };
    reporter.report(
        ReasonCode::Unsupported,
        Severity::Error,
        field,
        reason,
        effect,
    );
}
