//! The actions of this area.

use std::collections::BTreeMap;

use regex::Regex;
use sluice_filter_config::Canary;
use sluice_filter_config::Share;

use super::super::canary::share_of;
use super::super::case::{Cannot, Case, Findings, Play, differs, in_both};
use super::super::site::backend;
use super::words::{Given, Stat, Then};
use super::world::{Completion, World, score_differs};
use crate::fake::Personality;

/// Enough to see both of two.
const PICKS: usize = 20;

/// An action of a case.
enum Action {
    Completes(Completion),
    Balanced,
    Synced {
        addresses: Vec<String>,
        canary: Option<(String, u32)>,
    },
}

pub(in super::super) fn play(case: &Case) -> Play {
    let (given, then): (Given, Then) = (case.given()?, case.then()?);
    given.check()?;
    let action = action(case, &given)?;
    in_both(|personality| {
        let mut findings = stored(personality, &given, &action, &then)?;
        if let Action::Balanced = action {
            findings.extend(picked(personality, &given, &then)?);
        }
        if let Action::Synced {
            canary: Some((name, weight)),
            ..
        } = &action
        {
            findings.extend(has_canary(personality, &given, &then, name, *weight));
        }
        Ok(findings)
    })
}

fn action(case: &Case, given: &Given) -> Result<Action, Cannot> {
    let same = given.addresses();
    Ok(match case.when.as_str() {
        "the request completes" => Action::Completes(completion(given)),
        "updated for a new endpoint" => {
            let rtt = given
                .rtt
                .ok_or_else(|| Cannot("given: expected `rtt`".into()))?;
            let addresses = same.first().cloned().unwrap_or_default();
            Action::Completes(Completion {
                addresses,
                response: rtt.to_string(),
                ..Completion::default()
            })
        }
        "balanced" | "balanced again in the same request (retry)" => Action::Balanced,
        "synced with the same endpoints" => Action::Synced {
            addresses: same,
            canary: None,
        },
        when => match with_canary(when) {
            Some(canary) => Action::Synced {
                addresses: same,
                canary: Some(canary),
            },
            None => {
                let addresses = listed(when).ok_or_else(|| case.unknown_action())?;
                Action::Synced {
                    addresses,
                    canary: None,
                }
            }
        },
    })
}

fn completion(given: &Given) -> Completion {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Completion {
        addresses: text(&given.upstream_addr),
        connect: text(&given.upstream_connect_time),
        response: text(&given.upstream_response_time),
    }
}

/// `synced with same endpoints plus alternativeBackends=[NAME] and trafficShapingPolicy{weight:20}`
fn with_canary(when: &str) -> Option<(String, u32)> {
    let pattern = r"^synced with (?:the )?same endpoints plus alternativeBackends=\[([^\],]+)\] and trafficShapingPolicy\{weight:(\d+)\}$";
    let found = Regex::new(pattern).expect("a constant").captures(when)?;
    Some((found[1].to_owned(), found[2].parse().ok()?))
}

/// `synced with 10.10.10.1, .4, .3, .5 (:8080)`
fn listed(when: &str) -> Option<Vec<String>> {
    let (list, port) = when
        .strip_prefix("synced with ")?
        .strip_suffix(')')?
        .split_once(" (:")?;
    let mut parts = list.split(", ");
    let first = parts.next()?;
    let net = first.rsplit_once('.')?.0;
    let others = parts.map(|part| {
        if part.starts_with('.') {
            format!("{net}{part}")
        } else {
            part.to_owned()
        }
    });
    Some(
        std::iter::once(first.to_owned())
            .chain(others)
            .map(|ip| format!("{ip}:{port}"))
            .collect(),
    )
}

impl Action {
    fn apply(&self, world: &mut World) {
        match self {
            Action::Completes(completion) => world.complete(completion),
            Action::Balanced => {}
            Action::Synced { addresses, .. } => world.scale(addresses),
        }
    }
}

