//! Canaries: which backend of a route a request goes to.
//!
//! ingress-nginx's `route_to_alternative_balancer`, for several canaries:
//!
//! ```text
//!   a session on the primary --> primary        a session on a canary --> that canary
//!   header rules, then cookie rules, each canary in order: "yes" --> it; "no" takes it out
//!   weights of those that are left, in one draw --> one of them, or the primary
//! ```
//!
//! With one canary that is the original's order to the letter. A canary without endpoints is not there.

mod patterns;
mod rule;

use std::rc::Rc;

use sluice_filter_config::{self as wire, MOST_MATCHING};

use crate::{Request, Rng};

pub use patterns::Patterns;
pub use rule::{RuleKind, RuleResult, Rules};

/// A backend that takes a part of a route's requests.
#[derive(Debug)]
pub struct Canary {
    /// The id of the backend.
    pub backend: Rc<str>,
    /// Rules that select it.
    pub rules: Rules,
    /// The primary's affinity applies to it; otherwise only its own.
    pub shares_sessions: bool,
}

impl Canary {
    /// Those of one route: they share what matching may take.
    #[must_use]
    pub fn from_routes(canaries: &[wire::Canary]) -> Vec<Canary> {
        let patterns = canaries
            .iter()
            .filter(|canary| Rules::has_pattern(canary))
            .count();
        let matching = MOST_MATCHING / patterns.max(1);
        let read = |canary: &wire::Canary| Canary {
            backend: canary.backend.as_str().into(),
            rules: Rules::new(canary, matching),
            shares_sessions: canary.affinity == wire::CanaryAffinity::Sticky,
        };
        canaries.iter().map(read).collect()
    }
}

/// Result of the rules that look at a request.
#[derive(Debug)]
pub enum Selected {
    /// This canary.
    Canary(usize, RuleKind),
    /// Weights decide, among the canaries that no rule has taken out.
    ByWeight(Excluded),
}

/// The canary that the rules send a request to; `None` for the primary. Only canaries that are `there` count.
pub fn choose(
    canaries: &[Canary],
    there: impl Fn(usize) -> bool,
    request: &impl Request,
    rng: &mut impl Rng,
) -> Option<usize> {
    match select(canaries, &there, request) {
        Selected::Canary(n, _) => Some(n),
        Selected::ByWeight(out) => by_weight(canaries, |n| there(n) && !out.has(n), rng),
    }
}

/// The part of [`choose`] without a draw.
pub fn select(
    canaries: &[Canary],
    there: impl Fn(usize) -> bool,
    request: &impl Request,
) -> Selected {
    let mut out = Excluded::default();
    for kind in [RuleKind::Header, RuleKind::Cookie] {
        for (n, canary) in canaries.iter().enumerate() {
            if !there(n) || out.has(n) {
                continue;
            }
            match canary.rules.ask(kind, request) {
                RuleResult::Yes => return Selected::Canary(n, kind),
                RuleResult::No => out.add(n),
                RuleResult::NextRule => {}
            }
        }
    }
    Selected::ByWeight(out)
}

fn by_weight(
    canaries: &[Canary],
    in_draw: impl Fn(usize) -> bool,
    rng: &mut impl Rng,
) -> Option<usize> {
    let shares = || {
        canaries
            .iter()
            .enumerate()
            .map(|(n, canary)| (n, canary.rules.share()))
    };
    if shares().all(|(_, share)| share == 0.0) {
        return None;
    }
    let point = rng.fraction();
    let mut sum = 0.0;
    // The share of one that is not in the draw stays with the primary, so that no other canary gets more than its own.
    let hit = shares().find(|(_, share)| {
        sum += share;
        point < sum
    });
    hit.map(|(n, _)| n).filter(|&n| in_draw(n))
}

/// Canaries that a rule has taken out, as bits; those beyond the last bit are asked by weight only.
#[derive(Debug, Default)]
pub struct Excluded(u64);

impl Excluded {
    fn add(&mut self, n: usize) {
        self.0 |= Self::bit(n);
    }

    /// True if a rule has taken this one out.
    #[must_use]
    pub fn has(&self, n: usize) -> bool {
        self.0 & Self::bit(n) != 0
    }

    fn bit(n: usize) -> u64 {
        u32::try_from(n)
            .ok()
            .and_then(|n| 1u64.checked_shl(n))
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
