//! Lifecycle of a request's handle: from its creation to the end of the request.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use nginx_sys::ngx_http_request_t;

use super::{Live, Request, State, pause};
use crate::module::Registered;
use crate::pool;

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
            (*event).handler = Some(pause::ended::<M>);
            (*event).log = (*(*r.as_ptr()).connection).log;
            let counted = Rc::into_raw(Rc::clone(&live));
            if pool::on_destroy(
                (*r.as_ptr()).pool,
                M::table().end_of_request(),
                counted.cast_mut().cast(),
            )
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
    pub(super) unsafe fn borrowed(live: *const Live<M>) -> Self {
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
}

/// The pool's cleanup: the request has ended.
///
/// # Safety
///
/// By nginx, once, with the pointer that `Request::create` gave it.
pub(crate) unsafe extern "C" fn finished<M: Registered>(data: *mut c_void) {
    // SAFETY: `Request::create` gave it a counted pointer, which is taken back here, once.
    let request = Request::<M>(unsafe { Rc::from_raw(data.cast::<Live<M>>()) });
    request.disarm();
    // First, so that nothing looks at a request whose memory is being freed.
    request.0.raw.set(None);
    request.end();
}
