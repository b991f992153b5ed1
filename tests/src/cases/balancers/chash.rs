//! Area `chash`: where keys fall.

use std::collections::BTreeMap;

use serde::Deserialize;
use sluice_filter_config::{HashKey, LoadBalance};

use super::case::{Cannot, Case, Findings, Play, differs, in_both};
use super::endpoint::{Endpoint, addresses};
use super::original::Backend;
use super::site::{Site, backend};
use super::variables::{Variables, evaluate};
use crate::fake::{Personality, ROUTE};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default)]
    endpoints: Vec<Endpoint>,
    #[serde(default)]
    key: Option<String>,
    /// `k1 .. k10000`
    #[serde(default)]
    keys: Option<String>,
    #[serde(default)]
    backend: Option<Backend>,
    #[serde(default)]
    request: Option<Asked>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    uri: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Then {
    pick: Option<String>,
    hash_key: Option<String>,
    counts: Option<BTreeMap<String, usize>>,
}

pub(super) fn play(case: &Case) -> Play {
    let (given, then): (Given, Then) = (case.given()?, case.then()?);
    match (case.when.as_str(), &given) {
        ("looked up", Given { key: Some(key), .. }) => in_both(|personality| {
            let mut site = hashing(personality, &addresses(&given.endpoints));
            let pick = look_up(&mut site, key);
            Ok(then
                .pick
                .iter()
                .filter_map(|expected| differs("pick", expected, &pick))
                .collect())
        }),
        (
            "looked up",
            Given {
                keys: Some(keys), ..
            },
        ) => {
            let keys = range(keys)?;
            let expected = then
                .counts
                .ok_or_else(|| Cannot("then: expected `counts`".into()))?;
            in_both(|personality| Ok(count(personality, &given, &keys, &expected)))
        }
        (
            "balanced",
            Given {
                backend: Some(backend),
                request: Some(request),
                ..
            },
        ) => in_both(|personality| balanced(personality, backend, request, &then)),
        _ => Err(case.unknown_action()),
    }
}

/// A backend that hashes by the header `x-key`, which can hold any text.
pub(super) fn hashing(personality: Personality, addresses: &[String]) -> Site {
    let (key, _) = HashKey::parse("$http_x_key");
    let mut primary = backend("my-dummy-backend", addresses);
    primary.load_balance = LoadBalance::chash(key);
    Site::new(personality, primary)
}

/// The pick for a key.
pub(super) fn look_up(site: &mut Site, key: &str) -> String {
    site.pick(&[("x-key", key)])
}

fn count(
    personality: Personality,
    given: &Given,
    keys: &[String],
    expected: &BTreeMap<String, usize>,
) -> Findings {
    let mut site = hashing(personality, &addresses(&given.endpoints));
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(look_up(&mut site, key)).or_insert(0) += 1;
    }
    differs("counts", expected, &counts).into_iter().collect()
}

fn balanced(personality: Personality, original: &Backend, request: &Asked, then: &Then) -> Play {
    let mut site = Site::new(personality, original.on_the_wire()?);
    let variables = Variables::of_uri(&request.uri);
    let sent = site.send_request(Some(ROUTE), variables.request(personality));
    site.end(&sent);
    let mut findings = Findings::new();
    findings.extend(
        then.pick
            .as_ref()
            .and_then(|expected| differs("pick", expected, &sent.pick())),
    );
    if let Some(expected) = &then.hash_key {
        findings.extend(differs(
            "hash_key",
            expected,
            &evaluate(&original.hash_key(), &variables),
        ));
    }
    Ok(findings)
}

/// `k1 .. k10000`
fn range(text: &str) -> Result<Vec<String>, Cannot> {
    let cannot = || {
        Cannot(format!(
            "given.keys: expected a range like \"k1 .. k10000\", got {text:?}"
        ))
    };
    let (first, last) = text.split_once(" .. ").ok_or_else(cannot)?;
    let word = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = |end: &str| end.strip_prefix(word)?.parse::<u32>().ok();
    let (from, to) = number(first).zip(number(last)).ok_or_else(cannot)?;
    Ok((from..=to).map(|n| format!("{word}{n}")).collect())
}
