//! Area `chashsubset`: groups of endpoints, and where keys fall among them.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use serde::Deserialize;
use sluice_filter_config::{self as wire, HashKey, LoadBalance};
use sluice_filter_core::Endpoints;
use sluice_filter_core::balance::ChashSubset;

use super::canary;
use super::case::{Cannot, Case, Findings, Play, differs, in_both};
use super::endpoint::on_the_wire;
use super::original::Backend;
use super::site::{Site, backend};
use crate::fake::Personality;

/// How the cases name endpoints that they only count.
const IN_ORDER: &str = "10.184.7.1:8080 .. 10.184.7.N:8080 in order";
/// Enough that no member of a group is missed by chance.
const DRAWS: usize = 600;
const ANY_MEMBER: &str = "uniformly random member of that subset";
const SAME_SUBSET: &str = "all picks come from the subset that contains the first pick";
const KEEPS_CANARIES: &str =
    "traffic shaping policy and alternative backends are kept on the balancer";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default)]
    endpoint_count: usize,
    endpoints: Option<String>,
    subset_size: Option<NonZeroU16>,
    key: Option<String>,
    request: Option<Asked>,
    backend: Option<Backend>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    uri: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Then {
    subsets: Option<BTreeMap<String, Vec<String>>>,
    subset: Option<String>,
    pick: Option<String>,
    property: Option<String>,
}

/// Of `balanced 3 times with the same key`.
fn times(when: &str) -> Option<usize> {
    let rest = when.strip_prefix("balanced ")?;
    rest.strip_suffix(" times with the same key")?.parse().ok()
}

pub(super) fn play(case: &Case) -> Play {
    let (given, then): (Given, Then) = (case.given()?, case.then()?);
    if let Some(other) = given.endpoints.as_deref().filter(|text| *text != IN_ORDER) {
        return Err(Cannot(format!(
            "given.endpoints: expected {IN_ORDER:?}, got {other:?}"
        )));
    }
    let size = given
        .subset_size
        .or(NonZeroU16::new(3))
        .unwrap_or(NonZeroU16::MIN);
    let groups = Groups::new(given.endpoint_count, size);
    let property = then.property.as_deref();
    match (case.when.as_str(), &given, property) {
        ("subsets are built", _, None) => {
            let expected = then
                .subsets
                .ok_or_else(|| Cannot("then: expected `subsets`".into()))?;
            Ok(differs("subsets", &expected, &groups.named()?)
                .into_iter()
                .collect())
        }
        ("looked up", Given { key: Some(key), .. }, None) => {
            let subset = then
                .subset
                .ok_or_else(|| Cannot("then: expected `subset`".into()))?;
            if let Some(pick) = then.pick.filter(|pick| pick != ANY_MEMBER) {
                return Err(Cannot(format!(
                    "then.pick: expected {ANY_MEMBER:?}, got {pick:?}"
                )));
            }
            in_both(|personality| look_up(personality, &groups, key, &subset))
        }
        (
            when,
            Given {
                request: Some(request),
                ..
            },
            Some(SAME_SUBSET),
        ) => {
            let times = times(when).ok_or_else(|| case.unknown_action())?;
            in_both(|personality| same_subset(personality, &groups, &request.uri, times))
        }
        (
            "created",
            Given {
                backend: Some(backend),
                ..
            },
            Some(KEEPS_CANARIES),
        ) => in_both(|personality| keeps_canaries(personality, backend, &groups)),
        (_, _, Some(other)) if ![SAME_SUBSET, KEEPS_CANARIES].contains(&other) => {
            Err(Cannot(format!("then.property: unknown sentence {other:?}")))
        }
        _ => Err(case.unknown_action()),
    }
}

/// Endpoints, and the size of their groups.
struct Groups {
    addresses: Vec<String>,
    size: NonZeroU16,
}

impl Groups {
    fn new(count: usize, size: NonZeroU16) -> Groups {
        Groups {
            addresses: (1..=count).map(|n| format!("10.184.7.{n}:8080")).collect(),
            size,
        }
    }

