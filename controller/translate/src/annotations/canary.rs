//! A second backend for some of the requests.

use sluice_filter_config::{HeaderPattern, LARGEST_PATTERN};
use sluice_filter_core::canary::Patterns;
use sluice_filter_core::{BacktrackingShape, Refusal};
use sluice_ir::{CanaryHeader, CanaryRules, CanaryValue, ValuePattern};
use sluice_pattern::Subject;
use sluice_syntax::value::{self, Parsed};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::risk::Risk;

const TOTAL: u32 = 100;

pub(super) const GROUP: Group = Group {
    title: "Canaries",
    annotations: &[
        annotation("canary", Value::Bool, Risk::Low, Scope::Ingress)
            .partly("a canary must be in the namespace of its main Ingress"),
        annotation(
            "canary-by-header",
            Value::Text,
            Risk::Medium,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "canary-by-header-value",
            Value::Text,
            Risk::Medium,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "canary-by-header-pattern",
            Value::Regex,
            Risk::Medium,
            Scope::Ingress,
        )
        .partly("recursion, conditionals and lookbehind of varying length are reported"),
        annotation(
            "canary-by-cookie",
            Value::Text,
            Risk::Medium,
            Scope::Ingress,
        )
        .full(),
        annotation("canary-weight", Value::Int, Risk::Low, Scope::Ingress).full(),
        annotation("canary-weight-total", Value::Int, Risk::Low, Scope::Ingress).full(),
    ],
};

/// The rules of a canary; `None`: the Ingress is none.
pub(super) fn canary(view: &mut View<'_, '_>) -> Option<CanaryRules> {
    let is_canary = view.flag("canary");
    let total = view
        .count("canary-weight-total")
        .filter(|total| *total > TOTAL)
        .unwrap_or(TOTAL);
    let rules = CanaryRules {
        header: header(view),
        cookie: view.read("canary-by-cookie", token),
        weight: view.count("canary-weight").unwrap_or_default().min(total),
        total,
    };
    is_canary.then_some(rules)
}

fn header(view: &mut View<'_, '_>) -> Option<CanaryHeader> {
    let exact = view
        .text("canary-by-header-value")
        .map(|text| CanaryValue::Exact(text.to_owned()));
    let pattern = view
        .text("canary-by-header-pattern")
        .map(|text| match matching(text) {
            Ok(value) => value,
            Err(wrong) => {
                let reason =
                    format!("expected a regular expression that Sluice supports, got {wrong}");
                let otherwise = "requests with the header go to the main backend";
                view.not_honoured("canary-by-header-pattern", reason, otherwise);
                CanaryValue::Invalid
            }
        });
    let name = view
        .read("canary-by-header", value::header_name)?
        .to_ascii_lowercase();
    Some(CanaryHeader {
        name,
        value: exact.or(pattern).unwrap_or(CanaryValue::AlwaysNever),
    })
}

fn matching(pattern: &str) -> Result<CanaryValue, String> {
    let pattern = &*sluice_pattern::with_flags_in_groups(pattern);
    let large = || format!("one that compiles to more than {LARGEST_PATTERN} bytes");
    let Some(found) = sluice_pattern::of_text_without_lookaround(pattern) else {
        if let Err(wrong) = sluice_pattern::check(pattern, Subject::Text) {
            // With what only PCRE knows, at the price of steps that are counted.
            return match BacktrackingShape::of(pattern, false) {
                Ok(_) => Ok(CanaryValue::Backtracking(pattern.to_owned())),
                Err(Refusal::NotNeeded) => Err(wrong),
                Err(Refusal::Wrong(wrong)) => Err(wrong),
            };
        }
        fits_the_filter(&[one(pattern, false)]).ok_or_else(large)?;
        return Ok(CanaryValue::Matches(pattern.to_owned()));
    };
    let conditions = found.conditions.iter();
    let conditions = conditions.map(|it| one(&it.pattern, it.is_negative));
    let all: Vec<_> = [one(&found.pattern, false)]
        .into_iter()
        .chain(conditions)
        .collect();
    fits_the_filter(&all).ok_or_else(large)?;
    let all = all.into_iter().map(|it| ValuePattern {
        pattern: it.pattern,
        negated: it.negated,
    });
    Ok(CanaryValue::MatchesAll(all.collect()))
}

fn one(pattern: &str, negated: bool) -> HeaderPattern {
    HeaderPattern {
        pattern: pattern.to_owned(),
        negated,
    }
}

/// The filter is the engine that runs them, so they are measured as the filter compiles them.
fn fits_the_filter(all: &[HeaderPattern]) -> Option<()> {
    Patterns::compile(all).map(drop)
}

/// RFC 6265: the name of a cookie.
fn token(text: &str) -> Parsed<String> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if text.bytes().all(token) {
        Ok(text.to_owned())
    } else {
        Err("the name of a cookie".into())
    }
}
