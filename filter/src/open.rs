//! Open requests: what is still to be done for each.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use sluice_filter_core::connections::Client;
use sluice_filter_core::{Rewrites, Ticket};

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
    pub(crate) fn keep_rewrites(&mut self, context: u32, rewrites: Rc<Rewrites>) {
        self.rewrites.insert(context, rewrites);
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
