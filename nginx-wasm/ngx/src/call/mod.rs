//! HTTP calls of the module on nginx's event loop: HTTP/1.0, one connection per call.

mod message;

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ptr::{NonNull, null_mut};
use std::rc::Rc;
use std::time::Duration;

use nginx_sys::{
    NGX_AGAIN, NGX_OK, ngx_add_timer, ngx_close_connection,
    ngx_connection_log_error_e_NGX_ERROR_ERR, ngx_connection_t, ngx_create_pool, ngx_destroy_pool,
    ngx_event_connect_peer, ngx_event_get_peer, ngx_event_t, ngx_handle_read_event,
    ngx_handle_write_event, ngx_int_t, ngx_msec_t, ngx_parse_url, ngx_peer_connection_t,
    ngx_pool_t, ngx_post_event, ngx_posted_events, ngx_url_t,
};

use crate::log;
use crate::pool;
use message::Progress;
pub use message::{CallRequest, CallResponse};

/// A call in flight; dropping it cancels it silently. It does not delay the shutdown of a worker.
pub struct Call {
    _inner: Rc<Inner>,
}

/// Failure to start a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The target is neither `unix:/path` nor an address and a port.
    InvalidTarget,
    /// The connection was refused, or nginx has no free connection.
    Unreachable,
}

