//! The label `status`. A pod answers with the number that it likes, so not every number is a label.

use hyper::StatusCode;

use crate::label::Label;

/// The number, as in ingress-nginx; of one that is not in use its class: neither in force at IANA nor nginx's own, among them 104 and 306.
/// 0: no answer.
pub(super) fn label(status: u16, are_classes: bool) -> Label {
    if is_in_use(status) && !are_classes {
        return Label::of(&status.to_string());
    }
    match status / 100 {
        class @ 0..=9 => Label::of(&format!("{class}xx")),
        _ => Label::other(),
    }
}

fn is_in_use(status: u16) -> bool {
    has_phrase(status) || matches!(status, 0 | 444 | 494..=499)
}

/// Those with a reason phrase are IANA's, but for 104, which is temporary, and 306, which nobody uses any more.
fn has_phrase(status: u16) -> bool {
    StatusCode::from_u16(status).is_ok_and(|status| status.canonical_reason().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IANA's, without 104 and 306.
    #[rustfmt::skip]
    const REGISTERED: [u16; 62] = [
        100, 101, 102, 103,
        200, 201, 202, 203, 204, 205, 206, 207, 208, 226,
        300, 301, 302, 303, 304, 305, 307, 308,
        400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418,
        421, 422, 423, 424, 425, 426, 428, 429, 431, 451,
        500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511,
    ];
    const NGINX: [u16; 8] = [0, 444, 494, 495, 496, 497, 498, 499];

    #[test]
    fn each_status_is_its_number_if_it_is_in_use_and_otherwise_its_class() {
        for status in 0..=999 {
            let (number, class) = (status.to_string(), format!("{}xx", status / 100));
            assert_eq!(label(status, true).as_str(), class);
            let is_in_use = REGISTERED.contains(&status) || NGINX.contains(&status);
            let expected = if is_in_use { number } else { class };
            assert_eq!(label(status, false).as_str(), expected);
        }
    }

    #[test]
    fn numbers_that_pods_invent_are_classes() {
        for (status, expected) in [
            (204, "204"),
            (418, "418"),
            (104, "1xx"),
            (306, "3xx"),
            (299, "2xx"),
            (599, "5xx"),
            (999, "9xx"),
            (1_000, "_other"),
            (u16::MAX, "_other"),
        ] {
            assert_eq!(label(status, false).as_str(), expected);
        }
    }
}
