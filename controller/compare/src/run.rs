//! Sends the requests of a plan to both data planes, so many at a time and per second, and judges what they answer.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt;
use futures::future::join;
use futures::stream;
use tokio::time::sleep;

use crate::client::Client;
use crate::facts::Scope;
use crate::findings::Tally;
use crate::judge::{Attempts, Judgement};
use crate::names::names;
use crate::pace::Pace;
use crate::plan::Plan;
use crate::probe::{Probe, is_safe};
use crate::response::{Answered, Failure};
use crate::subject::Subject;

/// Least pause before both are asked again.
const PAUSE: Duration = Duration::from_millis(200);
/// Connections that fail before a data plane that never answered is given up.
const MOST_UNREACHABLE: usize = 3;

/// Pauses are so many of these longer, now more and now fewer: no two that ask at the same time keep in step, and date headers, which
/// change each second, do change.
const STEP: Duration = Duration::from_millis(37);
const STEPS: usize = 11;

/// How fast requests are sent.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// Requests per second to each data plane; more than 0.
    pub rate: f64,
    /// Requests at a time.
    pub concurrency: usize,
    /// Times that both are asked for the shares of backends with weights; 0: shares are not compared.
    pub shares: usize,
}

/// Both data planes.
pub struct Pair {
    old: Side,
    new: Side,
    scope: Scope,
    concurrency: usize,
    shares: usize,
    /// A response had the header that names the upstream.
    has_upstream: Cell<bool>,
}

/// A request that was sent, and its judgement so far.
#[derive(Default)]
struct Judged {
    attempts: Attempts,
    judgement: Judgement,
}

/// A request that is sent again.
struct Open<'p> {
    probe: &'p Probe,
    judged: &'p RefCell<Judged>,
    for_shares: bool,
}

impl Judged {
    fn is_open(&self, probe: &Probe) -> bool {
        self.attempts.is_open(probe, &self.judgement)
    }
}

struct Side {
    client: Client,
    pace: Pace,
    was_asked: Cell<bool>,
    has_answered: Cell<bool>,
    unreachable: Cell<usize>,
}

impl Side {
    async fn ask(&self, probe: &Probe) -> Answered {
        if !self.has_answered.get() && self.unreachable.get() >= MOST_UNREACHABLE {
            let reason = "given up, as it has answered no request";
            return Err(Failure::Unreachable(reason.to_owned()));
        }
        self.pace.turn().await;
        self.was_asked.set(true);
        let answered = self.client.ask(&probe.request, &probe.body).await;
        match &answered {
            Ok(_) => self.has_answered.set(true),
            Err(Failure::Unreachable(_)) => self.unreachable.set(self.unreachable.get() + 1),
            Err(_) => {}
        }
        answered
    }
}

impl Pair {
    /// The old data plane, and the new one.
    #[must_use]
    pub fn new(old: Client, new: Client, scope: Scope, speed: Speed) -> Pair {
        let side = |client| Side {
            client,
            pace: Pace::new(speed.rate),
            was_asked: Cell::new(false),
            has_answered: Cell::new(false),
            unreachable: Cell::new(0),
        };
        Pair {
            old: side(old),
            new: side(new),
            scope,
            concurrency: speed.concurrency.max(1),
            shares: speed.shares,
            has_upstream: Cell::new(false),
        }
    }

    /// URLs of both.
    #[must_use]
    pub fn urls(&self) -> (String, String) {
        let urls = |side: &Side| side.client.plane().to_string();
        (urls(&self.old), urls(&self.new))
    }

    /// Sends all requests of a plan; then again, one after the other, those of an Ingress whose responses differ. Pods in turns would
    /// answer always or never alike if others took turns between them.
    pub async fn compare(&self, plan: &Plan) -> Tally {
        let first = stream::iter(&plan.probes)
            .map(|probe| self.ask(probe))
            .buffered(self.concurrency);
        let all: Vec<RefCell<Judged>> = first.map(RefCell::new).collect().await;
        let mut open: BTreeMap<&Subject, Vec<Open<'_>>> = BTreeMap::new();
        let mut asked = BTreeSet::new();
        let mut unjudged = Vec::new();
        for (probe, judged) in plan.probes.iter().zip(&all) {
            let (subject, backends) = (&probe.context.subject, &probe.context.shared_by);
            let is_first = probe.context.is_shared()
                && is_safe(&probe.request.method)
                && asked.insert((subject, backends));
            let hindrance = self.hindrance(probe);
            let for_shares = is_first && hindrance.is_none();
            if for_shares || judged.borrow().is_open(probe) {
                open.entry(subject).or_default().push(Open {
                    probe,
                    judged,
                    for_shares,
                });
            }
            if let Some(hindrance) = hindrance.filter(|_| is_first) {
                let backends = backends.join(" and ");
                unjudged.push((judged, format!("shares of {backends}: {hindrance}")));
            }
        }
        let open = stream::iter(open.into_values().enumerate());
        open.for_each_concurrent(self.concurrency, |(number, probes)| async move {
            for Open {
                probe,
                judged,
                for_shares,
            } in probes
            {
                let first = judged.take();
                let last = match for_shares {
                    true => self.ask_for_shares(probe, first).await,
                    false => self.ask_again(probe, first, number).await,
                };
                *judged.borrow_mut() = last;
            }
        })
        .await;
        for (judged, reason) in unjudged {
            judged.borrow_mut().judgement.unjudged.push(reason);
        }
        let mut tally = Tally::default();
        for subject in plan.subjects.keys() {
            tally.expect(subject);
        }
        let names = names(&plan.probes);
        for ((probe, name), judged) in plan.probes.iter().zip(&names).zip(all) {
            let judgement = judged.into_inner().judgement;
            tally.add(&probe.context, name, judgement);
        }
        tally
    }

