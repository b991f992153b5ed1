//! The label `status`. A pod answers with the number that it likes, so not every number is a label.

use hyper::StatusCode;

use crate::label::Label;

/// The number, as in ingress-nginx; of one that is neither registered with IANA nor nginx's own its class. 0: no answer.
pub(super) fn label(status: u16, are_classes: bool) -> Label {
    if is_known(status) && !are_classes {
        return Label::of(&status.to_string());
    }
    match status / 100 {
        class @ 0..=9 => Label::of(&format!("{class}xx")),
        _ => Label::other(),
    }
}

fn is_known(status: u16) -> bool {
    is_registered(status) || matches!(status, 0 | 444 | 494..=499)
}

/// One without a reason phrase is not in use.
fn is_registered(status: u16) -> bool {
    StatusCode::from_u16(status).is_ok_and(|status| status.canonical_reason().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_is_its_number_if_it_is_known_and_otherwise_its_class() {
        let nginx = [0, 444, 494, 495, 496, 497, 498, 499];
        let mut numbers = 0;
        for status in 0..=999 {
            let (number, class) = (status.to_string(), format!("{}xx", status / 100));
            assert_eq!(label(status, true).as_str(), class);
            let is_known = nginx.contains(&status) || is_registered(status);
            let expected = if is_known { number } else { class };
            assert_eq!(label(status, false).as_str(), expected);
            numbers += u32::from(is_known);
        }
        assert!((60..80).contains(&numbers), "{numbers}");
    }

    #[test]
    fn numbers_that_pods_invent_are_classes() {
        for (status, expected) in [
            (204, "204"),
            (418, "418"),
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
