//! Area `sync`: what becomes of the balancers when the controller sends something new.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use sluice_filter_config::{self as wire, LoadBalance, Route};

use super::case::{Cannot, Case, Findings, Play, differs, in_both, read, some};
use super::log::Line;
use super::original::Backend;
use super::site::{PRIMARY, Site, backend, request};
use crate::fake::{Filter, Outcome, Personality};

const NEW_EWMA: &str =
    "a new ewma instance is created exactly once; no round_robin instance is created";
const IN_PLACE: &str = "existing instance is updated in place, not recreated";
const AT_ONCE: &str = "available without waiting for a timer";
const SAME_TWICE: &str = "same backend twice";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    backend: Option<Backend>,
    dns: Option<Value>,
    #[serde(default)]
    sequence: Vec<Value>,
    shared_store: Option<Store>,
    previous: Option<Vec<String>>,
    payload: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Then {
    endpoints: Option<BTreeSet<String>>,
    /// `null`: there is none.
    #[serde(default, deserialize_with = "some")]
    balancer: Option<Value>,
    balancers: Option<Vec<String>>,
    request: Option<String>,
    log: Option<Line>,
    balancer_for: Option<String>,
    is: Option<String>,
}

pub(super) fn play(case: &Case) -> Play {
    let given: Given = case.given()?;
    if let Some(backend) = &given.backend {
        check_names(backend, given.dns.as_ref())?;
    }
    let then: Then = case.then()?;
    in_both(|personality| match (case.when.as_str(), &given) {
        (
            "synced" | "synced (twice)",
            Given {
                backend: Some(backend),
                ..
            },
        ) => {
            let times = if case.when.ends_with("(twice)") { 2 } else { 1 };
            synced(personality, backend, &then, times)
        }
        (
            "synced",
            Given {
                previous: Some(names),
                payload: Some(payload),
                ..
            },
        ) => unreadable(personality, names, payload, &then, &case.given),
        ("synced", Given { sequence, .. }) if matches!(sequence.as_slice(), [Value::String(text)] if text == SAME_TWICE) => {
            unchanged(personality, &then)
        }
        ("synced in order", Given { sequence, .. }) if !sequence.is_empty() => {
            switched(personality, sequence, &then, &case.given)
        }
        ("full lists synced in order", Given { sequence, .. }) => {
            lists(personality, sequence, &then)
        }
        (
            "a worker starts",
            Given {
                shared_store: Some(store),
                ..
            },
        ) => starts(personality, store, &then),
        _ => Err(case.unknown_action()),
    })
}

/// Names are resolved by the data plane; what the filter is told of are addresses.
fn check_names(backend: &Backend, dns: Option<&Value>) -> Result<(), Cannot> {
    let is_external = backend
        .service
        .as_ref()
        .is_some_and(|service| service["spec"]["type"] == "ExternalName");
    let has_name = backend
        .endpoints
        .as_ref()
        .is_some_and(|endpoints| !endpoints.is_empty());
    if dns.is_some() || (is_external && has_name) {
        return Err(Cannot(
            "ExternalName: the data plane resolves the name, and the filter never sees it".into(),
        ));
    }
    Ok(())
}

fn synced(personality: Personality, original: &Backend, then: &Then, times: usize) -> Play {
    let primary = original.on_the_wire()?;
    let count = primary.endpoints.len();
    let mut site = Site::new(personality, primary);
    for _ in 1..times {
        site.publish();
    }
    let mut findings = Findings::new();
    if let Some(expected) = &then.endpoints {
        let reached: BTreeSet<String> = site.picks(count).into_iter().collect();
        findings.extend(differs("endpoints", expected, &reached));
    }
    let none = match (&then.balancer, then.request.as_deref()) {
        (None, None) => return Ok(findings),
        (None | Some(Value::Null), None | Some("503")) => true,
        (Some(other), _) => return Err(Cannot(format!("then.balancer: unknown sentence {other}"))),
        (_, Some(other)) => {
            return Err(Cannot(format!(
                "then.request: expected \"503\", got {other:?}"
            )));
        }
    };
    let sent = site.send(&[]);
    site.end(&sent);
    findings.extend(
        (none && sent.replied != Some(503))
            .then(|| format!("expected 503, got {:?}", sent.candidates)),
    );
    Ok(findings)
}

