//! Pages for errors.

use std::collections::BTreeSet;

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::value::{self, Parsed};
use super::view::View;
use crate::global::Globals;

pub(super) const GROUP: Group = Group {
    title: "Errors",
    annotations: &[
        annotation("default-backend", Value::Service, Risk::Low, Scope::Location).full(),
        annotation("custom-http-errors", Value::List, Risk::Low, Scope::Location)
            .instead("error pages in the pods"),
        annotation("disable-proxy-intercept-errors", Value::Bool, Risk::Low, Scope::Location)
            .instead("error pages in the pods")
            .harmless(&["false"]),
    ],
};

/// What is asked when the pods of a location cannot answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Errors {
    /// A Service of the Ingress's namespace; its first port.
    pub(crate) service: Option<String>,
    /// Answers that are replaced.
    pub(crate) statuses: BTreeSet<u16>,
}

pub(super) fn errors(view: &mut View<'_, '_>, globals: &Globals) -> Errors {
    let keeps = view.read("disable-proxy-intercept-errors", value::bool).unwrap_or_default();
    let statuses =
        view.read("custom-http-errors", statuses).unwrap_or_else(|| globals.error_statuses.clone());
    Errors {
        service: view.read("default-backend", value::service).map(str::to_owned),
        statuses: if keeps { BTreeSet::new() } else { statuses },
    }
}

pub(crate) fn statuses(text: &str) -> Parsed<BTreeSet<u16>> {
    let status = |text: &str| text.parse().ok().filter(|status| (400..600).contains(status));
    let all: Option<BTreeSet<u16>> = value::list(text).into_iter().map(status).collect();
    all.ok_or_else(|| "statuses from 400 to 599, separated by commas".into())
}
