//! The controller's side of the firewall.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sluice_ir::{Config, RouteId, Server, changed};
use sluice_tasks::Tasks;
use sluice_xds::firewall::{CoreRules, RuleSet, of_route, rule_sets};
use tokio::sync::watch;
use tracing::error;

use crate::connection::Connection;
use crate::supervisor;
use crate::wire::{Answer, Loaded, Refused, Rules, Wanted};

/// Longest wait for rules to be parsed. Those of a thousand routes take some seconds.
const PARSED: Duration = Duration::from_mins(1);

/// The firewall: a handle, cheap to clone. Its process is there as soon as a route needs it.
#[derive(Clone, Debug)]
pub struct Firewall {
    connection: Connection,
    wanted: Arc<watch::Sender<Wanted>>,
    answers: watch::Receiver<Answer>,
}

/// Result of loading the rules of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOutcome {
    /// Routes that have no firewall, because something is not installed where the controller runs.
    pub missing: BTreeMap<RouteId, Missing>,
    /// Routes whose rules the engine does not take, and what it says.
    pub refused: BTreeMap<RouteId, String>,
    /// Refusal of the rules of all routes, in its words.
    pub refused_of_all: Option<String>,
}

/// Not installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// libmodsecurity.
    Engine,
    /// The OWASP Core Rule Set.
    CoreRules,
}

impl Firewall {
    /// A firewall without rules, and without a process. Its socket is where `socket` says, and `flags` are its others.
    #[must_use]
    pub fn new(socket: PathBuf, flags: Vec<&'static str>, tasks: &Tasks) -> Self {
        let connection = Connection::new(socket, tasks);
        let (wanted, following) = watch::channel(Wanted::default());
        let (answering, answers) = watch::channel(Answer::default());
        let supervised = supervisor::run(connection.clone(), flags, following, answering);
        tasks.spawn("firewall", supervised);
        Firewall {
            connection,
            wanted: Arc::new(wanted),
            answers,
        }
    }

    /// Loads the rules of a configuration, beside those that are there. Without firewalls it costs what has changed since
    /// `before`.
    pub async fn load(&self, now: &Config, before: &Config) -> LoadOutcome {
        let known = Arc::clone(&self.wanted.borrow().rules);
        if known.sets.is_empty() && !has_firewalls(before, now) {
            return LoadOutcome::default();
        }
        let mut all = known.sets.clone();
        all.extend(rule_sets(now));
        let number = self.want(all);
        let mut answers = self.answers.clone();
        let answered = answers.wait_for(|answer| answer.number >= number);
        match tokio::time::timeout(PARSED, answered).await {
            Ok(Ok(answer)) => load_outcome(now, &answer.loaded),
            Ok(Err(_)) | Err(_) => {
                error!(
                    "the web application firewall does not answer; its paths answer 503 until it does"
                );
                LoadOutcome::default()
            }
        }
    }

    /// No data plane names other rules any more.
    pub fn keep_only(&self, now: &Config) {
        if !self.wanted.borrow().rules.sets.is_empty() {
            self.want(rule_sets(now));
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Number of these rules.
    fn want(&self, sets: BTreeMap<String, RuleSet>) -> u64 {
        let rules = Rules { sets };
        self.wanted.send_if_modified(|wanted| {
            let differs = *wanted.rules != rules;
            if differs {
                wanted.number += 1;
                wanted.rules = Arc::new(rules);
            }
            differs
        });
        self.wanted.borrow().number
    }
}

/// True if a server that has changed has a firewall. Where none had one before, no other has.
fn has_firewalls(before: &Config, now: &Config) -> bool {
    let has = |server: &Arc<Server>| server.routes.iter().any(|route| route.policy.waf.is_some());
    changed(&before.servers, &now.servers).any(|server| server.now.is_some_and(has))
}

fn load_outcome(now: &Config, loaded: &Loaded) -> LoadOutcome {
    let mut outcome = LoadOutcome::default();
    for route in now.routes() {
        let Some(set) = of_route(route, now) else {
            continue;
        };
        let missing = match &loaded.no_engine {
            Some(_) => Some(Missing::Engine),
            None => {
                let has_some = set.common.core_rules != CoreRules::Absent;
                (has_some && !loaded.has_core_rules).then_some(Missing::CoreRules)
            }
        };
        let refused = loaded.refused.get(&set.name());
        if let Some(missing) = missing {
            outcome.missing.insert(route.id.clone(), missing);
        } else if let Some(Refused { reason, is_of_all }) = refused {
            outcome.refused.insert(route.id.clone(), reason.clone());
            outcome.refused_of_all = is_of_all.then(|| reason.clone()).or(outcome.refused_of_all);
        }
    }
    outcome
}