/// Checks the stored values after an action.
fn stored(personality: Personality, given: &Given, action: &Action, then: &Then) -> Play {
    let made = || {
        let mut world = World::with_probe(personality, given);
        action.apply(&mut world);
        world
    };
    let mut findings = Findings::new();
    let expected = then
        .stats
        .as_ref()
        .map(|stats| stats.expected(given))
        .transpose()?
        .unwrap_or_default();
    for (address, stat) in &expected {
        match stat {
            Some(stat) => findings.extend(score_differs(made, address, stat.score(given.now))),
            None => findings.extend(forgotten(made, action, &expected, address)),
        }
    }
    let touched = match action {
        Action::Completes(completion) => {
            completion.addresses.rsplit(", ").next().unwrap_or_default()
        }
        _ => "",
    };
    if let Some(rtt) = then.rtt_used {
        let before = given
            .stats
            .get(touched)
            .ok_or_else(|| Cannot(format!("given.stats: nothing of {touched:?}")))?;
        findings.extend(score_differs(
            made,
            touched,
            before.after(rtt, given.now).ewma,
        ));
    }
    if let Some(ewma) = then.ewma {
        findings.extend(score_differs(made, touched, ewma));
    }
    Ok(findings)
}

/// An endpoint that comes back begins like any new one: at the mean of the others.
fn forgotten(
    made: impl Fn() -> World,
    action: &Action,
    expected: &BTreeMap<String, Option<Stat>>,
    address: &str,
) -> Option<String> {
    let Action::Synced { addresses, .. } = action else {
        return Some(format!(
            "{address}: nothing is forgotten unless the endpoints change"
        ));
    };
    let stored: Vec<f64> = expected.values().flatten().map(|stat| stat.ewma).collect();
    let mean = stored.iter().sum::<f64>() / stored.len().max(1) as f64;
    let again = || {
        let mut world = made();
        let mut addresses = addresses.clone();
        addresses.push(address.to_owned());
        world.scale(&addresses);
        world
    };
    score_differs(again, address, mean)
}

/// The pick, or the next one after those that were tried.
fn picked(personality: Personality, given: &Given, then: &Then) -> Play {
    let (addresses, tried) = (given.addresses(), given.tried());
    let mut world = World::new(personality, given, &addresses);
    let mut findings = Findings::new();
    let mut lists = Vec::new();
    for _ in 0..PICKS {
        let sent = world.site.send(&[]);
        world.site.end(&sent);
        lists.push(sent.candidates);
    }
    lists.retain(|list| list.starts_with(&tried));
    if lists.is_empty() {
        return Ok(vec![format!("no request tried {tried:?} first")]);
    }
    for list in &lists {
        let next = list.get(tried.len()).cloned().unwrap_or_default();
        findings.extend(
            then.pick
                .as_ref()
                .and_then(|expected| differs("pick", expected, &next)),
        );
        let so_far = &list[..list.len().min(tried.len() + 1)];
        findings.extend(
            then.tried
                .as_deref()
                .and_then(|expected| differs("tried", expected, so_far)),
        );
        if let Some(score) = then.score {
            findings.extend(scored(personality, given, &next, score)?);
        }
    }
    findings.dedup();
    Ok(findings)
}

fn scored(personality: Personality, given: &Given, pick: &str, score: f64) -> Play {
    let alone = given.addresses().len() == 1;
    match score < 0.0 {
        // The original's word for a choice that nothing was compared for.
        true if score == -1.0 && alone => Ok(Findings::new()),
        true if score == -1.0 => Ok(vec![format!(
            "score: expected a choice without a comparison, got one of {}",
            given.addresses().len()
        )]),
        true => Err(Cannot(format!(
            "then.score: expected a score or -1, got {score}"
        ))),
        false => Ok(
            score_differs(|| World::with_probe(personality, given), pick, score)
                .into_iter()
                .collect(),
        ),
    }
}

/// The backend has this canary from now on.
fn has_canary(
    personality: Personality,
    given: &Given,
    then: &Then,
    name: &str,
    weight: u32,
) -> Findings {
    let mut world = World::new(personality, given, &given.addresses());
    let share = Share { weight, total: 100 };
    world.site.route.canaries.push(Canary {
        backend: name.into(),
        weight: Some(share),
        ..Canary::default()
    });
    world
        .site
        .backends
        .insert(name.into(), backend(name, &["10.9.0.1:80".to_owned()]));
    world.site.publish();
    let canaries: Vec<String> = world
        .site
        .route
        .canaries
        .iter()
        .map(|canary| canary.backend.clone())
        .collect();
    let mut findings = Findings::new();
    let names = then.alternative_backends.as_ref();
    findings
        .extend(names.and_then(|expected| differs("alternative_backends", expected, &canaries)));
    if let Some(weight) = then.traffic_shaping_weight {
        findings.extend(share_of(
            &mut world.site,
            &[],
            2_000,
            f64::from(weight) / 100.0,
            None,
        ));
    }
    findings
}
