//! Values of single keys.

use sluice_ir::Cidr;
use sluice_syntax::{Parsed, value};

use crate::DataPlane;

pub(super) fn owned(text: &str) -> Vec<String> {
    value::list(text).into_iter().map(str::to_owned).collect()
}

pub(super) fn maybe_cidrs(text: &str) -> Parsed<Vec<Cidr>> {
    if text.is_empty() {
        Ok(Vec::new())
    } else {
        value::cidrs(text)
    }
}

pub(super) fn error_status(text: &str) -> Parsed<u16> {
    text.parse()
        .ok()
        .filter(|status| (400..600).contains(status))
        .ok_or_else(|| "a status from 400 to 599".into())
}

/// Envoy limits requests with statuses that have a name, and refuses others: of nginx's own, 444 and 499.
pub(super) fn limit_status(text: &str, served_by: Option<DataPlane>) -> Parsed<u16> {
    let status = error_status(text)?;
    let is_known =
        matches!(status, 400..=417 | 421..=424 | 426 | 428 | 429 | 431 | 500..=508 | 510 | 511);
    let is_nginx = served_by == Some(DataPlane::Nginx);
    (is_known || is_nginx)
        .then_some(status)
        .ok_or_else(|| "a status that Envoy knows (RFC 9110)".into())
}

pub(super) fn redirect_status(text: &str) -> Parsed<u16> {
    let known = [301, 302, 307, 308];
    known
        .into_iter()
        .find(|status: &u16| status.to_string() == text)
        .ok_or_else(|| "301, 302, 307 or 308".into())
}
