//! Many data planes of one controller: clients that behave on the wire as Envoys do, and keep of each resource the name and
//! the version only, so that hundreds of them fit beside a controller.
//!
//! ```text
//!   Fleet --starts--> stream (one task each): gRPC over HTTP/2, reconnects
//!                       |- reader: bytes --> resources, removals, ends of responses
//!                       \- holdings (pure): what it has, what that leads to --> ACKs and subscriptions
//! ```
//!
//! Absent on purpose: NACKs, and the content of a resource beyond the names in it that an Envoy asks for.

mod holdings;
mod kind;
mod reader;
mod references;
mod stream;
mod wire;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use holdings::{Holdings, Names};
pub use kind::Kind;
use stream::{Conversation, Stream};

/// How a client behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behaviour {
    /// As an Envoy.
    #[default]
    Normal,
    /// Its connection stands still, as that of a process that was stopped: nothing is read any more.
    Stopped,
    /// It reads and answers nothing.
    Mute,
}

/// Progress of one client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many resources of each kind it has.
    pub held: [usize; Kind::ALL.len()],
    /// Subscribed names that it does not have.
    pub missing: usize,
    /// Bytes of responses, on all its streams.
    pub bytes: u64,
    /// Resources that came, on all its streams.
    pub resources: u64,
    /// Streams that it has opened.
    pub streams: u64,
    /// The last text of [`Fleet::expect`] that it has acknowledged, and when.
    pub acknowledged: Option<(u64, Instant)>,
    /// Reason for a client's end: it was sent something that is no xDS.
    pub error: Option<String>,
}

impl Progress {
    /// How many resources of a kind it has.
    #[must_use]
    pub fn of(&self, kind: Kind) -> usize {
        self.held[kind as usize]
    }
}

/// A text that endpoints are to have, and its number.
#[derive(Clone, Debug, Default)]
struct Expected {
    number: u64,
    text: String,
}

impl Expected {
    /// The number of the text, if these bytes have it.
    fn number_in(&self, bytes: &[u8]) -> Option<u64> {
        let text = self.text.as_bytes();
        let has_it = !text.is_empty() && bytes.windows(text.len()).any(|window| window == text);
        has_it.then_some(self.number)
    }
}

/// The clients of one controller. They end when this is dropped.
#[derive(Debug)]
pub struct Fleet {
    address: String,
    names: Arc<Names>,
    expected: watch::Sender<Expected>,
    clients: Vec<Client>,
}

#[derive(Debug)]
struct Client {
    behaviour: watch::Sender<Behaviour>,
    progress: watch::Receiver<Progress>,
    task: JoinHandle<()>,
}

impl Fleet {
    /// Nobody yet. `address` is that of xDS: `unix:PATH` or an IP address with a port.
    #[must_use]
    pub fn new(address: &str) -> Fleet {
        Fleet {
            address: address.to_owned(),
            names: Arc::default(),
            expected: watch::Sender::default(),
            clients: Vec::new(),
        }
    }

    /// So many more, with nothing. They connect as soon as there is a controller, and again whenever their stream ends.
    pub fn join(&mut self, count: usize) {
        for _ in 0..count {
            let behaviour = watch::Sender::default();
            let progress = watch::Sender::default();
            let node = format!("fleet-{}", self.clients.len());
            let stream = Stream {
                address: self.address.clone(),
                behaviour: behaviour.subscribe(),
                conversation: Conversation {
                    holdings: Holdings::new(node, Arc::clone(&self.names)),
                    expected: self.expected.subscribe(),
                    progress: progress.clone(),
                },
            };
            self.clients.push(Client {
                behaviour,
                progress: progress.subscribe(),
                task: tokio::spawn(stream.run()),
            });
        }
    }

    /// The last so many of those that behave no longer do.
    pub fn break_down(&self, count: usize, behaviour: Behaviour) {
        let behaving: Vec<&Client> = self.behaving().collect();
        for client in behaving.iter().rev().take(count) {
            client.behaviour.send_replace(behaviour);
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// True without a client.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// Waits until this is so of each client that behaves.
    ///
    /// # Errors
    /// When it is not within the limit; the text has a client of which it is not.
    pub async fn wait(
        &self,
        limit: Duration,
        what: &str,
        is_so: impl Fn(&Progress) -> bool,
    ) -> Result<()> {
        let until = tokio::time::Instant::now() + limit;
        for client in self.behaving() {
            let mut progress = client.progress.clone();
            let so = progress.wait_for(|progress| progress.error.is_some() || is_so(progress));
            let Ok(so) = tokio::time::timeout_at(until, so).await else {
                let seconds = limit.as_secs();
                bail!(
                    "waited {seconds} s for clients {what}: {:?}",
                    *client.progress.borrow()
                );
            };
            if let Some(error) = &so.context("a client ended")?.error {
                bail!("a client: {error}");
            }
        }
        Ok(())
    }

    /// From now on clients look for a text in endpoints that come. It must be in none that they have.
    pub fn expect(&self, text: &str) {
        self.expected.send_modify(|expected| {
            *expected = Expected {
                number: expected.number + 1,
                text: text.to_owned(),
            };
        });
    }

    /// Waits until each client that behaves has acknowledged the text of [`Fleet::expect`]; when the last one did.
    ///
    /// # Errors
    /// When one does not within the limit.
    pub async fn acknowledged(&self, limit: Duration) -> Result<Instant> {
        let wanted = self.expected.borrow().number;
        let when = |progress: &Progress| {
            let (number, at) = progress.acknowledged?;
            (number >= wanted).then_some(at)
        };
        self.wait(limit, "to acknowledge a change", |progress| {
            when(progress).is_some()
        })
        .await?;
        let all = self
            .behaving()
            .filter_map(|client| when(&client.progress.borrow()));
        all.max().context("a fleet without clients")
    }

    /// Bytes and resources that all clients that behave were sent so far.
    #[must_use]
    pub fn received(&self) -> (u64, u64) {
        self.behaving().fold((0, 0), |(bytes, resources), client| {
            let progress = client.progress.borrow();
            (bytes + progress.bytes, resources + progress.resources)
        })
    }

    fn behaving(&self) -> impl Iterator<Item = &Client> {
        self.clients
            .iter()
            .filter(|client| *client.behaviour.borrow() == Behaviour::Normal)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.clients.iter().for_each(|client| client.task.abort());
    }
}
