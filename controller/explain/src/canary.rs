//! Canaries: the backend of a request by their rules, as the filter reads them; and the rules in words.

use std::borrow::Cow;

use sluice_filter_core::canary::{Canary, Excluded, RuleKind, RuleResult, Selected, select};
use sluice_filter_core::{Fact, variables};
use sluice_ir::{BackendId, CanaryRules, CanaryValue, Config, HttpRoute, ValuePattern};

use crate::explanation::{Choice, NotChosen, Selection, WeightedShare};
use crate::request::Request;

/// Rules in words, one each, in the order in which they are asked.
#[must_use]
pub fn canary_rules(rules: &CanaryRules) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(header) = &rules.header {
        words.push(format!("header {}: {}", header.name, values(&header.value)));
    }
    if let Some(cookie) = &rules.cookie {
        words.push(format!("cookie {cookie}: {SWITCH}"));
    }
    if rules.weight > 0 {
        let undecided = match words.is_empty() {
            true => "",
            false => " that no other rule decides",
        };
        let CanaryRules { weight, total, .. } = rules;
        words.push(format!("weight: {weight} of {total} requests{undecided}"));
    }
    if words.is_empty() {
        words.push("no rule: it gets no requests".to_owned());
    }
    words
}

const SWITCH: &str = "\"always\" selects it, \"never\" keeps it away";

fn values(value: &CanaryValue) -> String {
    match value {
        CanaryValue::AlwaysNever => SWITCH.to_owned(),
        CanaryValue::Exact(exact) => format!("{exact:?} selects it"),
        CanaryValue::Matches(pattern) | CanaryValue::Backtracking(pattern) => {
            format!("a value that matches {pattern} selects it")
        }
        CanaryValue::MatchesAll(all) => {
            let all: Vec<String> = all.iter().map(condition).collect();
            format!("a value that {} selects it", all.join(" and "))
        }
        CanaryValue::Invalid => {
            "its pattern is not supported; requests with it go to the main backend".to_owned()
        }
    }
}

fn condition(pattern: &ValuePattern) -> String {
    let verb = match pattern.negated {
        false => "matches",
        true => "does not match",
    };
    format!("{verb} {}", pattern.pattern)
}

/// The backend of a request to a route with canaries; `None`: it has none.
pub(crate) fn selection(
    config: &Config,
    route: &HttpRoute,
    main: &BackendId,
    request: &Request,
) -> Option<Selection> {
    if route.canaries.is_empty() {
        return None;
    }
    let route_canaries: Vec<_> = route.canaries.iter().map(sluice_plugin::canary).collect();
    let canaries = Canary::from_routes(&route_canaries);
    let has_endpoints = |id: &BackendId| {
        let backend = config.backends.get(id);
        backend.is_some_and(|backend| !backend.endpoints.is_empty())
    };
    // Without pods of the main backend all gets 503; the rules are worth knowing nevertheless.
    let is_served = has_endpoints(main);
    let there = |n: usize| {
        let canary = route.canaries.get(n);
        canary.is_some_and(|canary| !is_served || has_endpoints(&canary.backend))
    };
    let choice = match select(&canaries, there, request) {
        Selected::Canary(n, kind) => Choice::Canary {
            backend: id(route, n),
            rule: decided(&route.canaries.get(n)?.rules, kind, request),
        },
        Selected::ByWeight(out) => drawn(route, &canaries, main, &there, &out, request),
    };
    Some(Selection {
        choice,
        session_cookie: session_cookie(config, route, main, request),
        is_served,
    })
}

fn id(route: &HttpRoute, n: usize) -> String {
    let canary = route.canaries.get(n);
    canary
        .map(|canary| canary.backend.to_string())
        .unwrap_or_default()
}