    /// Asks both, again where they differ.
    pub async fn judge(&self, probe: &Probe) -> Judgement {
        let first = self.ask(probe).await;
        self.ask_again(probe, first, 0).await.judgement
    }

    async fn ask(&self, probe: &Probe) -> Judged {
        let mut attempts = Attempts::default();
        self.ask_both(probe, &mut attempts).await;
        let judgement = attempts.judge(probe, &self.scope);
        Judged {
            attempts,
            judgement,
        }
    }

    async fn ask_both(&self, probe: &Probe, attempts: &mut Attempts) {
        let (old, new) = join(self.old.ask(probe), self.new.ask(probe)).await;
        if let Some(name) = &self.scope.upstream_header {
            let mut responses = [&old, &new].into_iter().flatten();
            let is_there = responses.any(|response| response.values(name).next().is_some());
            self.has_upstream.set(self.has_upstream.get() || is_there);
        }
        attempts.add(old, new);
    }

    /// Reason not to send a request as often as shares need.
    fn hindrance(&self, probe: &Probe) -> Option<&'static str> {
        if self.shares <= 1 {
            Some("--share-requests turns that off")
        } else if probe.context.is_limited {
            Some("the Ingress has a rate or concurrency limit")
        } else {
            None
        }
    }

    async fn ask_for_shares(&self, probe: &Probe, first: Judged) -> Judged {
        let mut judged = first;
        for _ in 1..self.shares {
            if judged.attempts.is_void(probe) {
                break;
            }
            self.ask_both(probe, &mut judged.attempts).await;
        }
        judged.judgement = judged.attempts.judge_shares(probe, &self.scope);
        judged
    }

    /// `number`: of several that ask at the same time.
    async fn ask_again(&self, probe: &Probe, first: Judged, number: usize) -> Judged {
        let mut judged = first;
        let mut steps = number;
        while judged.is_open(probe) {
            // Another walk for each number.
            steps = (steps * 7 + number + 3) % STEPS;
            sleep(PAUSE + STEP * u32::try_from(steps).unwrap_or_default()).await;
            self.ask_both(probe, &mut judged.attempts).await;
            judged.judgement = judged.attempts.judge(probe, &self.scope);
        }
        judged
    }

    /// Flags that had no effect, and why.
    #[must_use]
    pub fn without_effect(&self) -> Vec<String> {
        let both = [&self.old, &self.new];
        let given = self.old.client.resolves().iter();
        let unused = given.filter(|resolve| {
            let mut planes = both.iter().map(|side| side.client.plane());
            !planes.any(|plane| plane.is_resolved_by(resolve))
        });
        let mut said: Vec<String> = unused
            .map(|resolve| {
                format!("--resolve {resolve}: neither --old nor --new has this host and port")
            })
            .collect();
        let has_answer = both.iter().any(|side| side.has_answered.get());
        if let Some(name) = self.scope.upstream_header.as_ref()
            && has_answer
            && !self.has_upstream.get()
        {
            said.push(format!("--upstream-header {name}: no response had it"));
        }
        said
    }

    /// The reason for which a comparison is worth nothing.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        if !self.old.was_asked.get() && !self.new.was_asked.get() {
            return Some("no request was sent, as none fits the flags".to_owned());
        }
        let silent = |side: &Side| !side.has_answered.get();
        match (silent(&self.old), silent(&self.new)) {
            (false, false) => None,
            (true, true) => Some("neither data plane has answered a request".to_owned()),
            (true, false) => Some("the old data plane has answered no request".to_owned()),
            (false, true) => Some("the new data plane has answered no request".to_owned()),
        }
    }
}
