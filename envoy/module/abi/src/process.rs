//! The process, as an extension of its bootstrap sees it: in the main thread, from the start to the end.

use std::ffi::c_uint;
use std::marker::PhantomData;
use std::time::Duration;

use crate::buffer::{ModuleBuffer, ModuleHeader};
use crate::callbacks::{self, EnvoyPtr};

const SUCCESS: c_uint = 0;

/// The process, during a hook of an extension in the main thread.
pub struct Process<'hook> {
    extension: EnvoyPtr,
    hook: PhantomData<&'hook ()>,
}

/// A timer of an extension. It stays in the main thread.
#[derive(Debug)]
pub struct Timer(EnvoyPtr);

impl Process<'_> {
    /// # Safety
    ///
    /// Envoy has called a hook of this extension, and the handle does not outlive that.
    pub(crate) unsafe fn new(extension: EnvoyPtr) -> Self {
        Process {
            extension,
            hook: PhantomData,
        }
    }

    /// A timer, not started.
    #[must_use]
    pub fn timer(&self) -> Timer {
        // SAFETY: the extension is there during the hook.
        Timer(unsafe { callbacks::new_timer(self.extension) })
    }

    /// Envoy waits for this before it serves.
    pub(crate) fn signal_init_complete(&self) {
        // SAFETY: the extension is there during the hook.
        unsafe { callbacks::signal_init_complete(self.extension) };
    }

    /// Sends a GET to a cluster; the response comes to the extension. `false` if it could not be sent.
    pub fn get(&self, cluster: &str, authority: &str, path: &str, timeout: Duration) -> bool {
        let headers: [ModuleHeader; 4] = [
            (":method", "GET").into(),
            (":path", path).into(),
            (":authority", authority).into(),
            (":scheme", "http").into(),
        ];
        let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        let mut id = 0;
        // SAFETY: all texts outlive the call; Envoy copies them, and writes one number.
        let result = unsafe {
            callbacks::call(
                self.extension,
                &mut id,
                cluster.into(),
                headers.as_ptr(),
                headers.len(),
                ModuleBuffer::NOTHING,
                millis,
            )
        };
        result == SUCCESS
    }
}

impl Timer {
    /// Makes it fire once, after this time. The extension hears of it.
    pub fn start(&self, after: Duration) {
        let millis = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        // SAFETY: Envoy has made it, and it is deleted with this.
        unsafe { callbacks::start_timer(self.0, millis) };
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: Envoy has made it, and nobody uses it any more.
        unsafe { callbacks::delete_timer(self.0) };
    }
}
