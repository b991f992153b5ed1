//! The label `status`. A pod answers with the number that it likes, so not every number is a label.

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
    matches!(
        status,
        0 | 100..=104
            | 200..=208
            | 226
            | 300..=308
            | 400..=418
            | 421..=426
            | 428
            | 429
            | 431
            | 444
            | 451
            | 494..=499
            | 500..=508
            | 510
            | 511
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn whatever_pods_answer_there_are_few_statuses() {
        for are_classes in [false, true] {
            let all: BTreeSet<Label> = (0..=u16::MAX)
                .map(|status| label(status, are_classes))
                .collect();
            assert!(all.len() < 100, "{all:?}");
        }
        for (status, number, class) in [
            (204, "204", "2xx"),
            (499, "499", "4xx"),
            (599, "5xx", "5xx"),
            (0, "0", "0xx"),
            (1_000, "_other", "_other"),
        ] {
            assert_eq!(label(status, false).as_str(), number);
            assert_eq!(label(status, true).as_str(), class);
        }
    }
}