/// The rule that has decided, with what the request says.
fn decided(rules: &CanaryRules, kind: RuleKind, request: &Request) -> String {
    match (kind, &rules.header, &rules.cookie) {
        (RuleKind::Header, Some(header), _) => {
            let value = sluice_filter_core::Request::header(request, &header.name);
            let value = String::from_utf8_lossy(&value.unwrap_or_default()).into_owned();
            let text = format!("header {} is {value:?}", header.name);
            match &header.value {
                CanaryValue::AlwaysNever | CanaryValue::Exact(_) => text,
                CanaryValue::Matches(pattern) | CanaryValue::Backtracking(pattern) => {
                    format!("{text}, which matches {pattern}")
                }
                CanaryValue::MatchesAll(all) => {
                    let all: Vec<String> = all.iter().map(condition).collect();
                    format!("{text}, which {}", all.join(" and "))
                }
                CanaryValue::Invalid => format!("{text}, and its pattern is not supported"),
            }
        }
        (RuleKind::Cookie, _, Some(cookie)) => {
            let header = sluice_filter_core::Request::header(request, "cookie");
            let value = header
                .as_deref()
                .and_then(|header| variables::cookie(header, cookie));
            let value = String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
            format!("cookie {cookie} is {value:?}")
        }
        _ => String::new(),
    }
}

/// Parts of the canaries, and of the main backend what is left.
fn drawn(
    route: &HttpRoute,
    canaries: &[Canary],
    main: &BackendId,
    there: &dyn Fn(usize) -> bool,
    out: &Excluded,
    request: &Request,
) -> Choice {
    let (mut rest, mut of_main) = (1.0_f64, 1.0_f64);
    let mut parts = Vec::new();
    for (n, canary) in canaries.iter().enumerate() {
        let share = canary.rules.share().min(rest);
        rest -= share;
        if share > 0.0 && there(n) && !out.has(n) {
            of_main -= share;
            parts.push(part(id(route, n), true, share));
        }
    }
    if parts.is_empty() {
        return Choice::Main {
            backend: main.to_string(),
            canaries: kept(route, canaries, there, out, request),
        };
    }
    let of_main = part(main.to_string(), false, of_main);
    parts.extend(Some(of_main).filter(|part| part.percent > 0.0));
    Choice::Weight { parts }
}

fn part(backend: String, is_canary: bool, share: f64) -> WeightedShare {
    WeightedShare {
        backend,
        is_canary,
        // To the hundredth.
        percent: (share * 10_000.0).round() / 100.0,
    }
}

/// Why each canary does not get it.
fn kept(
    route: &HttpRoute,
    canaries: &[Canary],
    there: &dyn Fn(usize) -> bool,
    out: &Excluded,
    request: &Request,
) -> Vec<NotChosen> {
    let pairs = route.canaries.iter().zip(canaries).enumerate();
    pairs
        .map(|(n, (canary, compiled))| NotChosen {
            backend: canary.backend.to_string(),
            reason: match (there(n), out.has(n)) {
                (false, _) => "it has no endpoints".to_owned(),
                (true, true) => taken_out(compiled, &canary.rules, request),
                (true, false) => "no rule selects it".to_owned(),
            },
        })
        .collect()
}

/// The rule that has taken a canary out: its header's, or else its cookie's.
fn taken_out(canary: &Canary, rules: &CanaryRules, request: &Request) -> String {
    let kind = match canary.rules.ask(RuleKind::Header, request) {
        RuleResult::No => RuleKind::Header,
        RuleResult::Yes | RuleResult::NextRule => RuleKind::Cookie,
    };
    decided(rules, kind, request)
}

/// A cookie of the request that may name a session, which stays on its backend.
fn session_cookie(
    config: &Config,
    route: &HttpRoute,
    main: &BackendId,
    request: &Request,
) -> Option<String> {
    let canaries = route.canaries.iter().map(|canary| &canary.backend);
    let backends = [main].into_iter().chain(canaries);
    let mut names = backends.filter_map(|id| {
        let affinity = config.backends.get(id)?.affinity.as_ref()?;
        Some(affinity.cookie.name.clone())
    });
    names.find(|name| request.cookie(name).is_some())
}

/// As the filter asks for it.
impl sluice_filter_core::Request for Request {
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let values = self.headers.iter().filter(|(known, _)| known == name);
        let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
        let separator = if name == "cookie" { "; " } else { ", " };
        (!values.is_empty()).then(|| values.join(separator).into_bytes().into())
    }

    fn fact(&self, _: Fact) -> Option<Cow<'_, [u8]>> {
        None
    }
}

#[cfg(test)]
mod tests;
