//! Lifecycle of a request's handle: from its creation to the end of the request.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use nginx_sys::ngx_http_request_t;

use super::{Inner, Request, State, pause};
use crate::pool;
use crate::table::Table;

impl<D: Default> Request<D> {
    /// The handle of a request that passed this module before, even if an internal redirect cleared its contexts.
    ///
    /// # Safety
    ///
    /// `r` is live, and `table` is that of the module whose per-request state is `D`.
    pub(crate) unsafe fn find(r: *mut ngx_http_request_t, table: &'static Table) -> Option<Self> {
        // SAFETY: `r` and its pool are live. A cleanup with the module's handler has the pointer that `Request::create`
        // gave it, and holds its reference count until the pool is destroyed.
        unsafe {
            let mut cleanup = (*(*r).pool).cleanup;
            while !cleanup.is_null() {
                if (*cleanup)
                    .handler
                    .is_some_and(|handler| ptr::fn_addr_eq(handler, table.end_of_request()))
                {
                    return Some(Self::borrowed((*cleanup).data.cast()));
                }
                cleanup = (*cleanup).next;
            }
        }
        None
    }

    /// The handle of a request, unless an internal redirect cleared its contexts.
    ///
    /// # Safety
    ///
    /// `r` is live, and `table` is that of the module whose per-request state is `D`.
    pub(crate) unsafe fn current(
        r: *mut ngx_http_request_t,
        table: &'static Table,
    ) -> Option<Self> {
        // SAFETY: `r` is live, and the module's slot of its contexts is null or what `set_current` wrote.
        unsafe {
            let inner: *const Inner<D> = (*(*r).ctx.add(table.ctx_index())).cast();
            (!inner.is_null()).then(|| Self::borrowed(inner))
        }
    }

    /// Creates a handle, which lives at least as long as the request.
    ///
    /// # Safety
    ///
    /// `r` is live, `table` is that of the module whose per-request state is `D`, and its `end_of_request` takes the
    /// pointer back with [`Request::from_cleanup`].
    pub(crate) unsafe fn create(
        r: NonNull<ngx_http_request_t>,
        table: &'static Table,
    ) -> Option<Self> {
        let inner = Rc::new(Inner::<D> {
            raw: Cell::new(Some(r)),
            state: Cell::new(State::New),
            open: Cell::new(false),
            logged: Cell::new(false),
            pending: RefCell::new(None),
            // SAFETY: nginx's own events start as zeroes.
            event: UnsafeCell::new(unsafe { std::mem::zeroed() }),
            data: D::default(),
        });
        // SAFETY: the event is not in any queue yet; the request and its connection are live, and the connection's
        // log lives as long as the event is in use: until the pool's cleanup.
        unsafe {
            let event = inner.event.get();
            (*event).data = Rc::as_ptr(&inner).cast_mut().cast();
            (*event).handler = Some(pause::on_pause_end::<D>);
            (*event).log = (*(*r.as_ptr()).connection).log;
            let counted = Rc::into_raw(Rc::clone(&inner));
            if pool::on_destroy(
                (*r.as_ptr()).pool,
                table.end_of_request(),
                counted.cast_mut().cast(),
            )
            .is_err()
            {
                drop(Rc::from_raw(counted));
                return None;
            }
        }
        Some(Self(inner))
    }

    /// Writes the handle into the request's contexts.
    ///
    /// # Safety
    ///
    /// `r` is the live request of this handle, and `table` is the one that it was created with.
    pub(crate) unsafe fn set_current(&self, r: *mut ngx_http_request_t, table: &'static Table) {
        // SAFETY: the module's index is within the contexts. The pointer is not counted, but its cleanup's count outlives it.
        unsafe { *(*r).ctx.add(table.ctx_index()) = Rc::as_ptr(&self.0).cast_mut().cast() };
    }
}

impl<D> Request<D> {
    /// Takes back the handle that the pool's cleanup holds.
    ///
    /// # Safety
    ///
    /// `data` is the pointer that [`Request::create`] gave to a cleanup, and it is taken back once.
    pub(crate) unsafe fn from_cleanup(data: *mut c_void) -> Self {
        // SAFETY: by contract it came from `Rc::into_raw`, and its count is taken back here.
        Self(unsafe { Rc::from_raw(data.cast::<Inner<D>>()) })
    }

    /// Marks the request as ended: its memory is being freed.
    pub(crate) fn detach(&self) {
        self.disarm();
        self.0.raw.set(None);
    }

    /// # Safety
    ///
    /// `inner` came from `Rc::into_raw` and its count is at least one.
    pub(super) unsafe fn borrowed(inner: *const Inner<D>) -> Self {
        // SAFETY: by contract.
        unsafe {
            Rc::increment_strong_count(inner);
            Self(Rc::from_raw(inner))
        }
    }

    /// Begins a pass of the request through the module.
    pub(crate) fn begin(&self) {
        self.0.open.set(true);
        self.0.logged.set(false);
        self.0.state.set(State::InCallback);
    }

    /// True once for each pass: `on_log` is to be called now.
    pub(crate) fn take_log(&self) -> bool {
        self.0.open.get() && !self.0.logged.replace(true)
    }

    /// True once for each pass: `on_end` is to be called now.
    pub(crate) fn take_end(&self) -> bool {
        self.0.open.replace(false)
    }

    pub(crate) fn state(&self) -> State {
        self.0.state.get()
    }

    pub(crate) fn set_state(&self, state: State) {
        self.0.state.set(state);
    }
}
