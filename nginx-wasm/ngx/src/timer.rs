//! Timers.

use std::cell::UnsafeCell;
use std::rc::Rc;
use std::time::Duration;

use nginx_sys::{ngx_add_timer, ngx_del_timer, ngx_event_t, ngx_msec_t};

use crate::log;

/// A timer, which dropping stops. It does not delay the shutdown of a worker.
pub struct Timer(Rc<Inner>);

struct Inner {
    event: UnsafeCell<ngx_event_t>,
    action: Box<dyn Fn()>,
}

impl Timer {
    /// Creates a stopped timer.
    pub fn new(action: impl Fn() + 'static) -> Self {
        // SAFETY: nginx's own events start as zeroes.
        let event = UnsafeCell::new(unsafe { std::mem::zeroed() });
        let inner = Rc::new(Inner {
            event,
            action: Box::new(action),
        });
        let event = inner.event.get();
        // SAFETY: the event is ours and in no queue. Its data lives as long as it can be in one (`Inner::drop`), the
        // log as long as the process.
        unsafe {
            (*event).data = Rc::as_ptr(&inner).cast_mut().cast();
            (*event).handler = Some(fire);
            (*event).log = log::process_log();
            (*event).set_cancelable(1);
        }
        Self(inner)
    }

    /// Runs the action once after this delay, which replaces an earlier one.
    pub fn start(&self, after: Duration) {
        self.stop();
        let milliseconds = ngx_msec_t::try_from(after.as_millis()).unwrap_or(ngx_msec_t::MAX / 2);
        // SAFETY: the event is ours, on nginx's thread.
        unsafe { ngx_add_timer(self.0.event.get(), milliseconds) };
    }

    /// Stops the timer.
    pub fn stop(&self) {
        self.0.stop();
    }
}

impl Inner {
    fn stop(&self) {
        let event = self.event.get();
        // SAFETY: as in `start`; it is deleted only where it is set.
        unsafe {
            if (*event).timer_set() != 0 {
                ngx_del_timer(event);
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop();
    }
}

unsafe extern "C" fn fire(event: *mut ngx_event_t) {
    // SAFETY: the event is in the queue only while its `Inner` lives. The action may drop the timer, so this holds
    // one count of its own.
    let inner = unsafe {
        let inner: *const Inner = (*event).data.cast();
        Rc::increment_strong_count(inner);
        Rc::from_raw(inner)
    };
    (inner.action)();
}
