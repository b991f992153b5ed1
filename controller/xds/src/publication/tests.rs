use sluice_ir::{Collector, Endpoint, Tracing};

use super::*;

fn config(backends: &[(&str, &[&str])]) -> Config {
    let backend = |endpoints: &[&str]| Backend {
        endpoints: endpoints
            .iter()
            .map(|text| Endpoint::at(text.parse().unwrap()))
            .collect(),
        ..Backend::default()
    };
    let backends = backends.iter().map(|(name, endpoints)| {
        (
            BackendId::new(format!("d/{name}/80")),
            std::sync::Arc::new(backend(endpoints)),
        )
    });
    Config {
        backends: backends.collect(),
        ..Config::default()
    }
}

fn names(update: &Update) -> Vec<String> {
    update
        .changes
        .keys()
        .map(|(kind, name)| format!("{kind} {name}"))
        .collect()
}

fn endpoints(update: &Update, name: &str) -> Option<Change> {
    update
        .changes
        .get(&(ResourceType::Endpoints, name.into()))
        .cloned()
}

const POD: &str = "10.0.0.1:80";
const OTHER: &str = "10.0.0.2:80";

#[test]
fn one_changed_backend_renders_that_backend_only() {
    let before = config(&[("a", &[POD]), ("b", &[POD])]);
    let now = config(&[("a", &[POD]), ("b", &[OTHER])]);
    assert_eq!(
        names(&additions(&before, &now)),
        ["cluster d/b/80", "endpoints d/b/80"]
    );
    assert_eq!(additions(&now, &now).changes.len(), 0);
}

#[test]
fn endpoints_that_leave_stay_until_the_removal() {
    let (before, now) = (config(&[("a", &[POD])]), config(&[("a", &[OTHER])]));
    let mut both = config(&[("a", &[POD, OTHER])]);
    let backend = both.backends.get_mut(&BackendId::new("d/a/80")).unwrap();
    std::sync::Arc::make_mut(backend).endpoints[0].draining = true;
    let both = additions(&Config::default(), &both);
    assert_eq!(
        endpoints(&additions(&before, &now), "d/a/80"),
        endpoints(&both, "d/a/80")
    );
    let last = additions(&Config::default(), &now);
    assert_eq!(
        endpoints(&removals(&before, &now), "d/a/80"),
        endpoints(&last, "d/a/80")
    );
}

#[test]
fn a_backend_that_comes_back_takes_its_removal_back() {
    let (with, without) = (config(&[("a", &[POD])]), config(&[]));
    let mut removals = super::removals(&with, &without);
    assert_eq!(endpoints(&removals, "d/a/80"), Some(Change::Remove));
    removals.merge(super::removals(&without, &with));
    assert!(
        !removals
            .changes
            .values()
            .any(|change| *change == Change::Remove),
        "{removals:?}"
    );
}

#[test]
fn what_is_still_led_to_stays_and_all_else_goes() {
    let (before, now) = (
        config(&[("a", &[POD]), ("b", &[POD]), ("c", &[POD])]),
        config(&[("c", &[OTHER])]),
    );
    let mut removals = super::removals(&before, &now);
    let kept = take_removals_of(&mut removals, &config(&[("a", &[POD]), ("c", &[POD])]));
    assert_eq!(names(&kept), ["cluster d/a/80", "endpoints d/a/80"]);
    assert_eq!(endpoints(&removals, "d/b/80"), Some(Change::Remove));
    assert!(
        matches!(endpoints(&removals, "d/c/80"), Some(Change::Set(_))),
        "who left, leaves"
    );
}

#[test]
fn the_cluster_of_a_collector_comes_before_its_spans_and_leaves_after_them() {
    let traced = |host: &str| {
        let collector = Collector {
            host: host.to_owned(),
            port: 4317,
        };
        let mut config = Config::default();
        config.global.tracing = Some(Tracing::to(collector));
        config
    };
    let (with, without) = (traced("a.test"), Config::default());
    assert_eq!(names(&additions(&without, &with)), ["cluster sluice_otlp"]);
    assert_eq!(
        names(&additions(&with, &traced("b.test"))),
        ["cluster sluice_otlp"]
    );
    assert!(additions(&with, &with).changes.is_empty());
    let mut removals = super::removals(&with, &without);
    assert!(
        removals
            .changes
            .values()
            .all(|change| *change == Change::Remove),
        "{removals:?}"
    );
    removals.merge(super::removals(&without, &with));
    assert!(
        removals
            .changes
            .values()
            .all(|change| *change == Change::Keep),
        "{removals:?}"
    );
}
