//! A pause and its end: by a recorded action, by the deadline, or by the client.

use std::time::Duration;

use nginx_sys::{
    NGX_HTTP_GATEWAY_TIME_OUT, NGX_HTTP_INTERNAL_SERVER_ERROR, NGX_OK, ngx_add_timer,
    ngx_del_timer, ngx_delete_posted_event, ngx_event_t, ngx_handle_read_event,
    ngx_http_block_reading, ngx_http_core_run_phases, ngx_http_finalize_request,
    ngx_http_request_t, ngx_http_run_posted_requests, ngx_http_test_reading, ngx_int_t, ngx_msec_t,
};

use super::{PendingAction, Request, State};
use crate::reply;

/// Result of the phase handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhaseResult {
    /// Continue with the next handler.
    Decline,
    /// Wait for the events of the request.
    Wait,
    /// A response was sent; the request may have ended.
    Done,
    /// Respond with this status and nginx's own page.
    Fail(ngx_int_t),
}

impl<D> Request<D> {
    /// Pauses the request, or applies the action that the callback recorded.
    ///
    /// # Safety
    ///
    /// `r` is the live request of this handle, in a phase handler that returns at once.
    pub(crate) unsafe fn pause(
        &self,
        r: *mut ngx_http_request_t,
        deadline: Duration,
    ) -> PhaseResult {
        if self.0.pending.borrow().is_some() {
            // SAFETY: by contract.
            return unsafe { self.apply_pending(r) };
        }
        self.0.state.set(State::Paused);
        // SAFETY: the request is live by contract, its connection too; the event is ours and not armed.
        unsafe {
            // Detects a client that disconnects: nginx then ends the request.
            (*r).read_event_handler = Some(ngx_http_test_reading);
            if ngx_handle_read_event((*(*r).connection).read, 0) != NGX_OK as ngx_int_t {
                return PhaseResult::Fail(NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t);
            }
            ngx_add_timer(
                self.0.event.get(),
                ngx_msec_t::try_from(deadline.as_millis()).unwrap_or(ngx_msec_t::MAX / 2),
            );
        }
        PhaseResult::Wait
    }

    /// Applies the recorded action.
    ///
    /// # Safety
    ///
    /// As of [`Request::pause`]. After [`PhaseResult::Done`] the request may have ended.
    pub(crate) unsafe fn apply_pending(&self, r: *mut ngx_http_request_t) -> PhaseResult {
        match self.0.pending.take() {
            None | Some(PendingAction::Resume) => {
                self.0.state.set(State::Continued);
                PhaseResult::Decline
            }
            Some(PendingAction::Restart) => {
                self.0.state.set(State::New);
                PhaseResult::Wait
            }
            Some(PendingAction::Fail(status)) => {
                self.0.state.set(State::Responded);
                PhaseResult::Fail(status as ngx_int_t)
            }
            Some(PendingAction::Reply(reply)) => {
                self.0.state.set(State::Responded);
                // SAFETY: by contract.
                unsafe { reply::send(r, &reply) };
                PhaseResult::Done
            }
        }
    }

    pub(super) fn disarm(&self) {
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

/// Handler of the pause's event: an action was recorded, or the deadline has passed.
///
/// # Safety
///
/// By nginx, for an event that `Request::create` made.
pub(super) unsafe extern "C" fn on_pause_end<D: 'static>(event: *mut ngx_event_t) {
    // SAFETY: the event is in a queue only while its request lives (`Request::detach`), so its data is a live pointer.
    let request = unsafe { Request::<D>::borrowed((*event).data.cast()) };
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
        if timed_out && request.0.pending.borrow().is_none() {
            request
                .0
                .pending
                .replace(Some(PendingAction::Fail(NGX_HTTP_GATEWAY_TIME_OUT as u16)));
        }
        match request.apply_pending(r) {
            // The phase handler runs again and reads the state.
            PhaseResult::Decline | PhaseResult::Wait => ngx_http_core_run_phases(r),
            PhaseResult::Fail(status) => ngx_http_finalize_request(r, status),
            PhaseResult::Done => {}
        }
        ngx_http_run_posted_requests(connection);
    }
}
