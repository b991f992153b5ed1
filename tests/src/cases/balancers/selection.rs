//! Area `algorithm-selection`: which algorithm a backend gets. As users say it, by annotations: an Ingress goes through the
//! controller's translation, and the filter's configuration is looked at.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use serde::Deserialize;
use sluice_filter_config::{AffinityMode, Backend};
use sluice_plugin::Log;
use sluice_translate::{Object, Options, Resources, Severity, translate};

use super::case::{Cannot, Case, Findings, Play, differs};
use super::log::Line;
use super::original;
use crate::manifests::{Ingress, endpoint_slice, service};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default)]
    backend: original::Backend,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Then {
    algorithm: String,
    log: Option<Line>,
}

pub(super) fn play(case: &Case) -> Play {
    let (given, then): (Given, Then) = (case.given()?, case.then()?);
    if ![
        "selected",
        "the balancing algorithm for the backend is selected",
    ]
    .contains(&case.when.as_str())
    {
        return Err(case.unknown_action());
    }
    if given.backend.hash_by.expression.as_deref() == Some("") {
        return Err(Cannot(
            "an empty annotation is none, in the original's controller too: no backend has an empty expression".into(),
        ));
    }
    let annotations = annotations(&given.backend);
    let (backend, reports) =
        translated(&annotations).map_err(|error| Cannot(format!("given.backend: {error:#}")))?;
    let mut findings: Findings = differs("algorithm", then.algorithm.as_str(), name(&backend))
        .into_iter()
        .collect();
    if let Some(line) = &then.log {
        findings.extend(line.missing(&reports, &case.given)?);
    }
    Ok(findings)
}

fn annotations(backend: &original::Backend) -> Vec<(&'static str, String)> {
    let filled = |text: &String| !text.is_empty();
    let hash_by = &backend.hash_by;
    let flag = |is_on: bool| is_on.then(|| "true".to_owned());
    let all = [
        ("load-balance", backend.load_balance.clone()),
        (
            "affinity",
            Some(backend.affinity.name.clone()).filter(filled),
        ),
        (
            "affinity-mode",
            Some(backend.affinity.mode.clone()).filter(filled),
        ),
        ("upstream-hash-by", hash_by.expression.clone()),
        ("upstream-hash-by-subset", flag(hash_by.subset)),
        (
            "upstream-hash-by-subset-size",
            hash_by.size.map(|size| size.to_string()),
        ),
    ];
    all.into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// The backend of a Service that an Ingress with these annotations leads to, and what is reported, as `Level text`.
fn translated(annotations: &[(&str, String)]) -> Result<(Backend, Vec<String>)> {
    let pod: SocketAddr = "10.0.0.1:8080".parse()?;
    let ingress = Ingress::new("default", "web")
        .host("web.test")
        .path("/", "web", 80);
    let ingress = annotations.iter().fold(ingress, |ingress, (name, value)| {
        ingress.annotation(name, value)
    });
    let objects = [
        ingress.to_json(),
        service("default", "web", 80, &[pod]),
        endpoint_slice("default", "web", &[pod]),
    ];
    let mut resources = Resources::default();
    for object in objects {
        resources.apply(Object::from_value(object).context("an object")?);
    }
    let translation = translate(
        &resources,
        &Options {
            class_is_implied: true,
            ..Options::default()
        },
    );
    let level = |severity| match severity {
        Severity::Note => "Info",
        Severity::Warning => "Warn",
        Severity::Error => "Error",
    };
    let reports = translation
        .reports()
        .into_iter()
        .map(|report| format!("{} {report}", level(report.severity)));
    let mut log = Log::default();
    log.replace(translation.config());
    let backend = log
        .snapshot()
        .backends
        .into_values()
        .next()
        .context("expected a backend")?;
    Ok((backend, reports.collect()))
}

/// The original's name of what decides.
fn name(backend: &Backend) -> &str {
    match (
        backend.affinity.as_ref().map(|affinity| affinity.mode),
        backend.load_balance.algorithm.as_str(),
    ) {
        (Some(AffinityMode::Persistent), _) => "sticky_persistent",
        (Some(AffinityMode::Balanced), _) => "sticky_balanced",
        (None, "chash_subset") => "chashsubset",
        (None, algorithm @ ("round_robin" | "chash" | "ewma")) => algorithm,
        (None, _) => "one that the original does not have",
    }
}
