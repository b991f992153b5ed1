//! Area `hash-by-template`: what a request is hashed by.

use serde::Deserialize;
use sluice_filter_config::{HashKey, LoadBalance};
use sluice_filter_core::balance::ring::Ring;

use super::case::{Case, Findings, Play, differs, in_both};
use super::site::{Site, backend};
use super::variables::{Variables, evaluate};
use crate::fake::{Personality, ROUTE};

/// So many that two keys hardly fall on one of them.
const ENDPOINTS: usize = 250;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default)]
    vars: Variables,
    template: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Then {
    value: String,
}

pub(super) fn play(case: &Case) -> Play {
    let (given, then): (Given, Then) = (case.given()?, case.then()?);
    if case.when != "evaluated" {
        return Err(case.unknown_action());
    }
    if let Some(cannot) = given.vars.beyond_reach(&given.template) {
        return Err(cannot);
    }
    let (key, _) = HashKey::parse(&given.template);
    let mut findings: Findings = differs("value", &then.value, &evaluate(&key, &given.vars))
        .into_iter()
        .collect();
    findings.extend(in_both(|personality| {
        Ok(leads(personality, &given, &key, &then.value))
    })?);
    Ok(findings)
}

/// The filter sends the request where the expected value leads.
fn leads(personality: Personality, given: &Given, key: &HashKey, value: &str) -> Findings {
    let addresses: Vec<String> = (1..=ENDPOINTS).map(|n| format!("10.0.0.{n}:80")).collect();
    let ring = Ring::new(addresses.iter().map(|address| (address.as_str(), 1)));
    let expected = ring
        .node(value.as_bytes())
        .and_then(|node| addresses.get(node))
        .cloned();
    let mut primary = backend("ns-primary-80", &addresses);
    primary.load_balance = LoadBalance::chash(key.clone());
    let mut site = Site::new(personality, primary);
    let sent = site.send_request(Some(ROUTE), given.vars.request(personality));
    site.end(&sent);
    differs("the pick for the value", &expected, &Some(sent.pick()))
        .into_iter()
        .collect()
}