/// Backends that differ in their algorithm, one after the other.
fn switched(personality: Personality, sequence: &[Value], then: &Then, given: &Value) -> Play {
    if !matches!(&then.balancer, None | Some(Value::String(_)))
        || then.balancer.as_ref().is_some_and(|text| text != NEW_EWMA)
    {
        return Err(Cannot(format!(
            "then.balancer: unknown sentence {:?}",
            then.balancer
        )));
    }
    let backends: Vec<Backend> = sequence
        .iter()
        .map(|backend| read("given.sequence", backend))
        .collect::<Result<_, _>>()?;
    let mut wires = backends.iter().map(Backend::on_the_wire);
    let first = wires
        .next()
        .ok_or_else(|| Cannot("given.sequence: empty".into()))??;
    let mut site = Site::new(personality, backend(&first.name, &two()));
    site.backends.insert(
        PRIMARY.into(),
        wire::Backend {
            endpoints: site.backends[PRIMARY].endpoints.clone(),
            ..first
        },
    );
    site.publish();
    let before = site.filter.host().log.len();
    let mut last = LoadBalance::round_robin();
    for wire in wires {
        let wire = wire?;
        last = wire.load_balance.clone();
        let endpoints = site.backends[PRIMARY].endpoints.clone();
        site.backends
            .insert(PRIMARY.into(), wire::Backend { endpoints, ..wire });
        site.publish();
    }
    let mut findings = Findings::new();
    if let Some(line) = &then.log {
        findings.extend(line.missing(&site.filter.host().log[before..], given)?);
    }
    if then.balancer.is_some() && last == LoadBalance::named("ewma") {
        findings.extend(avoids_the_slow(&mut site));
    }
    Ok(findings)
}

fn two() -> Vec<String> {
    vec!["10.184.7.40:8080".to_owned(), "10.184.7.41:8080".to_owned()]
}

/// Recognises an algorithm that measures and keeps its state across updates.
fn avoids_the_slow(site: &mut Site) -> Option<String> {
    let [slow, quick] = [two().remove(0), two().remove(1)];
    for (endpoint, millis) in [(&slow, 800), (&quick, 10)] {
        let sent = site.send(&[]);
        let took = std::time::Duration::from_millis(millis);
        site.filter.answer_client(sent.id, &[(endpoint, 200)], took);
        site.end(&sent);
    }
    site.publish();
    let picks = site.picks(10);
    (picks.iter().any(|pick| *pick != quick))
        .then(|| format!("expected picks of {quick} only, got {picks:?}"))
}

/// The same again: the rotation goes on.
fn unchanged(personality: Personality, then: &Then) -> Play {
    if then.balancer.as_ref().is_none_or(|text| text != IN_PLACE) {
        return Err(Cannot(format!("then.balancer: expected {IN_PLACE:?}")));
    }
    let addresses: Vec<String> = (1..=7).map(|n| format!("10.0.0.{n}:80")).collect();
    let mut site = Site::new(personality, backend("ns-primary-80", &addresses));
    let mut picks = site.picks(1);
    for _ in 1..addresses.len() {
        site.publish();
        picks.extend(site.picks(1));
    }
    let all: BTreeSet<&String> = picks.iter().collect();
    Ok((all.len() != addresses.len())
        .then(|| format!("expected each endpoint once, got {picks:?}"))
        .into_iter()
        .collect())
}

