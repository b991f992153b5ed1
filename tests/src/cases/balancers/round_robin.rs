//! Area `round_robin`: the order of picks.

use std::collections::BTreeSet;

use regex::Regex;
use serde::Deserialize;

use super::case::{Cannot, Case, Findings, Play, in_both};
use super::endpoint::{Endpoint, addresses};
use super::site::{Site, backend};
use crate::fake::{FakeHost, Personality, ROUTE};

/// Workers that begin with different random numbers.
const WORKERS: u8 = 24;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    endpoints: Vec<Endpoint>,
    #[serde(default)]
    weights: Option<String>,
    #[serde(default)]
    picked: Vec<Endpoint>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Then {
    property: String,
    #[serde(default)]
    example_sequences: Vec<Vec<Endpoint>>,
}

/// An expected property of a sequence of picks.
enum Property {
    /// So many in a row are all different and all there are.
    Windows(usize),
    Repeats,
    StartsAnywhere,
    /// Every endpoint has as many turns as the others.
    Alternates,
    GoesOn,
}

pub(super) fn play(case: &Case) -> Play {
    let (given, then): (Given, Then) = (case.given()?, case.then()?);
    if let Some(weights) = given
        .weights
        .as_deref()
        .filter(|weights| *weights != "all 1")
    {
        return Err(Cannot(format!(
            "given.weights: expected \"all 1\", got {weights:?}"
        )));
    }
    let properties = then.properties()?;
    let action = Action::parse(case)?;
    let endpoints = addresses(&given.endpoints);
    let mut findings = Findings::new();
    for example in &then.example_sequences {
        let shown = addresses(example);
        findings.extend(
            properties
                .iter()
                .filter_map(|p| p.broken_by(&shown, &endpoints))
                .map(|finding| {
                    format!("the example {shown:?} does not have the property: {finding}")
                }),
        );
    }
    findings.extend(in_both(|personality| {
        observe(personality, &given, &action, &properties)
    })?);
    Ok(findings)
}

/// A step before the picks that count.
struct Action {
    picks: usize,
    /// The same endpoints are sent again in another order.
    synced: bool,
}

impl Action {
    fn parse(case: &Case) -> Result<Action, Cannot> {
        let picks = pattern(r"(?:^|then )(\d+) picks?(?: by one worker)?$");
        let found = picks
            .captures(&case.when)
            .ok_or_else(|| case.unknown_action())?;
        let before = case
            .when
            .strip_suffix(&found[0])
            .unwrap_or_default()
            .trim_end_matches([',', ' ']);
        let synced = match before {
            "" => false,
            "synced with the same set in another order" | "synced with the same set" => true,
            _ => return Err(case.unknown_action()),
        };
        Ok(Action {
            picks: found[1].parse().map_err(|_| case.unknown_action())?,
            synced,
        })
    }
}

impl Then {
    fn properties(&self) -> Result<Vec<Property>, Cannot> {
        let windows =
            pattern(r"^each window of (\d+) consecutive picks contains each endpoint once$");
        let property = |sentence: &str| {
            let window = windows
                .captures(sentence)
                .and_then(|found| found[1].parse().ok());
            Ok(match sentence {
                _ if window.is_some() => Property::Windows(window.unwrap_or_default()),
                "the order repeats" => Property::Repeats,
                "the starting endpoint is random" => Property::StartsAnywhere,
                "duplicates collapse to one node: the two endpoints alternate" => {
                    Property::Alternates
                }
                _ if sentence.starts_with("the rotation continues") => Property::GoesOn,
                _ => {
                    return Err(Cannot(format!(
                        "then.property: unknown sentence {sentence:?}"
                    )));
                }
            })
        };
        self.property.split("; ").map(property).collect()
    }
}

impl Property {
    fn broken_by(&self, picks: &[String], endpoints: &[String]) -> Option<String> {
        let all: BTreeSet<&String> = endpoints.iter().collect();
        let each_once = |window: &[String]| {
            let set: BTreeSet<&String> = window.iter().collect();
            set.len() == window.len() && set.is_subset(&all)
        };
        let holds = match self {
            Property::Windows(length) => {
                *length == all.len()
                    && picks.len() >= *length
                    && picks.windows(*length).all(each_once)
            }
            Property::Repeats => picks
                .iter()
                .zip(picks.iter().skip(all.len()))
                .all(|(a, b)| a == b),
            Property::Alternates => {
                picks.len() >= all.len() && picks.windows(all.len()).all(each_once)
            }
            Property::StartsAnywhere | Property::GoesOn => true,
        };
        (!holds).then(|| format!("got {picks:?}"))
    }
}

fn observe(
    personality: Personality,
    given: &Given,
    action: &Action,
    properties: &[Property],
) -> Play {
    let endpoints = addresses(&given.endpoints);
    let mut findings = Findings::new();
    let mut starts = BTreeSet::new();
    for seed in 0..WORKERS {
        let host = FakeHost {
            random: seed.wrapping_mul(37),
            ..FakeHost::new(personality)
        };
        let route = sluice_filter_config::Route::to(super::site::PRIMARY);
        let backends = [(
            super::site::PRIMARY.to_owned(),
            backend("ns-primary-80", &endpoints),
        )]
        .into();
        let mut site = Site::on(host, route, backends);
        let before = run_up(&mut site, &addresses(&given.picked));
        if action.synced {
            let reversed: Vec<String> = endpoints.iter().rev().cloned().collect();
            site.scale(&reversed);
        }
        let picks = site.picks(action.picks);
        starts.extend(picks.first().cloned());
        findings.extend(
            properties
                .iter()
                .filter_map(|property| property.broken_by(&picks, &endpoints)),
        );
        if properties
            .iter()
            .any(|property| matches!(property, Property::GoesOn))
        {
            let whole: Vec<String> = before.iter().chain(&picks).cloned().collect();
            findings.extend(Property::Windows(endpoints.len()).broken_by(&whole, &endpoints));
        }
    }
    let is_random = properties
        .iter()
        .any(|property| matches!(property, Property::StartsAnywhere));
    if is_random && starts.len() != endpoints.len() {
        findings.push(format!(
            "{WORKERS} workers at {ROUTE} begin only with {starts:?}"
        ));
    }
    findings.dedup();
    Ok(findings)
}

/// Picks until these were picked, in the end; says which they were.
fn run_up(site: &mut Site, picked: &[String]) -> Vec<String> {
    let mut before: Vec<String> = Vec::new();
    let endpoints = site
        .backends
        .values()
        .map(|backend| backend.endpoints.len())
        .sum::<usize>();
    while !before.ends_with(picked) && before.len() < 10 * endpoints {
        before.push(site.pick(&[]));
    }
    before.split_off(before.len() - picked.len())
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant")
}
