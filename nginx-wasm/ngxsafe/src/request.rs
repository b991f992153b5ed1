//! A request, as a handle that outlives it.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::time::Duration;

use nginx_sys::{
    NGX_HTTP_GATEWAY_TIME_OUT, NGX_HTTP_INTERNAL_SERVER_ERROR, ngx_add_timer, ngx_del_timer,
    ngx_delete_posted_event, ngx_event_t, ngx_handle_read_event, ngx_http_block_reading,
    ngx_http_core_run_phases, ngx_http_finalize_request, ngx_http_request_t, ngx_http_run_posted_requests,
    ngx_http_test_reading, ngx_int_t, ngx_msec_t, ngx_post_event, ngx_posted_events,
};

use crate::module::Registered;
use crate::{Module, Reply, View, pool, reply};

/// A request, or what is left of it.
pub struct Request<M: Module>(Rc<Live<M>>);

/// The request has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// How a request goes on.
#[derive(Debug)]
enum Outcome {
    Resume,
    Restart,
    Reply(Reply),
    Fail(u16),
}

/// Where a request is in this module.
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

pub(crate) struct Live<M: Module> {
    /// `None` once the request's pool is destroyed.
    raw: Cell<Option<NonNull<ngx_http_request_t>>>,
    pub(crate) state: Cell<State>,
    /// Whether `on_log` and `on_end` are still to be called.
    pub(crate) open: Cell<bool>,
    pub(crate) logged: Cell<bool>,
    outcome: RefCell<Option<Outcome>>,
    /// The deadline of a pause as a timer, the end of a pause as a posted event.
    event: UnsafeCell<ngx_event_t>,
    data: M::Request,
}

impl<M: Module> Clone for Request<M> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<M: Module> Request<M> {
    /// What the module keeps of this request.
    pub fn data(&self) -> &M::Request {
        &self.0.data
    }

