//! Names that nobody has.

use serde_json::json;
use sluice_translate_engine::{DependencyTracker, ObjectCache, Severity};

use super::{ingress, reporter};
use crate::annotations::intake::OWN;
use crate::annotations::{Annotations, Context, GROUPS, Secrets};
use crate::{Options, global::Globals};

/// Findings of lint about an Ingress with this annotation.
fn compared(key: &str) -> Vec<(Severity, String)> {
    let mut reports = Vec::new();
    let (cluster, options) = (ObjectCache::default(), Options::default());
    let tracker = DependencyTracker::new(&cluster, &options.addresses);
    let context = Context {
        tracker: &tracker,
        options: &options,
        globals: &Globals::default(),
    };
    let ingress = ingress(&json!({key: "5"}));
    let reporter = reporter(&mut reports);
    Annotations::read(&ingress, context, &mut Secrets::default(), reporter);
    reports
        .iter()
        .map(sluice_translate_engine::Report::compared)
        .collect()
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
    let said = compared("nginx.ingress.kubernetes.io/proxy-read-timeot");
    assert!(matches!(said.as_slice(), [(Severity::Note, _)]), "{said:?}");
}
