//! Pages for errors.

use std::collections::BTreeSet;

use sluice_syntax::settings::errors::error_statuses;
use sluice_syntax::value;

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;
use crate::support::Support;

pub(super) const GROUP: Group = Group {
    title: "Errors",
    annotations: &[
        annotation("default-backend", Value::Service, Risk::Low, Scope::Location).full(),
        annotation("custom-http-errors", Value::List, Risk::Low, Scope::Location)
            .partly("the error service gets a GET; responses before the end of the request body are not replaced")
            .nginx(Support::Full),
        annotation("disable-proxy-intercept-errors", Value::Bool, Risk::Low, Scope::Location)
            .full(),
    ],
};

/// Error service and the statuses that it replaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Errors {
    /// A Service of the Ingress's namespace; its first port.
    pub(crate) service: Option<String>,
    /// Answers that are replaced.
    pub(crate) statuses: BTreeSet<u16>,
    /// Those of pods are not.
    pub(crate) keeps_upstreams: bool,
}

pub(super) fn errors(view: &mut View<'_, '_>, globals: &Globals) -> Errors {
    let keeps_upstreams = view
        .read("disable-proxy-intercept-errors", value::bool)
        .unwrap_or(globals.errors.keeps_upstreams);
    let statuses = view
        .read("custom-http-errors", error_statuses)
        .unwrap_or_else(|| globals.errors.statuses.clone());
    Errors {
        service: view
            .read("default-backend", value::service)
            .map(str::to_owned),
        statuses,
        keeps_upstreams,
    }
}
