//! Area `endpoint-diff`: what is gone and what is new after a change.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::case::{Case, Findings, Play, differs, in_both};
use super::endpoint::{Endpoint, addresses};
use super::site::{Site, backend};
use crate::fake::Personality;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default)]
    old: Vec<Endpoint>,
    #[serde(default)]
    new: Vec<Endpoint>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Then {
    added: Option<BTreeSet<String>>,
    removed: Option<BTreeSet<String>>,
}

pub(super) fn play(case: &Case) -> Play {
    let (given, then): (Given, Then) = (case.given()?, case.then()?);
    if case.when != "diffed" {
        return Err(case.unknown_action());
    }
    in_both(|personality| Ok(observe(personality, &given, &then)))
}

/// Compares the endpoints of requests before and after.
fn observe(personality: Personality, given: &Given, then: &Then) -> Findings {
    let (old, new) = (addresses(&given.old), addresses(&given.new));
    let mut site = Site::new(personality, backend("ns-primary-80", &old));
    let before = reached(&mut site, old.len());
    site.scale(&new);
    let after = reached(&mut site, new.len());
    let added = after.difference(&before).cloned().collect();
    let removed = before.difference(&after).cloned().collect();
    let compare = |what, expected: &Option<BTreeSet<String>>, got: &BTreeSet<String>| {
        expected
            .as_ref()
            .and_then(|expected| differs(what, expected, got))
    };
    [
        compare("added", &then.added, &added),
        compare("removed", &then.removed, &removed),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn reached(site: &mut Site, endpoints: usize) -> BTreeSet<String> {
    site.picks(endpoints)
        .into_iter()
        .filter(|pick| !pick.is_empty())
        .collect()
}