    /// Looks at the request, and changes it.
    ///
    /// # Errors
    ///
    /// The request has ended.
    pub fn with<R>(&self, look: impl FnOnce(&mut View<'_>) -> R) -> Result<R, Gone> {
        let raw = self.0.raw.get().ok_or(Gone)?;
        // SAFETY: the request is live, its pool has not told us otherwise; and it stays so for the call, because
        // nothing of this crate that `look` can call ends a request (rule 3).
        Ok(look(&mut unsafe { View::new(raw) }))
    }

    /// Lets a paused request go on. Before a pause: there will be none.
    ///
    /// # Errors
    ///
    /// As of [`Request::reply`].
    pub fn resume(&self) -> Result<(), Gone> {
        self.record(Outcome::Resume)
    }

    /// Asks the module again about a paused request, which ends for it first.
    ///
    /// # Errors
    ///
    /// The request has ended, or is not paused.
    pub fn restart(&self) -> Result<(), Gone> {
        if self.0.state.get() == State::Paused { self.record(Outcome::Restart) } else { Err(Gone) }
    }

    /// Answers the request.
    ///
    /// # Errors
    ///
    /// The request has ended, or went on already.
    pub fn reply(&self, reply: Reply) -> Result<(), Gone> {
        self.record(Outcome::Reply(reply))
    }

    /// Answers the request with nginx's own page of this status.
    ///
    /// # Errors
    ///
    /// As of [`Request::reply`].
    pub fn fail(&self, status: u16) -> Result<(), Gone> {
        self.record(Outcome::Fail(status))
    }

    /// A reply or a failure is not replaced by a resume, and the first of them counts.
    fn record(&self, outcome: Outcome) -> Result<(), Gone> {
        let live = &*self.0;
        if live.raw.get().is_none() || !matches!(live.state.get(), State::Asking | State::Paused) {
            return Err(Gone);
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

/// What the phase handler does with a request: nginx's return codes are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Let nginx go on to the next handler.
    Decline,
    /// Leave the request to its events.
    Wait,
    /// Leave it alone: it is answered and may have ended.
    Done,
    /// Let nginx answer with this status.
    Fail(ngx_int_t),
}

impl<M: Registered> Request<M> {
    /// The handle of a request that passed this module before, also where an internal redirect wiped its context.
    ///
    /// # Safety
    ///
    /// `r` is live.
    pub(crate) unsafe fn find(r: *mut ngx_http_request_t) -> Option<Self> {
        // SAFETY: `r` and its pool are live. A cleanup with our handler has what `Request::create` gave it: a counted
        // pointer whose count the cleanup holds until the pool is destroyed.
        unsafe {
            let mut cleanup = (*(*r).pool).cleanup;
            while !cleanup.is_null() {
                if (*cleanup)
                    .handler
                    .is_some_and(|handler| ptr::fn_addr_eq(handler, M::table().end_of_request()))
                {
                    return Some(Self::borrowed((*cleanup).data.cast()));
                }
                cleanup = (*cleanup).next;
            }
        }
        None
    }

    /// The handle of a request, where no internal redirect wiped it.
    ///
    /// # Safety
    ///
    /// `r` is live.
    pub(crate) unsafe fn current(r: *mut ngx_http_request_t) -> Option<Self> {
        // SAFETY: `r` is live, and our slot of its contexts is null or what `set_current` wrote.
        unsafe {
            let live: *const Live<M> = (*(*r).ctx.add(M::table().ctx_index())).cast();
            (!live.is_null()).then(|| Self::borrowed(live))
        }
    }

    /// Makes a handle, which lives at least as long as the request.
    ///
    /// # Safety
    ///
    /// `r` is live and not null.
    pub(crate) unsafe fn create(r: NonNull<ngx_http_request_t>) -> Option<Self> {
        let live = Rc::new(Live::<M> {
            raw: Cell::new(Some(r)),
            state: Cell::new(State::Fresh),
            open: Cell::new(false),
            logged: Cell::new(false),
            outcome: RefCell::new(None),
            // SAFETY: nginx's own events start as zeroes.
            event: UnsafeCell::new(unsafe { std::mem::zeroed() }),
            data: M::Request::default(),
        });
        // SAFETY: the event is not in any queue yet; the request and its connection are live, and the connection's
        // log lives as long as the event is in use: until the pool's cleanup.
        unsafe {
            let event = live.event.get();
            (*event).data = Rc::as_ptr(&live).cast_mut().cast();
            (*event).handler = Some(ended_pause::<M>);
            (*event).log = (*(*r.as_ptr()).connection).log;
            let counted = Rc::into_raw(Rc::clone(&live));
            if pool::on_destroy((*r.as_ptr()).pool, M::table().end_of_request(), counted.cast_mut().cast())
                .is_err()
            {
                drop(Rc::from_raw(counted));
                return None;
            }
        }
        Some(Self(live))
    }

    /// Writes the handle into the request's contexts.
    ///
    /// # Safety
    ///
    /// `r` is the live request of this handle.
    pub(crate) unsafe fn set_current(&self, r: *mut ngx_http_request_t) {
        // SAFETY: our index is within the contexts. The pointer is not counted, but its cleanup's count outlives it.
        unsafe { *(*r).ctx.add(M::table().ctx_index()) = Rc::as_ptr(&self.0).cast_mut().cast() };
    }

    /// # Safety
    ///
    /// `live` came from `Rc::into_raw` and its count is at least one.
    unsafe fn borrowed(live: *const Live<M>) -> Self {
        // SAFETY: by contract.
        unsafe {
            Rc::increment_strong_count(live);
            Self(Rc::from_raw(live))
        }
    }

    pub(crate) fn live(&self) -> &Live<M> {
        &self.0
    }

    /// `on_log`, once.
    pub(crate) fn log(&self) {
        if self.0.open.get() && !self.0.logged.replace(true) {
            M::on_log(self);
        }
    }

    /// `on_log` if it has not been, and `on_end`, once.
    pub(crate) fn end(&self) {
        self.log();
        if self.0.open.replace(false) {
            M::on_end(self);
        }
    }

    /// Pauses the request, or does at once what was recorded while the module was asked.
    ///
    /// # Safety
    ///
    /// `r` is the live request of this handle, in a phase handler that returns at once.
    pub(crate) unsafe fn pause(&self, r: *mut ngx_http_request_t, deadline: Duration) -> Act {
        if self.0.outcome.borrow().is_some() {
            // SAFETY: by contract.
            return unsafe { self.settle(r) };
        }
        self.0.state.set(State::Paused);
        // SAFETY: the request is live by contract, its connection too; the event is ours and not armed.
        unsafe {
            // So that a client that goes away is noticed: nginx then ends the request.
            (*r).read_event_handler = Some(ngx_http_test_reading);
            if ngx_handle_read_event((*(*r).connection).read, 0) != nginx_sys::NGX_OK as ngx_int_t {
                return Act::Fail(NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t);
            }
            ngx_add_timer(
                self.0.event.get(),
                ngx_msec_t::try_from(deadline.as_millis()).unwrap_or(ngx_msec_t::MAX / 2),
            );
        }
        Act::Wait
    }

    /// Does what was recorded.
    ///
    /// # Safety
    ///
    /// As of [`Request::pause`]. After [`Act::Done`] the request may have ended.
    pub(crate) unsafe fn settle(&self, r: *mut ngx_http_request_t) -> Act {
        match self.0.outcome.take() {
            None | Some(Outcome::Resume) => {
                self.0.state.set(State::Passed);
                Act::Decline
            }
            Some(Outcome::Restart) => {
                self.0.state.set(State::Fresh);
                Act::Wait
            }
            Some(Outcome::Fail(status)) => {
                self.0.state.set(State::Answered);
                Act::Fail(status as ngx_int_t)
            }
            Some(Outcome::Reply(reply)) => {
                self.0.state.set(State::Answered);
                // SAFETY: by contract.
                unsafe { reply::send(r, &reply) };
                Act::Done
            }
        }
    }

    fn disarm(&self) {
        let event = self.0.event.get();
        // SAFETY: the event is ours, on nginx's thread; each is deleted only where it is.
        unsafe {
            if (*event).timer_set() != 0 {
                ngx_del_timer(event);
            }
            if (*event).posted() != 0 {
                ngx_delete_posted_event(event);
            }
        }
    }
}

/// The pool's cleanup: the request has ended.
///
/// # Safety
///
/// By nginx, once, with the pointer that `Request::create` gave it.
pub(crate) unsafe extern "C" fn gone<M: Registered>(data: *mut c_void) {
    // SAFETY: `Request::create` gave it a counted pointer, which is taken back here, once.
    let request = Request::<M>(unsafe { Rc::from_raw(data.cast::<Live<M>>()) });
    request.disarm();
    // First, so that nothing looks at a request whose memory is being freed.
    request.0.raw.set(None);
    request.end();
}

/// The handler of the pause's event: an outcome was recorded, or the deadline has passed.
unsafe extern "C" fn ended_pause<M: Registered>(event: *mut ngx_event_t) {
    // SAFETY: the event is in a queue only while its request lives (`gone`), so its data is a live pointer.
    let request = unsafe { Request::<M>::borrowed((*event).data.cast()) };
    let Some(r) = request.0.raw.get() else { return };
    let r = r.as_ptr();
    // SAFETY: the request is live, and this is nginx's event loop: nobody holds a reference into the request. After
    // the request is run or finalized it is not touched; its connection is nginx's to keep, and what this ends with
    // is what nginx's own event handlers end with.
    unsafe {
        let timed_out = (*event).timedout() != 0;
        (*event).set_timedout(0);
        request.disarm();
        if request.0.state.get() != State::Paused {
            return;
        }
        let connection = (*r).connection;
        (*r).read_event_handler = Some(ngx_http_block_reading);
        if timed_out && request.0.outcome.borrow().is_none() {
            request.0.outcome.replace(Some(Outcome::Fail(NGX_HTTP_GATEWAY_TIME_OUT as u16)));
        }
        match request.settle(r) {
            // The phase handler is asked again, and sees the state.
            Act::Decline | Act::Wait => ngx_http_core_run_phases(r),
            Act::Fail(status) => ngx_http_finalize_request(r, status),
            Act::Done => {}
        }
        ngx_http_run_posted_requests(connection);
    }
}
