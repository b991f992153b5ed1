//! Judgement of one request: responses of both data planes, asked again where they differ.
//!
//! | the old one says | the new one says | judgement |
//! |---|---|---|
//! | always A | always A | same |
//! | always A, more often where the new one varies | anything else, once at least | differs |
//! | different things | one of them each time | same |
//! | different things | anything else, once at least | not judged: nobody knows what it would say next |
//!
//! Where backends share requests by weight, both are asked for the [`crate::shares`] of each.

use std::collections::BTreeSet;
use std::fmt;

use crate::facts::{Aspect, Fact, Facts, Scope};
use crate::known::{Known, known};
use crate::probe::{Probe, is_safe};
use crate::response::{Answered, Failure};
use crate::shares::{Kind, kinds};

/// Times that both are asked where the data plane answers, or says where to go.
const MOST_OF_DATA_PLANE: usize = 3;
/// The same where an upstream may have a say: pods of a Service may differ, and one be chosen several times in a row.
const MOST_ATTEMPTS: usize = 6;
/// The same where the new one says now this and now that.
const MOST_UNSTEADY: usize = 12;

/// The judgement of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Differences.
    pub differences: Vec<Difference>,
    /// Parts that are not judged, and why.
    pub unjudged: Vec<String>,
    /// Nothing of it is judged.
    pub is_void: bool,
    /// The new data plane differs sometimes.
    pub is_unsteady: bool,
    /// Kinds of responses of backends that share requests by weight; none, if that was not looked at or nothing tells them apart.
    pub shares: Vec<Kind>,
}

impl Judgement {
    fn void(reason: String) -> Judgement {
        Judgement {
            unjudged: vec![reason],
            is_void: true,
            ..Judgement::default()
        }
    }

    /// No header and no body of an upstream differs.
    fn is_of_data_plane(&self) -> bool {
        use Aspect::{Certificate, Location, Response, Status};
        let is = |it: &Difference| matches!(it.aspect, Certificate | Location | Response | Status);
        self.unjudged.is_empty() && self.differences.iter().all(is)
    }
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The part.
    pub aspect: Aspect,
    /// Said by the old data plane.
    pub old: String,
    /// Said by the new one.
    pub new: String,
    /// It is on purpose.
    pub known: Option<Known>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} -> {}", self.aspect, self.old, self.new)
    }
}

/// Outcomes of one request, in pairs.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    old: Vec<Answered>,
    new: Vec<Answered>,
}

impl Attempts {
    pub(crate) fn add(&mut self, old: Answered, new: Answered) {
        self.old.push(old);
        self.new.push(new);
    }

    /// True if asking again may change the judgement: it is safe, and they differ so far.
    pub(crate) fn is_open(&self, probe: &Probe, judgement: &Judgement) -> bool {
        let both = || self.old.iter().chain(&self.new);
        let is_unreachable = both().any(|it| it.as_ref().is_err_and(|it| !it.is_an_answer()));
        // Who says nothing once and again has said it; waiting for it is what takes long.
        let silent = both().filter(|it| matches!(it, Err(Failure::Timeout)));
        let most = match judgement.is_unsteady {
            true => MOST_UNSTEADY,
            false if judgement.is_of_data_plane() => MOST_OF_DATA_PLANE,
            false => MOST_ATTEMPTS,
        };
        is_safe(&probe.request.method)
            && !is_unreachable
            && silent.count() < 2
            && self.old.len() < most
            && !(judgement.differences.is_empty() && judgement.unjudged.is_empty())
    }

    pub(crate) fn judge(&self, probe: &Probe, scope: &Scope) -> Judgement {
        if let Some(reason) = self.void(probe) {
            return Judgement::void(reason);
        }
        let (old, new) = self.facts(probe, scope);
        let mut judgement = Judgement::default();
        for aspect in aspects(&old, &new) {
            self.judge_aspect(aspect, (&old, &new), probe, &mut judgement);
        }
        keep_causes(&mut judgement);
        judgement
    }

