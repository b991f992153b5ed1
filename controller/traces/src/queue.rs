//! Spans that wait for the collector.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Notify,
    /// There may be room: spans have left, or the collector has failed and nobody is to wait for it.
    room: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Span>,
    /// Spans that are being sent. They count: until they have arrived, they may come back.
    on_the_way: usize,
    /// The last attempt failed.
    fails: bool,
}

impl Queue {
    /// A poisoned lock guards whole values.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if fewer than `most` spans are here.
    pub(crate) fn has_room(&self, most: usize) -> bool {
        let state = self.state();
        state.waiting.len() + state.on_the_way < most
    }

    /// True if the last attempt failed.
    pub(crate) fn fails(&self) -> bool {
        self.state().fails
    }

    /// Waits for room; `false` if there is none at the deadline, or the collector fails.
    pub(crate) async fn wait_for_room(&self, most: usize, deadline: Instant) -> bool {
        self.wake();
        while !self.fails() && !self.has_room(most) {
            if timeout_at(deadline, self.room.notified()).await.is_err() {
                break;
            }
        }
        self.has_room(most)
    }

    pub(crate) fn push(&self, span: Span) {
        self.state().waiting.push_back(span);
    }

    /// Wakes up who waits for spans.
    pub(crate) fn wake(&self) {
        self.filled.notify_one();
    }

    /// Waits until something is here.
    pub(crate) async fn wait(&self) {
        while self.state().waiting.is_empty() {
            self.filled.notified().await;
        }
    }

    pub(crate) fn clear(&self) {
        self.state().waiting.clear();
    }

    /// The next spans, which are on their way from now on.
    pub(crate) fn begin(&self, most: usize) -> Vec<Span> {
        let mut state = self.state();
        let count = most.min(state.waiting.len());
        state.on_the_way = count;
        state.waiting.drain(..count).collect()
    }

    /// Spans that did not arrive are the next ones again.
    pub(crate) fn put_back(&self, spans: Vec<Span>) {
        let mut state = self.state();
        state.on_the_way = 0;
        spans
            .into_iter()
            .rev()
            .for_each(|span| state.waiting.push_front(span));
    }

    /// The collector has answered; `true` if it did not before.
    pub(crate) fn succeeded(&self) -> bool {
        self.end(false)
    }

    /// The collector has not taken spans; `true` if it did before.
    pub(crate) fn failed(&self) -> bool {
        self.end(true)
    }

    fn end(&self, fails: bool) -> bool {
        let mut state = self.state();
        state.on_the_way = 0;
        let before = std::mem::replace(&mut state.fails, fails);
        self.room.notify_one();
        before != fails
    }
}
