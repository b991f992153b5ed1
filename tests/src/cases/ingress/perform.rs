//! Plays one case: its checks one after the other, in one world.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::action::{self, Action};
use super::asked::{Asked, Under};
use super::check::texts;
use super::control::plane::{self, State};
use super::control::read::STATUS;
use super::idle::Idle;
use super::schema::{Case, Check};
use super::world::World;
use crate::cases::{Outcome, Selection};
use crate::process;

/// How long something may be as it was before: listeners, certificates and logs follow routes and endpoints, and
/// nothing tells when they have.
const AFTERMATH: Duration = Duration::from_secs(2);
/// A controller writes when it leads.
const ELECTED: Duration = Duration::from_secs(10);
/// When requests have been sent, and those that are slow not yet answered.
const UNDER_WAY: Duration = Duration::from_millis(300);
const AGAIN: Duration = Duration::from_millis(100);

/// Plays a case, as it stands in the file; in an idle world if there is one that fits.
pub async fn play(words: &Value, selection: &Selection, idle: &Idle) -> Outcome {
    let case = match Case::read(words) {
        Ok(case) => case,
        Err(error) => {
            return Outcome::NotApplicable(format!(
                "a word that this runner does not know: {error}"
            ));
        }
    };
    // What cannot be done is known before anything starts.
    for (n, check) in case.checks.iter().enumerate() {
        let words = &words["checks"][n];
        if let Err(reason) = Asked::of(check).fits(&words["when"], &words["then"]) {
            return Outcome::NotApplicable(format!("check {}: {reason}", n + 1));
        }
    }
    let world = match idle.take(&case, selection) {
        Some(world) => world.of_next(&case).await,
        None => World::start(&case, selection).await,
    };
    let mut world = match world {
        Ok(world) => world,
        Err(outcome) => return outcome,
    };
    let mut reasons = match world.checks(&case).await {
        Ok(reasons) => reasons,
        Err(outcome) => return outcome,
    };
    let end = match reasons.is_empty() {
        true => idle.put(world, &case, selection),
        false => world.end(),
    };
    reasons.extend(end.err().map(|error| format!("{error:#}")));
    Outcome::of(reasons)
}

impl World {
    /// Performs all checks of a case and returns the differences, or the outcome of a case that cannot be played to its end.
    async fn checks(&mut self, case: &Case) -> Result<Vec<String>, Outcome> {
        let mut reasons = Vec::new();
        for (n, check) in case.checks.iter().enumerate() {
            let of_check = |reason: String| format!("check {}: {reason}", n + 1);
            match self.check(check).await {
                Ok(found) => reasons.extend(found.into_iter().map(of_check)),
                Err(reason) => return Err(Outcome::cut_short(reasons, of_check(reason))),
            }
        }
        Ok(reasons)
    }

    /// Performs a check and returns the differences.
    ///
    /// # Errors
    /// The part of the check that cannot be done.
    async fn check(&mut self, check: &Check) -> Result<Vec<String>, String> {
        let before = match plane::is_asked_for(&check.then) {
            true => State::of(&self.sluice).await.map(Some),
            false => Ok(None),
        };
        let before = match before {
            Ok(before) => before,
            Err(error) => return Ok(vec![format!("the data plane's configuration: {error:#}")]),
        };
        let mut actions = Vec::new();
        for text in &check.when.after.0 {
            actions.extend(action::parse(text)?);
        }
        for action in &actions {
            self.model.change(action, check)?;
            if let Action::Wait(time) = action {
                tokio::time::sleep(*time).await;
            } else if let Err(error) = self.follow().await {
                return Ok(vec![format!("{error:#}")]);
            }
        }
        let patience = patience(check, !actions.is_empty())?;
        let start = Instant::now();
        loop {
            let mut reasons = self.ask(check).await?;
            reasons.extend(self.general(check, before.as_ref()).await);
            if reasons.is_empty() || start.elapsed() >= patience {
                return Ok(reasons);
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn ask(&mut self, check: &Check) -> Result<Vec<String>, String> {
        let Check { when, then, .. } = check;
        match Asked::of(check) {
            Asked::Requests => self.requests(check).await,
            Asked::Admission => self.admission(when, then).await,
            Asked::Read(what) => Ok(self.read(what, then).await),
            Asked::Exec(command) => self.exec(command, then),
            Asked::Metric(name) => {
                if let Some(request) = &when.request {
                    self.exchanges(request).await?;
                }
                self.metric(name, then).await
            }
            Asked::Signal(Under::Requests, signal) => {
                let process = self.sluice.pid();
                let told = async {
                    tokio::time::sleep(UNDER_WAY).await;
                    process::signal_by_name(process, signal)
                };
                let (told, reasons) = tokio::join!(told, self.requests(check));
                told.map_err(|error| format!("{error:#}")).and(reasons)
            }
            Asked::Signal(Under::Nothing, signal) => {
                let ended = self.end_by(signal).await;
                match ended {
                    Ok(()) => Ok(self.read(STATUS, then).await),
                    Err(error) => Ok(vec![format!("signal {signal:?}: {error:#}")]),
                }
            }
            Asked::Connection(port) => {
                let (place, start) = (self.pods.journal.len(), Instant::now());
                let exchange = self.connect(port, when).await;
                self.compare(check, &[exchange], place, start.elapsed())
                    .await
            }
            Asked::Dns(question) => Ok(self.ask_dns(question, when, then).await),
            Asked::Nothing => {
                let place = self.pods.journal.len();
                self.compare(check, &[], place, Duration::ZERO).await
            }
        }
    }

    /// Expectations of every kind of check.
    async fn general(&self, check: &Check, before: Option<&State>) -> Vec<String> {
        let mut reasons = Vec::new();
        if plane::is_asked_for(&check.then) {
            reasons.extend(self.plane(&check.then, before).await);
        }
        let lines = self.sluice.log().lines();
        for text in check.then.log_contains.iter().flat_map(texts) {
            if !lines.iter().any(|line| line.contains(&text)) {
                let count = lines.len();
                reasons.push(format!(
                    "log_contains: {text:?} is in none of the log's {count} lines"
                ));
            }
        }
        reasons
    }

    /// Ends it.
    ///
    /// # Errors
    /// When its controller did not end well.
    pub fn end(self) -> anyhow::Result<()> {
        self.sluice.stop()
    }
}

/// How long a check may go wrong.
fn patience(check: &Check, after_action: bool) -> Result<Duration, String> {
    if let Some(seconds) = check.when.within_s {
        return Duration::try_from_secs_f64(seconds).map_err(|error| format!("within_s: {error}"));
    }
    if check.when.read.is_some() {
        return Ok(ELECTED);
    }
    let then = &check.then;
    let is_slow = check.when.metric.is_some()
        || then.log_contains.is_some()
        || then.config_contains.is_some()
        || then.checksum_changed == Some(true);
    Ok(if after_action || is_slow {
        AFTERMATH
    } else {
        Duration::ZERO
    })
}