type OnEnd = Box<dyn FnOnce(Result<CallResponse, &'static str>)>;

struct Inner {
    pool: NonNull<ngx_pool_t>,
    connection: Cell<*mut ngx_connection_t>,
    /// nginx keeps pointers into it until it is connected.
    peer: UnsafeCell<ngx_peer_connection_t>,
    request: Vec<u8>,
    sent: Cell<usize>,
    received: RefCell<Vec<u8>>,
    on_end: Cell<Option<OnEnd>>,
}

const POOL_SIZE: usize = 1024;
const READ_SIZE: usize = 64 << 10;

impl Call {
    /// Calls `unix:/path`, `ip:port` or `[ip]:port`. `on_end` is called later, never from in here, with the response or
    /// the reason for the failure; not after the call was dropped.
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub fn start(
        target: &[u8],
        request: CallRequest<'_>,
        timeout: Duration,
        on_end: impl FnOnce(Result<CallResponse, &'static str>) + 'static,
    ) -> Result<Call, CallError> {
        // SAFETY: on nginx's thread the process's log is live, for longer than the pool.
        let pool = unsafe { NonNull::new(ngx_create_pool(POOL_SIZE, log::process_log())) };
        let inner = Rc::new(Inner {
            pool: pool.ok_or(CallError::Unreachable)?,
            connection: Cell::new(null_mut()),
            // SAFETY: nginx's own peers start as zeroes.
            peer: UnsafeCell::new(unsafe { std::mem::zeroed() }),
            request: request.to_bytes(),
            sent: Cell::new(0),
            received: RefCell::default(),
            on_end: Cell::new(Some(Box::new(on_end))),
        });
        // SAFETY: `inner` is new, and stays where it is.
        unsafe {
            inner.resolve(target)?;
            inner.connect(timeout)?;
        }
        Ok(Call { _inner: inner })
    }
}

impl Inner {
    /// Sets the address of the peer. Names are not resolved: that would block the worker.
    unsafe fn resolve(&self, target: &[u8]) -> Result<(), CallError> {
        // SAFETY: the pool is live; nginx parses a copy of the target, which is in it like the addresses.
        unsafe {
            let pool = self.pool.as_ptr();
            let mut url: ngx_url_t = std::mem::zeroed();
            url.url = pool::copy(pool, target).map_err(|_| CallError::Unreachable)?;
            url.default_port = 80;
            url.set_no_resolve(1);
            if ngx_parse_url(pool, &mut url) != NGX_OK as ngx_int_t || url.naddrs == 0 {
                return Err(CallError::InvalidTarget);
            }
            let peer = self.peer.get();
            (*peer).sockaddr = (*url.addrs).sockaddr;
            (*peer).socklen = (*url.addrs).socklen;
            (*peer).name = &raw mut (*url.addrs).name;
        }
        Ok(())
    }

    unsafe fn connect(self: &Rc<Self>, timeout: Duration) -> Result<(), CallError> {
        // SAFETY: the peer is filled (`resolve`). What nginx returns is a connection of ours, whose events' data leads
        // to it and its own to `self`: it is closed before `self` ends (`Inner::close`).
        unsafe {
            let peer = self.peer.get();
            (*peer).get = Some(ngx_event_get_peer);
            (*peer).log = log::process_log();
            (*peer).set_log_error(ngx_connection_log_error_e_NGX_ERROR_ERR);
            let code = ngx_event_connect_peer(peer);
            let connection = (*peer).connection;
            if connection.is_null() {
                return Err(CallError::Unreachable);
            }
            self.connection.set(connection);
            if code != NGX_OK as ngx_int_t && code != NGX_AGAIN as ngx_int_t {
                self.close();
                return Err(CallError::Unreachable);
            }
            (*connection).data = Rc::as_ptr(self).cast_mut().cast();
            (*(*connection).write).handler = Some(writable);
            (*(*connection).read).handler = Some(readable);
            // The timeout of the whole call; a worker that shuts down does not wait for it.
            (*(*connection).read).set_cancelable(1);
            let milliseconds =
                ngx_msec_t::try_from(timeout.as_millis()).unwrap_or(ngx_msec_t::MAX / 2);
            ngx_add_timer((*connection).read, milliseconds);
            if code == NGX_OK as ngx_int_t {
                ngx_post_event((*connection).write, &raw mut ngx_posted_events);
            }
        }
        Ok(())
    }

    /// Sends the rest of the request.
    fn send(&self) -> Result<(), &'static str> {
        let connection = self.connection.get();
        // SAFETY: the connection is open, its events call this; the bytes are ours, and only read.
        unsafe {
            while let Some(rest @ [_, ..]) = self.request.get(self.sent.get()..) {
                let Some(send) = (*connection).send else {
                    return Err("cannot send");
                };
                let sent = send(connection, rest.as_ptr().cast_mut(), rest.len());
                if sent == NGX_AGAIN as isize {
                    break;
                }
                let sent = usize::try_from(sent)
                    .ok()
                    .filter(|sent| *sent > 0)
                    .ok_or("cannot send")?;
                self.sent.set(self.sent.get() + sent);
            }
            match ngx_handle_write_event((*connection).write, 0) == NGX_OK as ngx_int_t {
                true => Ok(()),
                false => Err("cannot wait to send"),
            }
        }
    }

    /// Receives available bytes; `None` if the response is not complete.
    fn receive(&self) -> Option<Result<CallResponse, &'static str>> {
        let connection = self.connection.get();
        let mut received = self.received.borrow_mut();
        loop {
            let start = received.len();
            received.resize(start + READ_SIZE, 0);
            // SAFETY: the connection is open; `READ_SIZE` bytes after `start` are ours to be written.
            let n = unsafe {
                let Some(receive) = (*connection).recv else {
                    return Some(Err("cannot receive"));
                };
                receive(connection, received.as_mut_ptr().add(start), READ_SIZE)
            };
            received.truncate(start + usize::try_from(n).unwrap_or(0));
            if n == NGX_AGAIN as isize {
                // SAFETY: the connection is open.
                let waits =
                    unsafe { ngx_handle_read_event((*connection).read, 0) } == NGX_OK as ngx_int_t;
                return if waits {
                    None
                } else {
                    Some(Err("cannot wait to receive"))
                };
            }
            if n < 0 {
                return Some(Err("the connection broke"));
            }
            match message::parse(&received, n == 0) {
                Progress::Incomplete => {}
                Progress::Complete(response) => return Some(Ok(response)),
                Progress::Invalid(reason) => return Some(Err(reason)),
            }
        }
    }

    fn finish(&self, result: Result<CallResponse, &'static str>) {
        self.close();
        if let Some(on_end) = self.on_end.take() {
            on_end(result);
        }
    }

    fn close(&self) {
        let connection = self.connection.replace(null_mut());
        if !connection.is_null() {
            // SAFETY: it was open and is ours; this takes its events out of all queues.
            unsafe { ngx_close_connection(connection) };
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
        // SAFETY: it is ours, and nobody else has pointers into it once the connection is closed.
        unsafe { ngx_destroy_pool(self.pool.as_ptr()) };
    }
}

/// The call of an event, with its own reference count: `on_end` may drop the call.
unsafe fn call_from_event(event: *mut ngx_event_t) -> Rc<Inner> {
    // SAFETY: nginx calls an event only while its connection is open, which is while its `Inner` lives.
    unsafe {
        let inner: *const Inner = (*(*event).data.cast::<ngx_connection_t>()).data.cast();
        Rc::increment_strong_count(inner);
        Rc::from_raw(inner)
    }
}

unsafe extern "C" fn writable(event: *mut ngx_event_t) {
    // SAFETY: by nginx, for an event of ours.
    let call = unsafe { call_from_event(event) };
    if let Err(reason) = call.send() {
        call.finish(Err(reason));
    }
}

unsafe extern "C" fn readable(event: *mut ngx_event_t) {
    // SAFETY: by nginx, for an event of ours.
    let (call, timed_out) = unsafe { (call_from_event(event), (*event).timedout() != 0) };
    if timed_out {
        call.finish(Err("timed out"));
    } else if let Some(result) = call.receive() {
        call.finish(result);
    }
}
