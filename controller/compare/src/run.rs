//! Sends the requests of a plan to both data planes, so many at a time and per second, and judges what they answer.

use std::cell::Cell;
use std::time::Duration;

use futures::StreamExt;
use futures::future::join;
use futures::stream;
use tokio::time::sleep;

use crate::client::Client;
use crate::facts::Scope;
use crate::findings::Tally;
use crate::judge::{Attempts, Judgement};
use crate::pace::Pace;
use crate::plan::Plan;
use crate::probe::Probe;
use crate::response::{Answered, Failure};
use crate::text::printable;

/// Pause before both are asked again: together longer than a second, in which dates change.
const PAUSE: Duration = Duration::from_millis(400);
/// Connections that fail before a data plane that never answered is given up.
const MOST_UNREACHABLE: usize = 3;

/// How fast requests are sent.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// Requests per second to each data plane; more than 0.
    pub rate: f64,
    /// Requests at a time.
    pub concurrency: usize,
}

/// Both data planes.
pub struct Pair {
    old: Side,
    new: Side,
    scope: Scope,
    concurrency: usize,
}

struct Side {
    client: Client,
    pace: Pace,
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
            has_answered: Cell::new(false),
            unreachable: Cell::new(0),
        };
        Pair {
            old: side(old),
            new: side(new),
            scope,
            concurrency: speed.concurrency.max(1),
        }
    }

    /// URLs of both.
    #[must_use]
    pub fn urls(&self) -> (String, String) {
        let urls = |side: &Side| side.client.plane().to_string();
        (urls(&self.old), urls(&self.new))
    }

    /// Sends all requests of a plan.
    pub async fn compare(&self, plan: &Plan) -> Tally {
        let mut tally = Tally::default();
        for subject in plan.subjects.keys() {
            tally.expect(subject);
        }
        let judged = stream::iter(&plan.probes)
            .map(|probe| self.judge(probe))
            .buffered(self.concurrency);
        let mut judged = std::pin::pin!(judged.zip(stream::iter(&plan.probes)));
        while let Some((judgement, probe)) = judged.next().await {
            let request = printable(&probe.request.to_string());
            tally.add(&probe.context.subject, &request, judgement);
        }
        tally
    }

    /// Asks both, again where they differ.
    pub async fn judge(&self, probe: &Probe) -> Judgement {
        let mut attempts = Attempts::default();
        loop {
            let (old, new) = join(self.old.ask(probe), self.new.ask(probe)).await;
            attempts.add(old, new);
            let judgement = attempts.judge(probe, &self.scope);
            if !attempts.is_open(probe, &judgement) {
                return judgement;
            }
            sleep(PAUSE).await;
        }
    }

    /// The reason for which a comparison is worth nothing.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let silent = |side: &Side| !side.has_answered.get();
        match (silent(&self.old), silent(&self.new)) {
            (false, false) => None,
            (true, true) => Some("neither data plane has answered a request".to_owned()),
            (true, false) => Some("the old data plane has answered no request".to_owned()),
            (false, true) => Some("the new data plane has answered no request".to_owned()),
        }
    }
}
