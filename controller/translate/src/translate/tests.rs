//! Whatever changes, in whatever order: what was brought up to date is what a translation of everything gives.

mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use proptest::prelude::*;
use serde_json::json;
use sluice_ir::{RouteId, SecretId};
use sluice_syntax::DnsName;
use sluice_translate_engine::{Kind, Membership, ObjectKey, Report, RouteInput};

use super::*;
use world::{Step, apply, options, step};

/// Everything that a translation says: the configuration, the owners of its routes, and reports.
fn described(translation: &Translation) -> String {
    let reports = translation.reports().into_iter().cloned().collect();
    described_with(translation, reports, translation.secret_references())
}

fn described_with(
    translation: &Translation,
    reports: BTreeSet<Report>,
    secret_references: &BTreeMap<SecretId, usize>,
) -> String {
    let (config, owners) = (translation.config(), translation.owners());
    let reports: Vec<String> = reports.iter().map(|report| format!("{report:?}")).collect();
    let secrets: Vec<_> = config.secrets.keys().chain(config.users.keys()).collect();
    format!(
        "{:#}\n{owners:#?}\n{secret_references:#?}\n{secrets:?}\n{}",
        json!(config),
        reports.join("\n")
    )
}

/// Translates all Ingresses at once, as one route group.
fn at_once(resources: &Resources, options: &Options) -> String {
    let input = Ingresses::new(resources, options);
    let settings = input.shared_inputs().settings;
    let (mut members, mut reports) = (Vec::new(), BTreeSet::new());
    for key in input.keys() {
        match input.membership(&key, &settings) {
            Membership::Ours(member) => members.push(member),
            Membership::OtherClass(report) => drop(reports.insert(report)),
            Membership::None => {}
        }
    }
    members.sort_by(|a, b| a.seniority.cmp(&b.seniority));
    let translation = Translation::from_members(members, &input);
    reports.extend(translation.reports().into_iter().cloned());
    // How many route groups name a Secret says nothing about what is served.
    let whole = translate(resources, options);
    described_with(&translation, reports, whole.secret_references())
}