    /// The same of a request that backends share by weight, and that was sent often: parts of which each data plane has one thing to say
    /// are compared as ever, and of others the shares.
    pub(crate) fn judge_shares(&self, probe: &Probe, scope: &Scope) -> Judgement {
        if let Some(reason) = self.void(probe) {
            return Judgement::void(reason);
        }
        let (old, new) = self.facts(probe, scope);
        let mut judgement = Judgement::default();
        let mut steady = BTreeSet::new();
        for aspect in aspects(&old, &new) {
            let (was, is) = (said(&old, aspect), said(&new, aspect));
            let is_encoded = *aspect == Aspect::Body && self.is_encoded();
            if (was.len() == 1 && is.len() == 1) || is_encoded {
                self.judge_steady(aspect, (&old, &new), probe, &mut judgement);
                steady.insert(aspect);
            }
        }
        self.judge_upstreams((&old, &new), &steady, probe, &mut judgement);
        let (kinds, many) = kinds((&old, &new), &steady);
        let backends = probe.context.shared_by.join(" and ");
        let unjudged = many
            .iter()
            .map(|aspect| format!("{aspect}: another one in each response of {backends}"));
        judgement.unjudged.extend(unjudged);
        if kinds.len() < 2 {
            judgement.unjudged.push(format!(
                "shares of {backends}: responses do not tell them apart; --upstream-header names a header that does"
            ));
        } else {
            let differing = kinds.iter().filter(|kind| kind.differs());
            judgement
                .differences
                .extend(differing.map(|kind| Difference {
                    aspect: Aspect::Share(kind.what.clone()),
                    old: kind.old.to_string(),
                    new: kind.new.to_string(),
                    known: None,
                }));
            judgement.shares = kinds;
        }
        keep_causes(&mut judgement);
        judgement
    }

    /// Responses of one upstream are alike, where a header names it.
    fn judge_upstreams(
        &self,
        (old, new): (&[Facts], &[Facts]),
        others: &BTreeSet<&Aspect>,
        probe: &Probe,
        judgement: &mut Judgement,
    ) {
        for upstream in said(old, &Aspect::Upstream).iter().flatten() {
            let of = |all: &[Facts]| -> Vec<Facts> {
                let is_its = |facts: &&Facts| facts.get(&Aspect::Upstream) == Some(upstream);
                all.iter().filter(is_its).cloned().collect()
            };
            let (old, new) = (of(old), of(new));
            for aspect in aspects(&old, &new) {
                let is_one = said(&old, aspect).len() == 1;
                if is_one && !new.is_empty() && !others.contains(aspect) {
                    self.judge_steady(aspect, (&old, &new), probe, judgement);
                }
            }
        }
        judgement.differences.sort();
        judgement.differences.dedup();
    }

    fn facts(&self, probe: &Probe, scope: &Scope) -> (Vec<Facts>, Vec<Facts>) {
        let method = &probe.request.method;
        let facts = |answered: &Answered| scope.facts(answered, method, &probe.context);
        let of = |all: &[Answered]| all.iter().map(facts).collect();
        (of(&self.old), of(&self.new))
    }

    /// True if asking for shares is of no use any more.
    pub(crate) fn is_void(&self, probe: &Probe) -> bool {
        self.void(probe).is_some()
    }

    /// The reason for which nothing can be judged.
    fn void(&self, probe: &Probe) -> Option<String> {
        for (side, all) in [("old", &self.old), ("new", &self.new)] {
            let mut failures = all.iter().filter_map(|answered| answered.as_ref().err());
            if let Some(failure) = failures.find(|failure| !failure.is_an_answer()) {
                return Some(format!("{side}: {failure}"));
            }
        }
        let all_failed = |all: &[Answered]| all.iter().all(Result::is_err);
        if all_failed(&self.old) && all_failed(&self.new) {
            let failure = self.old.first().and_then(|it| it.as_ref().err());
            return failure.map(|failure| format!("neither answers: {failure}"));
        }
        let is_refused = |answered: &Answered| matches!(answered, Ok(response) if matches!(response.status, 429 | 503));
        let count = |all: &[Answered]| all.iter().filter(|it| is_refused(it)).count();
        let (old, new) = (count(&self.old), count(&self.new));
        (probe.context.is_limited && old != new).then(|| {
            "a rate or concurrency limit of the Ingress was reached: lower --rate".to_owned()
        })
    }

