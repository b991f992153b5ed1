//! Error responses that an error service replaces.

use sluice_syntax::settings::errors::configmap_error_statuses;
use sluice_syntax::value;
use std::collections::BTreeSet;

use super::keys::{Key, key};
use super::view::View;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("custom-http-errors", "").partly("the error service gets a GET; responses before the end of the request body, and of a server-snippet, are not replaced").native(),
    key("disable-proxy-intercept-errors", "false").full(),
];

/// Error responses that are replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Errors {
    /// `custom-http-errors`
    pub(crate) statuses: BTreeSet<u16>,
    /// `disable-proxy-intercept-errors`
    pub(crate) keeps_upstreams: bool,
}

impl Errors {
    pub(super) fn take(&mut self, view: &mut View<'_, '_>) {
        view.set(
            &mut self.statuses,
            "custom-http-errors",
            configmap_error_statuses,
        );
        view.set(
            &mut self.keeps_upstreams,
            "disable-proxy-intercept-errors",
            value::bool,
        );
    }
}