fn play(batches: &[Vec<Step>], options: &Options) -> Result<(), TestCaseError> {
    let mut resources = Resources::default();
    world::beginning()
        .into_iter()
        .for_each(|object| drop(resources.apply(object)));
    let mut translation = translate(&resources, options);
    let mut followed: BTreeSet<DnsName> = translation.used_names().cloned().collect();
    for batch in batches {
        let before = translation.clone();
        let mut changes = Changes::default();
        batch
            .iter()
            .for_each(|step| changes.add(step.take(&mut resources)));
        let updated = translation.update(&changes, &Ingresses::new(&resources, options));
        let whole = translate(&resources, options);
        prop_assert_eq!(described(&translation), described(&whole), "{:?}", batch);
        let ids = || translation.config().routes().map(|route| &route.id);
        let distinct: BTreeSet<&RouteId> = ids().collect();
        prop_assert_eq!(distinct.len(), ids().count(), "ids of routes are unique");
        prop_assert_eq!(described(&whole), at_once(&resources, options));
        let undone = updated.undone(translation.config());
        prop_assert_eq!(&undone.servers, &before.config().servers);
        prop_assert_eq!(&undone.backends, &before.config().backends);
        for name in updated.names {
            if translation.uses_name(&name) {
                followed.insert(name);
            } else {
                followed.remove(&name);
            }
        }
        prop_assert_eq!(&followed, &whole.used_names().cloned().collect());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_brought_up_to_date_is_what_a_whole_translation_gives(
        batches in prop::collection::vec(prop::collection::vec(step(), 1..4), 1..24)
    ) {
        play(&batches, &options())?;
    }

    /// Every Ingress with a default backend is one that is not served.
    #[test]
    fn ingresses_that_are_not_served_change_nothing_of_that(
        batches in prop::collection::vec(prop::collection::vec(step(), 1..4), 1..24)
    ) {
        play(&batches, &Options { disable_catch_all: true, ..options() })?;
    }
}

/// So many Ingresses of so many hosts, each with a Service and a pod.
fn many(hosts: usize) -> (Resources, Translation) {
    let mut resources = Resources::default();
    for n in 0..hosts {
        world::application(n)
            .into_iter()
            .for_each(|object| drop(resources.apply(object)));
    }
    let translation = translate(&resources, &options());
    assert_eq!(translation.config().servers.len(), hosts + 1);
    (resources, translation)
}

/// Work of one step among so many others.
fn work(hosts: usize, steps: &[Step]) -> (usize, usize, usize) {
    let (mut resources, mut translation) = many(hosts);
    let mut changes = Changes::default();
    steps
        .iter()
        .for_each(|step| changes.add(step.take(&mut resources)));
    assert!(!changes.is_empty());
    let updated = translation.update(&changes, &Ingresses::new(&resources, &options()));
    assert_eq!(
        described(&translation),
        described(&translate(&resources, &options()))
    );
    (updated.members, updated.servers.len(), updated.resolved)
}

#[test]
fn a_change_costs_what_changed_however_many_others_there_are() {
    let moved = apply(world::ingress(
        "app",
        "app-7",
        &["moved.test"],
        "app-7",
        json!({}),
    ));
    let pods = apply(world::slice("app", "app-7", &["10.9.9.9"]));
    let gone = Step::Delete(Kind::Service, ObjectKey::new("app", "app-7"));
    for hosts in [10, 200] {
        // One host comes and one goes; the Service is looked up again, though it comes to the same.
        assert_eq!(work(hosts, std::slice::from_ref(&moved)), (1, 2, 0));
        assert_eq!(work(hosts, std::slice::from_ref(&pods)), (0, 0, 1));
        assert_eq!(work(hosts, std::slice::from_ref(&gone)), (0, 0, 1));
    }
}

/// As many as name it, and no others.
#[test]
fn another_machine_of_ours_costs_those_who_name_it() {
    for hosts in [10, 200] {
        let (mut resources, _) = many(hosts);
        let ports = world::config_map("tcp", &json!({"8080": "app/missing:80"}));
        [ports, world::slice("app", "app-7", &["10.9.9.9"])]
            .into_iter()
            .for_each(|o| drop(resources.apply(o)));
        let mut translation = translate(&resources, &options());
        for machines in [vec![[10, 9, 9, 9]], vec![]] {
            let mut changes = Changes::default();
            changes.add(resources.know_machines(machines.into_iter().map(IpAddr::from).collect()));
            let updated = translation.update(&changes, &Ingresses::new(&resources, &options()));
            assert_eq!(
                described(&translation),
                described(&translate(&resources, &options()))
            );
            assert_eq!(
                (updated.members, updated.resolved, updated.backends.len()),
                (0, 1, 1)
            );
        }
    }
}

/// It names every host, and more.
fn unserved(hosts: usize, annotations: serde_json::Value) -> Step {
    let names: Vec<String> = (0..hosts.max(1001))
        .map(|n| format!("app-{n}.test"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    apply(world::ingress("evil", "all", &names, "web", annotations))
}

#[test]
fn an_ingress_that_is_not_served_joins_no_hosts_of_others() {
    let hosts = 200;
    let moved = apply(world::ingress(
        "app",
        "app-7",
        &["moved.test"],
        "app-7",
        json!({}),
    ));
    let harmless = json!({"nginx.ingress.kubernetes.io/proxy-read-timeout": "7"});
    for annotations in [json!({}), harmless] {
        let (mut resources, mut translation) = many(hosts);
        let update = |step: &Step, resources: &mut Resources, translation: &mut Translation| {
            let mut changes = Changes::default();
            changes.add(step.take(resources));
            let updated = translation.update(&changes, &Ingresses::new(resources, &options()));
            let whole = translate(resources, &options());
            assert_eq!(described(translation), described(&whole));
            (updated.members, updated.servers.len())
        };
        let evil = unserved(hosts, annotations);
        assert_eq!(update(&evil, &mut resources, &mut translation), (1, 0));
        assert!(translation.reports().iter().any(|report| {
            report.field == "spec.rules" && report.consequence == "Ingress not served"
        }));
        assert_eq!(update(&moved, &mut resources, &mut translation), (1, 2));
        let gone = Step::Delete(Kind::Ingress, ObjectKey::new("evil", "all"));
        assert_eq!(update(&gone, &mut resources, &mut translation), (0, 0));
    }
}

/// Paths that it closes are those of its hosts, so it has to do with them.
#[test]
fn an_ingress_that_is_not_served_and_closes_its_paths_is_translated_with_their_hosts() {
    let (mut resources, mut translation) = many(10);
    let guards = json!({"nginx.ingress.kubernetes.io/whitelist-source-range": "192.0.2.0/24"});
    let mut changes = Changes::default();
    changes.add(unserved(10, guards).take(&mut resources));
    let updated = translation.update(&changes, &Ingresses::new(&resources, &options()));
    assert_eq!(updated.members, 11);
    let whole = translate(&resources, &options());
    assert_eq!(described(&translation), described(&whole));
}

/// Also when an Ingress of another host says so, which is translated by itself.
#[test]
fn a_canary_is_spoken_to_as_its_main_backend_is_on_any_host() {
    let annotation = |name: &str, value: &str| {
        let key = format!("nginx.ingress.kubernetes.io/{name}");
        json!({key: value})
    };
    let ingress = |name: &str, host: &str, service: &str, annotations| {
        apply(world::ingress("app", name, &[host], service, annotations))
    };
    let on_b = |protocol| {
        let spoken = annotation("backend-protocol", protocol);
        ingress("b", "b.test", "app-0", spoken)
    };
    let canary = || ingress("c", "app-0.test", "app-1", annotation("canary", "true"));
    let delete = |name: &str| Step::Delete(Kind::Ingress, ObjectKey::new("app", name));
    let (mut resources, mut translation) = many(2);
    // The Service of the canary has a host of its own, too.
    for (step, backends) in [
        (canary(), 1),
        (on_b("HTTPS"), 2),
        (on_b("AUTO_HTTP"), 2),
        (on_b("GRPC"), 2),
        (delete("app-1"), 2),
        (delete("c"), 0),
        (canary(), 2),
        (delete("b"), 1),
        (on_b("GRPCS"), 2),
        (delete("app-0"), 0),
    ] {
        let mut changes = Changes::default();
        changes.add(step.take(&mut resources));
        translation.update(&changes, &Ingresses::new(&resources, &options()));
        let whole = translate(&resources, &options());
        assert_eq!(described(&translation), described(&whole), "{step:?}");
        let all = translation.config().backends.keys();
        let of_canary = all.filter(|id| id.as_str().starts_with("app/app-1/"));
        assert_eq!(of_canary.count(), backends, "{step:?}");
    }
}