    /// `set1` and so on, with their members.
    fn named(&self) -> Result<BTreeMap<String, Vec<String>>, Cannot> {
        let endpoints = Endpoints::compile(&on_the_wire(&self.addresses), None)
            .map_err(|error| Cannot(format!("given: {error:?}")))?;
        let subset = ChashSubset::from_endpoints(&endpoints, self.size.get().into());
        let members = |group: &[usize]| {
            group
                .iter()
                .filter_map(|idx| endpoints.address(*idx))
                .map(str::to_owned)
                .collect()
        };
        Ok((1..)
            .map(|n| format!("set{n}"))
            .zip(subset.groups().map(members))
            .collect())
    }

    fn site(&self, personality: Personality) -> Site {
        Site::new(personality, self.backend())
    }

    fn backend(&self) -> wire::Backend {
        let (key, _) = HashKey::parse("$http_x_key");
        let load_balance = LoadBalance::chash_subset(key, self.size);
        wire::Backend {
            load_balance,
            ..backend("my-dummy-backend", &self.addresses)
        }
    }
}

fn look_up(personality: Personality, groups: &Groups, key: &str, subset: &str) -> Play {
    let named = groups.named()?;
    let members = named
        .get(subset)
        .ok_or_else(|| Cannot(format!("then.subset: there is no {subset}")))?;
    let mut site = groups.site(personality);
    let mut hits: BTreeMap<String, usize> =
        members.iter().map(|member| (member.clone(), 0)).collect();
    for _ in 0..DRAWS {
        *hits.entry(site.pick(&[("x-key", key)])).or_insert(0) += 1;
    }
    // Five standard deviations of a binomial distribution, around an equal share for each place in the group.
    let share = 1.0 / members.len() as f64;
    let is_fair = |(member, count): (&String, &usize)| {
        let places = members.iter().filter(|known| *known == member).count();
        let expected = DRAWS as f64 * share * places as f64;
        (*count as f64 - expected).abs() <= 5.0 * expected.sqrt()
    };
    let fair = hits.iter().all(is_fair);
    Ok((!fair)
        .then(|| format!("expected an equal part for each of {subset} {members:?}, got {hits:?}"))
        .into_iter()
        .collect())
}

fn same_subset(personality: Personality, groups: &Groups, key: &str, times: usize) -> Play {
    let mut site = groups.site(personality);
    let picks: Vec<String> = (0..times).map(|_| site.pick(&[("x-key", key)])).collect();
    let named = groups.named()?;
    let first = picks
        .first()
        .ok_or_else(|| Cannot("when: no pick".into()))?;
    let home =
        |set: &&Vec<String>| set.contains(first) && picks.iter().all(|pick| set.contains(pick));
    let all = named.values().any(|set| home(&set));
    Ok((!all)
        .then(|| format!("expected picks of one of {named:?}, got {picks:?}"))
        .into_iter()
        .collect())
}

/// The policy decides as it would with any other algorithm.
fn keeps_canaries(personality: Personality, original: &Backend, groups: &Groups) -> Play {
    let policy = original
        .policy
        .clone()
        .ok_or_else(|| Cannot("given.backend: expected a trafficShapingPolicy".into()))?;
    let names = original.alternatives.clone().unwrap_or_default();
    let name = names
        .first()
        .ok_or_else(|| Cannot("given.backend: expected alternativeBackends".into()))?;
    let primary = wire::Backend {
        endpoints: on_the_wire(&["10.184.7.1:8080".to_owned()]),
        ..groups.backend()
    };
    let mut findings = Findings::new();
    for policy in [policy.with_weight(100), policy] {
        let mut site = canary::site(personality, primary.clone(), name, &policy);
        let share = f64::from(policy.weight) / 100.0;
        findings.extend(canary::share_of(&mut site, &[], 200, share, None));
    }
    Ok(findings)
}
