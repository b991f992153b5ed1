//! Statuses of errors.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::value::{self, Parsed};

/// `custom-http-errors` of an Ingress.
pub fn error_statuses(text: &str) -> Parsed<BTreeSet<u16>> {
    among(text, 400..600).ok_or_else(|| "statuses from 400 to 599, separated by commas".into())
}

/// The ConfigMap's `custom-http-errors`.
pub fn configmap_error_statuses(text: &str) -> Parsed<BTreeSet<u16>> {
    among(text, 300..600).ok_or_else(|| "statuses from 300 to 599, separated by commas".into())
}

/// Statuses within a range, separated by commas.
fn among(text: &str, range: Range<u16>) -> Option<BTreeSet<u16>> {
    let status = |text: &str| text.parse().ok().filter(|status| range.contains(status));
    value::list(text).into_iter().map(status).collect()
}
