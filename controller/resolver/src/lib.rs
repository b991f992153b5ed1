//! Names of upstreams, and the addresses that they have right now.
//!
//! ```text
//!   Publisher --follow, forget--> Names --look up, again after the TTL--> DNS
//!       ^                           |
//!       +------- Resolution --------+     only when it is another one
//! ```
//!
//! The controller asks, and no data plane does: what a name leads to is judged like every other address (R9 of the security
//! rules) before it is an endpoint, each time it moves.
//!
//! Names that do not answer keep nobody waiting: names that do have turns of their own, and a name that fails is looked at
//! ever more rarely. Nor do the names of one namespace keep those of another waiting: turns are fair, and there are only so
//! many names of each.

mod dns;
mod follow;
mod gate;
mod message;
mod places;
mod query;

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use sluice_translate::{DnsName, Resolution};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep};

pub use dns::Dns;

use follow::{Followed, LookupState};
use gate::Gate;
use places::{Placed, Places};

/// Questions at a time about names that answer.
const TURNS_OF_KNOWN: usize = 64;
/// Questions at a time about names that nobody has asked about yet: some of them will not be answered, and others are new
/// then, too.
const TURNS_OF_NEW: usize = 256;
/// Questions at a time about names that fail.
const TURNS_OF_FAILING: usize = 16;
/// Each of them waits at most once.
const ALL_WAIT: usize = usize::MAX;
/// How often the system's own settings are looked at.
const REFRESH: Duration = Duration::from_secs(10);

/// Handle of the publisher.
#[derive(Debug)]
pub struct Names {
    commands: UnboundedSender<Command>,
    answers: UnboundedReceiver<(DnsName, Resolution)>,
}

#[derive(Debug)]
enum Command {
    /// For these namespaces; for none, it is forgotten.
    Follow(DnsName, BTreeSet<String>),
}

/// Task that resolves names.
pub struct Follower {
    dns: Dns,
    commands: UnboundedReceiver<Command>,
    answers: UnboundedSender<(DnsName, Resolution)>,
    places: Places,
    followed: HashMap<DnsName, Look>,
    looks: JoinSet<()>,
    turns: Turns,
}

/// A name that is looked at again and again.
struct Look {
    task: AbortHandle,
    /// Namespaces that need it.
    namespace: watch::Sender<String>,
}

/// How many questions may be under way, by what is known of the names.
#[derive(Clone)]
struct Turns {
    known: Gate,
    new: Gate,
    failing: Gate,
}

impl Turns {
    fn new() -> Self {
        let turns = |count| Gate::new(count, ALL_WAIT);
        Turns {
            known: turns(TURNS_OF_KNOWN),
            new: turns(TURNS_OF_NEW),
            failing: turns(TURNS_OF_FAILING),
        }
    }

    fn of(&self, state: LookupState) -> &Gate {
        match state {
            LookupState::Known => &self.known,
            LookupState::New => &self.new,
            LookupState::Failing => &self.failing,
        }
    }
}

impl Names {
    /// Both ends.
    pub fn new(dns: Dns) -> (Names, Follower) {
        let (commands, heard) = mpsc::unbounded_channel();
        let (answers, told) = mpsc::unbounded_channel();
        let follower = Follower {
            dns,
            commands: heard,
            answers,
            places: Places::default(),
            followed: HashMap::new(),
            looks: JoinSet::new(),
            turns: Turns::new(),
        };
        (
            Names {
                commands,
                answers: told,
            },
            follower,
        )
    }

    /// From now on its addresses are told, and told again when they change, because these namespaces need it. For none it is
    /// forgotten.
    pub fn follow(&self, name: DnsName, namespaces: BTreeSet<String>) {
        // The other end is gone only when the program ends.
        self.commands.send(Command::Follow(name, namespaces)).ok();
    }

    /// The next change. Waits for ever when no names are left.
    pub async fn next(&mut self) -> (DnsName, Resolution) {
        match self.answers.recv().await {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }

    /// A change that is there already.
    pub fn try_next(&mut self) -> Option<(DnsName, Resolution)> {
        self.answers.try_recv().ok()
    }
}

impl Follower {
    /// Runs until all handles are dropped.
    pub async fn run(mut self) {
        let mut refresh = interval(REFRESH);
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                command = self.commands.recv() => match command {
                    Some(Command::Follow(name, namespaces)) => self.place(&name, namespaces),
                    None => return,
                },
                Some(ended) = self.looks.join_next() => {
                    // A name whose lookups have stopped would stay as it is for ever, in silence.
                    if let Err(error) = ended && error.is_panic() {
                        std::panic::resume_unwind(error.into_panic());
                    }
                }
                _ = refresh.tick() => self.dns.refresh(),
            }
        }
    }

    fn place(&mut self, name: &DnsName, namespaces: BTreeSet<String>) {
        if namespaces.is_empty() {
            self.forget(name);
        }
        for (name, placed) in self.places.set(name, namespaces) {
            match placed {
                Placed::For(namespace) => self.follow(name, namespace),
                Placed::Nowhere => {
                    self.forget(&name);
                    let failure = format!(
                        "its namespace has {} names already, more are not looked up",
                        places::MOST
                    );
                    let nothing = Resolution {
                        failure: Some(failure),
                        ..Resolution::default()
                    };
                    self.answers.send((name, nothing)).ok();
                }
            }
        }
    }

    fn follow(&mut self, name: DnsName, namespace: String) {
        if let Some(look) = self.followed.get(&name) {
            look.namespace.send_replace(namespace);
            return;
        }
        let (dns, turns, answers) = (self.dns.clone(), self.turns.clone(), self.answers.clone());
        let (sender, namespace) = watch::channel(namespace);
        let task = self
            .looks
            .spawn(follow(name.clone(), namespace, dns, turns, answers));
        self.followed.insert(
            name,
            Look {
                task,
                namespace: sender,
            },
        );
    }

    fn forget(&mut self, name: &DnsName) {
        if let Some(look) = self.followed.remove(name) {
            look.task.abort();
        }
    }
}

/// Looks a name up again and again, until the receiver is dropped.
async fn follow(
    name: DnsName,
    namespace: watch::Receiver<String>,
    dns: Dns,
    turns: Turns,
    answers: UnboundedSender<(DnsName, Resolution)>,
) {
    let mut followed = Followed::default();
    loop {
        let found = {
            let namespace = namespace.borrow().clone();
            // There is room for all.
            let _turn = turns.of(followed.state()).enter(&namespace).await;
            dns.look_up(name.as_str()).await
        };
        let next = followed.take(found, Instant::now());
        if let Some(resolution) = next.publish
            && answers.send((name.clone(), resolution)).is_err()
        {
            return;
        }
        sleep(next.pause).await;
    }
}
