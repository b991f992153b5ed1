//! A request, as a handle that outlives it.

mod lifecycle;
mod pause;

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ptr::NonNull;
use std::rc::Rc;

use nginx_sys::{ngx_event_t, ngx_http_request_t, ngx_post_event, ngx_posted_events};

use crate::reply::Reply;
use crate::view::View;
pub(crate) use pause::PhaseResult;

/// A handle of a request with its per-request state `D`.
pub struct Request<D: 'static>(Rc<Live<D>>);

/// The request has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished;

/// Outcome of a pause.
#[derive(Debug)]
enum Outcome {
    Resume,
    Restart,
    Reply(Reply),
    Fail(u16),
}

/// State of a request in this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// `on_request` has not been called, or is to be called again.
    Fresh,
    /// `on_request` is being called.
    Asking,
    /// The request waits for an outcome.
    Paused,
    /// The request went on to its content.
    Passed,
    /// This module has answered it, or nginx's own page has.
    Answered,
}

struct Live<D> {
    /// `None` once the request's pool is destroyed.
    raw: Cell<Option<NonNull<ngx_http_request_t>>>,
    state: Cell<State>,
    /// True if `on_log` and `on_end` are still to be called.
    open: Cell<bool>,
    logged: Cell<bool>,
    outcome: RefCell<Option<Outcome>>,
    /// The deadline of a pause as a timer, the end of a pause as a posted event.
    event: UnsafeCell<ngx_event_t>,
    data: D,
}

impl<D> Clone for Request<D> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<D> Request<D> {
    /// Per-request state of the module.
    pub fn data(&self) -> &D {
        &self.0.data
    }

    /// Looks at the request, and changes it.
    ///
    /// # Errors
    ///
    /// The request has ended.
    pub fn with<R>(&self, look: impl FnOnce(&mut View<'_>) -> R) -> Result<R, Finished> {
        let raw = self.0.raw.get().ok_or(Finished)?;
        // SAFETY: the request is live, its pool has not told us otherwise; and it stays so for the call, because
        // nothing of this crate that `look` can call ends a request (rule 3).
        Ok(look(&mut unsafe { View::new(raw) }))
    }

    /// Lets a paused request go on. Before a pause: there will be none.
    ///
    /// # Errors
    ///
    /// As of [`Request::reply`].
    pub fn resume(&self) -> Result<(), Finished> {
        self.record(Outcome::Resume)
    }

    /// Asks the module again about a paused request, which ends for it first.
    ///
    /// # Errors
    ///
    /// The request has ended, or is not paused.
    pub fn restart(&self) -> Result<(), Finished> {
        if self.0.state.get() == State::Paused {
            self.record(Outcome::Restart)
        } else {
            Err(Finished)
        }
    }

    /// Answers the request.
    ///
    /// # Errors
    ///
    /// The request has ended, or went on already.
    pub fn reply(&self, reply: Reply) -> Result<(), Finished> {
        self.record(Outcome::Reply(reply))
    }

    /// A reply or a failure is not replaced by a resume, and the first of them counts.
    fn record(&self, outcome: Outcome) -> Result<(), Finished> {
        let live = &*self.0;
        if live.raw.get().is_none() || !matches!(live.state.get(), State::Asking | State::Paused) {
            return Err(Finished);
        }
        let mut recorded = live.outcome.borrow_mut();
        if !matches!(*recorded, Some(Outcome::Reply(_) | Outcome::Fail(_))) {
            *recorded = Some(outcome);
        }
        if live.state.get() == State::Paused {
            // SAFETY: the request is live, so the event is not freed before the pool's cleanup takes it out of the
            // queue; we are on nginx's thread.
            unsafe { ngx_post_event(live.event.get(), &raw mut ngx_posted_events) };
        }
        Ok(())
    }
}