/// Whole lists of backends by name, each with a route.
fn lists(personality: Personality, sequence: &[Value], then: &Then) -> Play {
    let lists: Vec<Vec<String>> = sequence
        .iter()
        .map(|list| read("given.sequence", list))
        .collect::<Result<_, _>>()?;
    let expected = then
        .balancers
        .clone()
        .ok_or_else(|| Cannot("then: expected `balancers`".into()))?;
    let mut site = Site::with(personality, Route::to(PRIMARY), BTreeMap::new());
    for names in &lists {
        publish_names(&mut site, names);
    }
    let known: BTreeSet<String> = lists.concat().into_iter().collect();
    Ok(differs("balancers", &expected, &serving(&mut site, &known))
        .into_iter()
        .collect())
}

fn publish_names(site: &mut Site, names: &[String]) {
    let one = ["10.0.0.1:80".to_owned()];
    site.backends = names
        .iter()
        .map(|name| (name.clone(), backend(name, &one)))
        .collect();
    site.publish_all(
        names
            .iter()
            .map(|name| (name.clone(), Route::to(name.as_str())))
            .collect(),
    );
}

/// Those whose route is served.
fn serving(site: &mut Site, names: &BTreeSet<String>) -> Vec<String> {
    let serves = |name: &&String| {
        let sent = site.send_request(Some(name), request(&[]));
        site.end(&sent);
        !sent.candidates.is_empty()
    };
    names.iter().filter(serves).cloned().collect()
}

fn unreadable(
    personality: Personality,
    names: &[String],
    payload: &str,
    then: &Then,
    given: &Value,
) -> Play {
    let expected = then
        .balancers
        .clone()
        .ok_or_else(|| Cannot("then: expected `balancers`".into()))?;
    let mut site = Site::with(personality, Route::to(PRIMARY), BTreeMap::new());
    publish_names(&mut site, names);
    let before = site.filter.host().log.len();
    site.filter.answer(200, payload.as_bytes());
    let known = names.iter().cloned().collect();
    let mut findings: Findings = differs("balancers", &expected, &serving(&mut site, &known))
        .into_iter()
        .collect();
    if let Some(line) = &then.log {
        findings.extend(line.missing(&site.filter.host().log[before..], given)?);
    }
    Ok(findings)
}

/// The tables come with the bootstrap configuration; no tick and no answer before the request.
fn starts(personality: Personality, store: &Store, then: &Then) -> Play {
    if then.is.as_deref() != Some(AT_ONCE) {
        return Err(Cannot(format!(
            "then.is: expected {AT_ONCE:?}, got {:?}",
            then.is
        )));
    }
    let expected = then
        .balancer_for
        .as_deref()
        .ok_or_else(|| Cannot("then: expected `balancer_for`".into()))?;
    let (name, count) = store.backend()?;
    let addresses: Vec<String> = (1..=count).map(|n| format!("10.0.0.{n}:80")).collect();
    let tables = wire::Tables::Snapshot(wire::Snapshot {
        version: wire::Version::new(1, 1),
        routes: [(name.clone(), Route::to(name.as_str()))].into(),
        backends: [(name.clone(), backend(&name, &addresses))].into(),
        hosts: [].into(),
    });
    let mut filter = Filter::with(personality, tables);
    let (_, outcome) = filter.request(Some(expected));
    let served = matches!(outcome, Outcome::Forwarded(_));
    Ok((!served)
        .then(|| format!("expected {expected} to be served, got {outcome:?}"))
        .into_iter()
        .collect())
}

/// `[NAME with N endpoints]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Store {
    backends: String,
}

impl Store {
    fn backend(&self) -> Result<(String, u8), Cannot> {
        let text = self
            .backends
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(" endpoints]"));
        let parts = text.and_then(|text| text.split_once(" with "));
        let parts = parts.and_then(|(name, count)| Some((name.to_owned(), count.parse().ok()?)));
        parts.ok_or_else(|| {
            Cannot(format!(
                "given.shared_store.backends: unknown sentence {:?}",
                self.backends
            ))
        })
    }
}
