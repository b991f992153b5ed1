//! Limits of requests: sizes, rates, and the statuses beyond them.

use std::num::NonZeroU32;

use sluice_syntax::settings::body::max_body_size;
use sluice_syntax::{Parsed, value};

use super::keys::{Key, key};
use super::view::View;
use crate::DataPlane;
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
            limit_status(text, served_by)
        });
        view.set(
            &mut self.connection_status,
            "limit-conn-status-code",
            error_status,
        );
        view.set(&mut self.rate, "limit-rate", |text| {
            Ok(NonZeroU32::new(value::count(text)?))
        });
        view.set(&mut self.rate_after, "limit-rate-after", value::count);
    }
}

fn error_status(text: &str) -> Parsed<u16> {
    text.parse()
        .ok()
        .filter(|status| (400..600).contains(status))
        .ok_or_else(|| "a status from 400 to 599".into())
}

/// Envoy limits requests with statuses that have a name, and refuses others: of nginx's own, 444 and 499.
fn limit_status(text: &str, served_by: Option<DataPlane>) -> Parsed<u16> {
    let status = error_status(text)?;
    let is_known =
        matches!(status, 400..=417 | 421..=424 | 426 | 428 | 429 | 431 | 500..=508 | 510 | 511);
    let is_nginx = served_by == Some(DataPlane::Nginx);
    (is_known || is_nginx)
        .then_some(status)
        .ok_or_else(|| "a status that Envoy knows (RFC 9110)".into())
}
