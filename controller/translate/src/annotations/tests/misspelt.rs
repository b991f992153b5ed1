//! Names that nobody has.

use serde_json::json;
use sluice_translate_engine::{Report, Severity};

use super::{reported, with};
use crate::annotations::GROUPS;
use crate::annotations::intake::OWN;
use crate::global::Globals;

/// Findings of lint about an Ingress with this annotation.
fn compared(key: &str) -> Vec<(Severity, String)> {
    let (_, reports) = reported(&json!({key: "5"}), &Globals::default());
    reports.iter().map(Report::compared).collect()
}

/// The name with another letter in this place.
fn slip(name: &str, place: usize) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    letters[place] = if letters[place] == 'z' { 'y' } else { 'z' };
    letters.into_iter().collect()
}

#[test]
fn a_slip_in_a_name_of_our_own_is_a_warning_with_the_name() {
    let all = GROUPS.iter().flat_map(|group| group.annotations);
    let own: Vec<_> = all
        .map(|one| one.name)
        .filter(|name| name.starts_with(OWN))
        .collect();
    assert!(!own.is_empty());
    for name in own {
        for place in OWN.len()..name.len() {
            let slip = slip(name, place);
            let said = compared(&slip);
            let expected = format!(
                "expected an annotation of Sluice, got {slip:?} (did you mean {name}?); annotation ignored"
            );
            assert_eq!(said, [(Severity::Warning, expected)]);
        }
    }
}

#[test]
fn a_slip_that_came_from_ingress_nginx_changes_nothing() {
    let expected = "Ingress default/shop: annotation proxy-read-timeot: expected an annotation of ingress-nginx, got \
                    \"proxy-read-timeot\" (did you mean proxy-read-timeout?); annotation ignored";
    assert_eq!(with("proxy-read-timeot", "1").1, [expected]);
    let said = compared("nginx.ingress.kubernetes.io/proxy-read-timeot");
    assert!(matches!(said.as_slice(), [(Severity::Note, _)]), "{said:?}");
}
