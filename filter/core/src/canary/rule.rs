//! The rules of one canary.

use sluice_filter_config::{self as wire, HeaderMatch};

use super::patterns::Patterns;
use crate::{Exhausted, Request, variables};

/// Result of a rule for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleResult {
    /// It takes the canary.
    Yes,
    /// It does not take this canary, whatever the other rules say.
    No,
    /// The next rule decides.
    NextRule,
}

/// Rules that look at a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// By a header.
    Header,
    /// By a cookie.
    Cookie,
}

/// The rules of one canary, in the order of ingress-nginx.
#[derive(Debug, Default)]
pub struct Rules {
    header: Option<HeaderRule>,
    cookie: Option<String>,
    share: f64,
}

#[derive(Debug)]
struct HeaderRule {
    name: String,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Switch,
    Exact(Vec<u8>),
    /// The most that matching may take, as [`wire::MOST_MATCHING`] counts.
    Patterns(Patterns, usize),
    /// A pattern that cannot be parsed or compiled: every request with the header stays on the primary.
    Invalid,
}

impl Rules {
    /// Reads the rules. `matching` is what its pattern may take for one request, as [`wire::MOST_MATCHING`] counts.
    pub(super) fn new(canary: &wire::Canary, matching: usize) -> Self {
        let values = |values: &HeaderMatch| match values {
            HeaderMatch::Switch => Values::Switch,
            HeaderMatch::Exact(value) => Values::Exact(value.clone().into_bytes()),
            HeaderMatch::Pattern(pattern) => Values::found(Patterns::one(pattern), matching),
            HeaderMatch::Patterns(all) => Values::found(Patterns::compile(all), matching),
            HeaderMatch::Backtracking(pattern) => {
                Values::found(Patterns::backtracking(pattern), matching)
            }
            HeaderMatch::Invalid => Values::Invalid,
        };
        // nginx looks headers up by their variables, which know neither case nor hyphens.
        let rule = |rule: &wire::HeaderRule| HeaderRule {
            name: rule.name.to_ascii_lowercase().replace('_', "-"),
            values: values(&rule.values),
        };
        // In ingress-nginx a total below 100 is none.
        let share = |share: wire::Share| {
            (f64::from(share.weight) / f64::from(share.total.max(100))).min(1.0)
        };
        Rules {
            header: canary.header.as_ref().map(rule),
            cookie: canary.cookie.clone(),
            share: canary.weight.map_or(0.0, share),
        }
    }

    /// True if the canary has a regular expression for a header.
    pub(super) fn has_pattern(canary: &wire::Canary) -> bool {
        canary
            .header
            .as_ref()
            .is_some_and(|header| match header.values {
                HeaderMatch::Pattern(_)
                | HeaderMatch::Patterns(_)
                | HeaderMatch::Backtracking(_) => true,
                HeaderMatch::Switch | HeaderMatch::Exact(_) | HeaderMatch::Invalid => false,
            })
    }

    /// Asks one rule.
    pub fn ask(&self, kind: RuleKind, request: &impl Request) -> RuleResult {
        match kind {
            RuleKind::Header => self.by_header(request),
            RuleKind::Cookie => self.by_cookie(request),
        }
    }

    /// The header rule.
    fn by_header(&self, request: &impl Request) -> RuleResult {
        let Some(rule) = &self.header else {
            return RuleResult::NextRule;
        };
        match request.header(&rule.name) {
            Some(value) => rule.values.ask(&value),
            None => RuleResult::NextRule,
        }
    }

    /// The cookie rule.
    fn by_cookie(&self, request: &impl Request) -> RuleResult {
        let Some(name) = &self.cookie else {
            return RuleResult::NextRule;
        };
        let cookies = request.header("cookie");
        let value = cookies
            .as_deref()
            .and_then(|header| variables::cookie(header, name));
        value.map_or(RuleResult::NextRule, switch)
    }

    /// The part of the requests that it takes by chance, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.share
    }

    /// How many headers the rules read.
    #[must_use]
    pub fn headers(&self) -> usize {
        usize::from(self.header.is_some()) + usize::from(self.cookie.is_some())
    }
}

impl Values {
    fn found(patterns: Option<Patterns>, matching: usize) -> Self {
        patterns.map_or(Values::Invalid, |all| Values::Patterns(all, matching))
    }

    fn ask(&self, value: &[u8]) -> RuleResult {
        let matches = match self {
            Values::Switch => return switch(value),
            Values::Invalid => return RuleResult::No,
            Values::Exact(expected) => value == expected,
            // As in ingress-nginx where PCRE has no steps left.
            Values::Patterns(patterns, most) => match patterns.hold(value, *most) {
                Ok(holds) => holds,
                Err(Exhausted) => return RuleResult::No,
            },
        };
        if matches {
            RuleResult::Yes
        } else {
            RuleResult::NextRule
        }
    }
}

fn switch(value: &[u8]) -> RuleResult {
    match value {
        b"always" => RuleResult::Yes,
        b"never" => RuleResult::No,
        _ => RuleResult::NextRule,
    }
}
