//! Areas that are pure functions of the filter's core: `nodemap` keys, `upstream-var`.

use serde::Deserialize;
use serde_json::Value;
use sluice_filter_config::{Affinity, AffinityMode, Cookie, Route};
use sluice_filter_core::affinity::endpoint_key;
use sluice_filter_core::attempts;

use super::case::{Cannot, Case, Findings, Play, differs, in_both, some};
use super::cookie::Parsed;
use super::endpoint::{Endpoint, addresses};
use super::site::{PRIMARY, Site, backend};
use crate::fake::Personality;

/// `$upstream_addr` and the like.
pub(super) fn upstream_var(case: &Case) -> Play {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Given {
        raw: Option<String>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Then {
        list: Option<Vec<String>>,
        first: Option<String>,
        last: Option<String>,
    }
    let (given, then): (Given, Then) = (case.given()?, case.then()?);
    if case.when != "split" {
        return Err(case.unknown_action());
    }
    let raw = given.raw.unwrap_or_default();
    let list: Vec<String> = attempts(&raw).map(str::to_owned).collect();
    let mut findings = Findings::new();
    findings.extend(
        then.list
            .as_ref()
            .and_then(|expected| differs("list", expected, &list)),
    );
    let ends = [
        ("first", &then.first, list.first()),
        ("last", &then.last, list.last()),
    ];
    let ends = ends
        .into_iter()
        .filter_map(|(what, expected, got)| Some((what, expected.as_ref()?, got)));
    findings.extend(ends.filter_map(|(what, expected, got)| differs(what, &Some(expected), &got)));
    Ok(findings)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nodes {
    salt: Option<String>,
    endpoint: Option<Endpoint>,
    #[serde(default)]
    nodes: Vec<Endpoint>,
    #[serde(default)]
    except: Vec<Endpoint>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Node {
    #[serde(default, deserialize_with = "some")]
    key: Option<Value>,
    #[serde(default, deserialize_with = "some")]
    endpoint: Option<Value>,
}

/// The endpoints of persistent sessions, and their keys.
pub(super) fn nodemap(case: &Case) -> Play {
    let (given, then): (Nodes, Node) = (case.given()?, case.then()?);
    match (case.when.as_str(), &given.salt, &given.endpoint, then.key) {
        ("key derived", Some(salt), Some(endpoint), Some(Value::String(expected))) => {
            let key = endpoint_key(salt, &endpoint.address());
            let key = String::from_utf8_lossy(&key).into_owned();
            Ok(differs("key", &expected, &key).into_iter().collect())
        }
        ("random pick except", _, _, key) => {
            let expected = then
                .endpoint
                .ok_or_else(|| Cannot("then: expected `endpoint`".into()))?;
            in_both(|personality| pick_except(personality, &given, &expected, key.as_ref()))
        }
        _ => Err(case.unknown_action()),
    }
}

/// A new session whose earlier attempts were on these nodes.
fn pick_except(
    personality: Personality,
    given: &Nodes,
    expected: &Value,
    key: Option<&Value>,
) -> Play {
    let (nodes, except) = (addresses(&given.nodes), addresses(&given.except));
    let mut site = Site::with(
        personality,
        Route {
            session_path: Some("/".into()),
            ..Route::to(PRIMARY)
        },
        [(PRIMARY.to_owned(), persistent(&nodes))].into(),
    );
    let sent = site.send(&[]);
    let next = sent
        .candidates
        .iter()
        .find(|candidate| !except.contains(candidate))
        .cloned();
    let mut findings = Findings::new();
    let got = next.clone().map_or(Value::Null, Value::String);
    findings.extend(differs("endpoint", expected, &got));
    let issued = next.and_then(|next| Parsed::of(&site.respond(&sent, &next)));
    match (key, &issued) {
        (None, _) | (Some(Value::Null), None) => {}
        (Some(Value::String(text)), Some(_)) if text == "not null" => {}
        (Some(expected), issued) => {
            findings.push(format!("key: expected {expected}, got {issued:?}"));
        }
    }
    site.end(&sent);
    Ok(findings)
}

fn persistent(nodes: &[String]) -> sluice_filter_config::Backend {
    let cookie = Cookie {
        name: "route".into(),
        ..Cookie::default()
    };
    let affinity = Affinity {
        mode: AffinityMode::Persistent,
        cookie,
        change_on_failure: true,
    };
    sluice_filter_config::Backend {
        affinity: Some(affinity),
        ..backend("ns-primary-80", nodes)
    }
}
