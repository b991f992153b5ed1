//! Limits of requests: sizes, rates, and the statuses beyond them.

use std::num::NonZeroU32;

use sluice_syntax::settings::body::max_body_size;
use sluice_syntax::value;

use super::keys::{Key, key};
use super::view::View;
use crate::limit_status::{connection_status, request_status};
use crate::support::Support;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("limit-conn-status-code", "503").full(),
    key("limit-rate", "0").full(),
    key("limit-rate-after", "0").instead("limit-rate applies from the first byte").native(),
    key("limit-req-status-code", "503").partly("statuses that have a name (not 444, 499)").nginx(Support::Full),
    key("proxy-body-size", "1m").full(),
];

/// Limits of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) largest_body: Option<u64>,
    /// `limit-req-status-code`
    pub(crate) request_status: u16,
    /// `limit-conn-status-code`
    pub(crate) connection_status: u16,
    /// `limit-rate`
    pub(crate) rate: Option<NonZeroU32>,
    /// `limit-rate-after`
    pub(crate) rate_after: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            largest_body: Some(1 << 20),
            request_status: 503,
            connection_status: 503,
            rate: None,
            rate_after: 0,
        }
    }
}

impl Limits {
    pub(super) fn take(&mut self, view: &mut View<'_, '_>) {
        view.set(&mut self.largest_body, "proxy-body-size", max_body_size);
        let served_by = view.served_by();
        view.set(&mut self.request_status, "limit-req-status-code", |text| {
            request_status(text, served_by)
        });
        view.set(
            &mut self.connection_status,
            "limit-conn-status-code",
            connection_status,
        );
        view.set(&mut self.rate, "limit-rate", |text| {
            Ok(NonZeroU32::new(value::count(text)?))
        });
        view.set(&mut self.rate_after, "limit-rate-after", value::count);
    }
}
