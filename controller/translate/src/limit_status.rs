//! Statuses of requests beyond a limit.

use sluice_syntax::Parsed;

use crate::support::DataPlane;

/// Beyond a limit of concurrent requests: as nginx takes it.
pub(crate) fn connection_status(text: &str) -> Parsed<u16> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let status = text.parse().ok().filter(|_| is_plain);
    status
        .filter(|status| (400..600).contains(status))
        .ok_or_else(|| "a status from 400 to 599".into())
}

/// Beyond a rate. Envoy limits requests with statuses that have a name, and refuses others: of nginx's own, 444 and 499.
pub(crate) fn request_status(text: &str, served_by: Option<DataPlane>) -> Parsed<u16> {
    let status = connection_status(text)?;
    let is_known =
        matches!(status, 400..=417 | 421..=424 | 426 | 428 | 429 | 431 | 500..=508 | 510 | 511);
    let is_nginx = served_by == Some(DataPlane::Nginx);
    (is_known || is_nginx)
        .then_some(status)
        .ok_or_else(|| "a status that Envoy knows (RFC 9110)".into())
}