    fn judge_aspect(
        &self,
        aspect: &Aspect,
        (old, new): (&[Facts], &[Facts]),
        probe: &Probe,
        judgement: &mut Judgement,
    ) {
        let Some(Differing { was, .. }) = Differing::new(aspect, old, new) else {
            return;
        };
        if was.len() > 1 {
            let reason = format!("{aspect}: the old one answers differently each time");
            return judgement.unjudged.push(reason);
        }
        if probe.context.is_shared() {
            let reason = format!("{aspect}: backends share the requests by weight");
            return judgement.unjudged.push(reason);
        }
        self.judge_steady(aspect, (old, new), probe, judgement);
    }

    /// Of a part of which the old data plane says one thing.
    fn judge_steady(
        &self,
        aspect: &Aspect,
        (old, new): (&[Facts], &[Facts]),
        probe: &Probe,
        judgement: &mut Judgement,
    ) {
        let Some(Differing { was, is, other }) = Differing::new(aspect, old, new) else {
            return;
        };
        if *aspect == Aspect::Body && self.is_encoded() {
            let reason = "body: compressed otherwise than by gzip".to_owned();
            return judgement.unjudged.push(reason);
        }
        let first = was.first().cloned().flatten();
        let turn = new
            .iter()
            .position(|facts| facts.get(aspect) == other.as_ref());
        let turn = turn.unwrap_or_default();
        let all = (old.get(turn), new.get(turn));
        let known = match all {
            (Some(all_old), Some(all_new)) => known(
                aspect,
                (first.as_ref(), other.as_ref()),
                (all_old, all_new),
                probe,
            ),
            _ => None,
        };
        judgement.is_unsteady |= is.len() > 1;
        let sometimes = if is.len() > 1 { ", sometimes" } else { "" };
        judgement.differences.push(Difference {
            aspect: aspect.clone(),
            old: shown(first.as_ref()),
            new: format!("{}{sometimes}", shown(other.as_ref())),
            known,
        });
    }

    fn is_encoded(&self) -> bool {
        let both = self.old.iter().chain(&self.new);
        let mut bodies = both.filter_map(|it| it.as_ref().ok()).map(|it| &it.body);
        bodies.any(|body| body.encoding.is_some())
    }
}

/// A part that differs.
struct Differing {
    was: Vec<Option<Fact>>,
    is: Vec<Option<Fact>>,
    /// The first that the new data plane alone says.
    other: Option<Fact>,
}

impl Differing {
    fn new(aspect: &Aspect, old: &[Facts], new: &[Facts]) -> Option<Self> {
        let (was, is) = (said(old, aspect), said(new, aspect));
        let other = is.iter().find(|fact| !was.contains(fact))?.clone();
        (!is_of_cookie(aspect, &was, &other)).then_some(Differing { was, is, other })
    }
}

/// Parts of responses of both.
fn aspects<'f>(old: &'f [Facts], new: &'f [Facts]) -> BTreeSet<&'f Aspect> {
    old.iter().chain(new).flat_map(Facts::keys).collect()
}

/// Different facts, in the order in which they were said.
fn said(all: &[Facts], aspect: &Aspect) -> Vec<Option<Fact>> {
    let mut said = Vec::new();
    for fact in all.iter().map(|facts| facts.get(aspect).cloned()) {
        if !said.contains(&fact) {
            said.push(fact);
        }
    }
    said
}

/// True if one of both has no such cookie: that itself is what differs.
fn is_of_cookie(aspect: &Aspect, was: &[Option<Fact>], other: &Option<Fact>) -> bool {
    let is_missing = other.is_none() || was.contains(&None);
    matches!(aspect, Aspect::CookieValue(_)) && is_missing
}

/// Without a response, or with another status, everything else is another one, too: what comes of it is not said.
fn keep_causes(judgement: &mut Judgement) {
    let has = |aspect: Aspect| {
        let mut all = judgement.differences.iter();
        all.any(|difference| difference.aspect == aspect)
    };
    let kept: &[Aspect] = match (has(Aspect::Response), has(Aspect::Status)) {
        (true, _) => &[Aspect::Response],
        (false, true) => &[Aspect::Status, Aspect::Location, Aspect::Certificate],
        (false, false) => return,
    };
    judgement
        .differences
        .retain(|difference| kept.contains(&difference.aspect));
    judgement.unjudged.clear();
}

fn shown(fact: Option<&Fact>) -> String {
    fact.map_or_else(|| "none".to_owned(), |fact| fact.shown.clone())
}

#[cfg(test)]
mod tests;
