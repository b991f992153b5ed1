//! A request as a handle that outlives it.

mod lifecycle;
mod pause;

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ptr::NonNull;
use std::rc::Rc;

use nginx_sys::{ngx_event_t, ngx_http_request_t, ngx_post_event, ngx_posted_events};

use crate::live_request::LiveRequest;
use crate::reply::Reply;
pub(crate) use pause::PhaseResult;

/// A handle of a request with its per-request state `D`.
pub struct Request<D: 'static>(Rc<Inner<D>>);

/// The request has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished;

/// An action on a request, recorded by the module and applied by the event loop.
#[derive(Debug)]
enum PendingAction {
    Resume,
    Restart,
    Reply(Reply),
    Fail(u16),
}

/// State of a request in this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// `on_request` was not called yet, or must be called again.
    New,
    /// `on_request` is running.
    InCallback,
    /// The request is paused until an action is recorded.
    Paused,
    /// The request continued to its content.
    Continued,
    /// The response is the module's, or nginx's own error page.
    Responded,
}

struct Inner<D> {
    /// `None` once the request's pool is destroyed.
    raw: Cell<Option<NonNull<ngx_http_request_t>>>,
    state: Cell<State>,
    /// True if `on_log` and `on_end` are due: between `begin` and `take_end`.
    open: Cell<bool>,
    logged: Cell<bool>,
    pending: RefCell<Option<PendingAction>>,
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

    /// Reads or changes the request.
    ///
    /// # Errors
    ///
    /// The request has ended.
    pub fn with<R>(
        &self,
        use_request: impl FnOnce(&mut LiveRequest<'_>) -> R,
    ) -> Result<R, Finished> {
        let raw = self.0.raw.get().ok_or(Finished)?;
        // SAFETY: the request is live, its pool has not told us otherwise; and it stays so for the call, because
        // nothing of this crate that `use_request` can call ends a request (rule 3).
        Ok(use_request(&mut unsafe { LiveRequest::new(raw) }))
    }

    /// Resumes a paused request. Before a pause, cancels it.
    ///
    /// # Errors
    ///
    /// As of [`Request::reply`].
    pub fn resume(&self) -> Result<(), Finished> {
        self.record(PendingAction::Resume)
    }

    /// Ends a paused request for the module and begins it again with `on_request`.
    ///
    /// # Errors
    ///
    /// The request has ended or is not paused.
    pub fn restart(&self) -> Result<(), Finished> {
        if self.0.state.get() == State::Paused {
            self.record(PendingAction::Restart)
        } else {
            Err(Finished)
        }
    }

    /// Sends a local reply.
    ///
    /// # Errors
    ///
    /// The request has ended or has continued already.
    pub fn reply(&self, reply: Reply) -> Result<(), Finished> {
        self.record(PendingAction::Reply(reply))
    }

    /// Records an action. A recorded reply or failure stays; anything else is replaced.
    fn record(&self, pending: PendingAction) -> Result<(), Finished> {
        let inner = &*self.0;
        if inner.raw.get().is_none()
            || !matches!(inner.state.get(), State::InCallback | State::Paused)
        {
            return Err(Finished);
        }
        let mut recorded = inner.pending.borrow_mut();
        if !matches!(
            *recorded,
            Some(PendingAction::Reply(_) | PendingAction::Fail(_))
        ) {
            *recorded = Some(pending);
        }
        if inner.state.get() == State::Paused {
            // SAFETY: the request is live, so the event is not freed before the pool's cleanup takes it out of the
            // queue; we are on nginx's thread.
            unsafe { ngx_post_event(inner.event.get(), &raw mut ngx_posted_events) };
        }
        Ok(())
    }
}
