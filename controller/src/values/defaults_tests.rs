//! Defaults of both charts.

use std::collections::BTreeMap;

use serde_json::json;

use super::migration_tests::{at, notes};
use super::table::Rule;
use super::*;

const OUR_DEFAULTS: &str = include_str!("../../deploy/helm/sluice/values.yaml");

#[test]
fn nothing_is_said_about_defaults_of_ingress_nginx() {
    let output = converted(defaults::TEXT).unwrap();
    for title in [
        "Without counterpart",
        "Not understood, and left out",
        "To be looked at",
    ] {
        assert_eq!(notes(&output, title), [""; 0], "{output}");
    }
    let output = converted("controller: {image: {chroot: false, tag: v1.9.0}, enableMimalloc: false, enableAnnotationValidations: false}").unwrap();
    let without = notes(&output, "Without counterpart");
    assert_eq!(without.len(), 3, "{output}");
}

/// Every value that they document, and none that they do not.
#[test]
fn the_embedded_defaults_are_those_of_the_known_values() {
    fn visit(value: &Value, path: &str, keys: &[&str]) {
        match value.as_object().filter(|fields| !fields.is_empty()) {
            Some(fields) => fields.iter().for_each(|(key, value)| {
                let path = format!("{path}.{key}");
                visit(value, path.trim_start_matches('.'), keys);
            }),
            None => {
                let starts = |key: &str, above: &str| key.starts_with(&format!("{above}."));
                let is_known = |key: &&str| path == *key || starts(path, key) || starts(key, path);
                assert!(keys.iter().any(is_known), "{path}");
            }
        }
    }
    let keys: Vec<&str> = include_str!("keys.txt").lines().collect();
    visit(&helm::read(defaults::TEXT).unwrap(), "", &keys);
    assert_eq!(
        defaults::default_of("controller.image.tag").unwrap(),
        "v1.15.1"
    );
}

/// Defaults of both charts that are not the same, by our place.
fn differing() -> BTreeMap<String, (Value, Value)> {
    let here = helm::read(OUR_DEFAULTS).unwrap();
    let mut found = BTreeMap::new();
    for (path, rule) in table::rows() {
        let (Rule::Copy(places) | Rule::LookAt(places, _)) = rule else {
            let Rule::Number(place) = rule else { continue };
            let values = (
                at(&here, place),
                defaults::default_of(path).cloned().unwrap_or_default(),
            );
            found.insert((*place).to_owned(), values);
            continue;
        };
        for place in *places {
            let values = (
                at(&here, place),
                defaults::default_of(path).cloned().unwrap_or_default(),
            );
            found.insert((*place).to_owned(), values);
        }
    }
    found.retain(|_, (ours, theirs)| {
        let is_nothing = |value: &Value| is_empty(value) || *value == 0;
        ours != theirs && !(is_nothing(ours) && is_nothing(theirs)) && !theirs.is_null()
    });
    found
}

#[test]
fn every_default_that_differs_is_set_named_or_harmless() {
    /// Empty is left to Kubernetes there, or to what runs the pods.
    const HARMLESS: &[&str] = &[
        "certgen.resources",
        "dataPlane.autoscaling.behavior",
        "dataPlane.keda.behavior",
        "controller.priorityClassName",
        "dataPlane.priorityClassName",
        "defaultBackend.podSecurityContext",
        "defaultBackend.containerSecurityContext",
        "defaultBackend.livenessProbe",
        "defaultBackend.readinessProbe",
        "defaultBackend.resources",
        // Empty is as the public Service.
        "dataPlane.service.targetPorts.http",
    ];
    for (place, (ours, theirs)) in differing() {
        let is_set = defaults::SET.iter().any(|(set, _)| *set == place);
        let is_kept = defaults::KEPT.iter().any(|(kept, ..)| *kept == place);
        let is_harmless = HARMLESS.contains(&place.as_str());
        assert!(
            is_set || is_kept || is_harmless,
            "{place}: {ours} here, {theirs} there"
        );
    }
    let here = helm::read(OUR_DEFAULTS).unwrap();
    for (place, said) in defaults::SET.iter().copied().chain(
        defaults::KEPT
            .iter()
            .map(|(place, ours, _)| (*place, *ours)),
    ) {
        let own = at(&here, place);
        let is_said = said == text_of(&own) || (said == "the cluster's" && is_empty(&own));
        assert!(is_said, "{place}: {own}, {said}");
    }
}

#[test]
fn a_default_that_changes_traffic_is_theirs_unless_the_file_says_otherwise() {
    let of =
        |theirs: &str| -> Value { serde_saphyr::from_str(&converted(theirs).unwrap()).unwrap() };
    let service = json!({"externalTrafficPolicy": "Cluster", "ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]});
    for theirs in [
        "",
        "controller: {service: {externalTrafficPolicy: ''}}",
        "controller: {replicaCount: 2}",
    ] {
        assert_eq!(of(theirs)["dataPlane"]["service"], service, "{theirs}");
    }
    let policy = "dataPlane.service.externalTrafficPolicy";
    assert_eq!(
        at(
            &of("controller: {service: {externalTrafficPolicy: Local}}"),
            policy
        ),
        "Local"
    );
    assert!(at(&of("controller: {service: {type: ClusterIP}}"), policy).is_null());
    assert!(
        of("controller: {service: {enabled: false}}")["dataPlane"]["service"]["ipFamilies"]
            .is_null()
    );
    let internal = at(
        &of("controller: {service: {internal: {enabled: true}}}"),
        "dataPlane.service.internal",
    );
    assert_eq!(internal["externalTrafficPolicy"], "Cluster");
    let scaled = at(
        &of("controller: {autoscaling: {enabled: true, minReplicas: 3}}"),
        "dataPlane.autoscaling",
    );
    assert_eq!(
        (&scaled["minReplicas"], &scaled["maxReplicas"]),
        (&json!(3), &json!(11))
    );
}

#[test]
fn defaults_of_ours_that_stay_are_said_once() {
    let said = |theirs: &str| converted(theirs).unwrap();
    let both = "dataPlane.replicaCount 2 (not 1), networkPolicy.enabled true (not false).";
    assert_eq!(said("").matches(both).count(), 1, "{}", said(""));
    let output = said("controller: {kind: DaemonSet, networkPolicy: {enabled: false}}");
    assert!(!output.contains("Left to"), "{output}");
}
