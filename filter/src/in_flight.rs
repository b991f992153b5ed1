//! InFlight requests: what is still to be done for each.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use sluice_filter_core::connections::Client;
use sluice_filter_core::{RequestToken, Rewrites};

/// The requests that something is still to be done for. Most are never in here.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    waiting: Vec<u32>,
    /// Those that wait for the answer of a call of their own, by its token.
    waiting_for_call: FxHashMap<u32, u32>,
    tokens: FxHashMap<u32, RequestToken>,
    connections: FxHashMap<u32, Client>,
    /// Replacements in their responses.
    rewrites: FxHashMap<u32, Rc<Rewrites>>,
}

impl InFlight {
    /// This one is paused until the first tables are there.
    pub(crate) fn wait(&mut self, context: u32) {
        self.waiting.push(context);
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// All that wait; they do so no more.
    pub(crate) fn take_waiting(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.waiting)
    }

    /// This one is paused until its own call is answered.
    pub(crate) fn wait_for_call(&mut self, token: u32, context: u32) {
        self.waiting_for_call.insert(token, context);
    }

    /// Context of a call, which waits no more.
    pub(crate) fn waiting_for(&mut self, token: u32) -> Option<u32> {
        if self.waiting_for_call.is_empty() {
            return None;
        }
        self.waiting_for_call.remove(&token)
    }

    /// A retry goes on with what was decided for the first attempt.
    pub(crate) fn hand_over(&mut self, first: u32, retry: u32) {
        if let Some(token) = self.tokens.remove(&first) {
            self.tokens.insert(retry, token);
        }
    }

    /// Keeps the token of a decision until the request is complete.
    pub(crate) fn keep_token(&mut self, context: u32, token: Option<RequestToken>) {
        if let Some(token) = token {
            self.tokens.insert(context, token);
        }
    }

    /// This one counts for its client until its end.
    pub(crate) fn keep_connection(&mut self, context: u32, client: Option<Client>) {
        if let Some(client) = client {
            self.connections.insert(context, client);
        }
    }

    /// Client that this one counted for, once.
    pub(crate) fn release_connection(&mut self, context: u32) -> Option<Client> {
        self.connections.remove(&context)
    }

    /// The answer of this one is to be written anew.
    pub(crate) fn keep_rewrites(&mut self, context: u32, rewrites: Rc<Rewrites>) {
        self.rewrites.insert(context, rewrites);
    }

    /// How the answer of this one is to be written anew.
    pub(crate) fn rewrites(&self, context: u32) -> Option<&Rewrites> {
        self.rewrites.get(&context).map(Rc::as_ref)
    }

    /// Token of the decision about this request.
    pub(crate) fn token(&self, context: u32) -> Option<&RequestToken> {
        self.tokens.get(&context)
    }

    /// This one is over.
    pub(crate) fn close(&mut self, context: u32) -> Option<RequestToken> {
        if !self.waiting.is_empty() {
            self.waiting.retain(|&waiting| waiting != context);
        }
        if !self.waiting_for_call.is_empty() {
            self.waiting_for_call
                .retain(|_, &mut waiting| waiting != context);
        }
        if !self.rewrites.is_empty() {
            self.rewrites.remove(&context);
        }
        self.tokens.remove(&context)
    }
}
