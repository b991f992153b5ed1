//! The life of a request: it arrives, it is answered, it is over. To the host it is a number.

use std::rc::Rc;

use proxy_wasm::types::Action;
use rustc_hash::FxHashMap;
use sluice_filter_core::connections::Client;
use sluice_filter_core::{Rewrites, Ticket};

use crate::worker::{Fate, Worker};

/// It has come, with its headers.
pub(crate) fn arrived(context: u32) -> Action {
    #[cfg(feature = "fault-injection")]
    fail_if_asked();
    match Worker::with(|worker| worker.handle(context)) {
        Fate::GoesOn => Action::Continue,
        Fate::Answered | Fate::Waits => Action::Pause,
    }
}

/// An endpoint has answered it.
pub(crate) fn answered(context: u32) {
    Worker::with(|worker| {
        // The pod's own cookies: that of a session of ours is not there yet.
        worker.rewrite(context);
        worker.begin_session(context);
    });
}

/// It was served, or its client went away. Envoy and nginx say so of every request.
pub(crate) fn over(context: u32) {
    Worker::with(|worker| worker.learn(context));
}

/// The host knows no more of it.
pub(crate) fn gone(context: u32) {
    Worker::with(|worker| worker.abandon(context));
}

/// The requests that something is still to be done for. Most are never in here.
#[derive(Debug, Default)]
pub(crate) struct Open {
    waiting: Vec<u32>,
    /// Those that wait for the answer of a call of their own, by its token.
    asking: FxHashMap<u32, u32>,
    tickets: FxHashMap<u32, Ticket>,
    counted: FxHashMap<u32, Client>,
    /// What is replaced in their answers.
    rewrites: FxHashMap<u32, Rc<Rewrites>>,
}

impl Open {
    /// This one is paused until the first tables are there.
    pub(crate) fn wait(&mut self, context: u32) {
        self.waiting.push(context);
    }

    pub(crate) fn is_anybody_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// All that wait; they do so no more.
    pub(crate) fn waiting(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.waiting)
    }

    /// This one is paused until its own call is answered.
    pub(crate) fn ask(&mut self, token: u32, context: u32) {
        self.asking.insert(token, context);
    }

    /// Whose call it was; it asks no more.
    pub(crate) fn asked(&mut self, token: u32) -> Option<u32> {
        if self.asking.is_empty() {
            return None;
        }
        self.asking.remove(&token)
    }

    /// A retry goes on with what was decided for the first attempt.
    pub(crate) fn hand_over(&mut self, first: u32, retry: u32) {
        if let Some(ticket) = self.tickets.remove(&first) {
            self.tickets.insert(retry, ticket);
        }
    }

    /// What was decided for this one comes back at its end.
    pub(crate) fn keep(&mut self, context: u32, ticket: Option<Ticket>) {
        if let Some(ticket) = ticket {
            self.tickets.insert(context, ticket);
        }
    }

    /// This one counts for its client until its end.
    pub(crate) fn count(&mut self, context: u32, client: Option<Client>) {
        if let Some(client) = client {
            self.counted.insert(context, client);
        }
    }

    /// For whom this one counted, once.
    pub(crate) fn uncount(&mut self, context: u32) -> Option<Client> {
        self.counted.remove(&context)
    }

    /// The answer of this one is to be written anew.
    pub(crate) fn rewrite(&mut self, context: u32, rewrites: Option<Rc<Rewrites>>) {
        if let Some(rewrites) = rewrites {
            self.rewrites.insert(context, rewrites);
        }
    }

    /// How the answer of this one is to be written anew.
    pub(crate) fn rewrites(&self, context: u32) -> Option<&Rewrites> {
        self.rewrites.get(&context).map(Rc::as_ref)
    }

    /// What was decided for this one.
    pub(crate) fn ticket(&self, context: u32) -> Option<&Ticket> {
        self.tickets.get(&context)
    }

    /// This one is over.
    pub(crate) fn close(&mut self, context: u32) -> Option<Ticket> {
        if !self.waiting.is_empty() {
            self.waiting.retain(|&waiting| waiting != context);
        }
        if !self.asking.is_empty() {
            self.asking.retain(|_, &mut asking| asking != context);
        }
        if !self.rewrites.is_empty() {
            self.rewrites.remove(&context);
        }
        self.tickets.remove(&context)
    }
}

#[cfg(feature = "fault-injection")]
#[allow(clippy::panic, reason = "this is the fault")]
fn fail_if_asked() {
    use crate::host;

    if host::asks_for("x-test-panic") {
        panic!("asked for by the test");
    }
    if host::asks_for("x-test-loop") {
        loop {
            std::hint::spin_loop();
        }
    }
}
