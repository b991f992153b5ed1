//! A configuration of the filter, in Envoy's main thread.

use std::ffi::c_uint;
use std::marker::PhantomData;
use std::ptr::null;
use std::time::Duration;

use crate::Scheduler;
use crate::buffer::{EnvoyBuffer, EnvoyHeader, ModuleBuffer, ModuleHeader};
use crate::callbacks::{self, EnvoyPtr};
use crate::scheduler::Target;

const SUCCESS: c_uint = 0;

/// A configuration of the filter, during a hook in the main thread.
pub struct Config<'hook> {
    config: EnvoyPtr,
    hook: PhantomData<&'hook ()>,
}

/// A counter of Envoy's.
#[derive(Clone, Copy, Debug)]
pub struct Counter(pub(crate) usize);

/// The response to a call.
pub struct Response<'hook> {
    headers: &'hook [EnvoyHeader],
    body: &'hook [EnvoyBuffer],
}

impl<'hook> Config<'hook> {
    /// # Safety
    ///
    /// Envoy has called a hook of this configuration, and the handle does not outlive that.
    pub(crate) unsafe fn new(config: EnvoyPtr) -> Self {
        Config {
            config,
            hook: PhantomData,
        }
    }

    /// A way for other threads to send events to this configuration.
    #[must_use]
    pub fn scheduler(&self) -> Scheduler {
        // SAFETY: the configuration is there during the hook.
        let scheduler = unsafe { callbacks::new_config_scheduler(self.config) };
        Scheduler::new(scheduler, Target::Config)
    }

    /// A counter without labels; only while the configuration is made.
    #[must_use]
    pub fn counter(&self, name: &str) -> Option<Counter> {
        let mut id = 0;
        // SAFETY: the name outlives the call, and Envoy writes one number.
        let result =
            unsafe { callbacks::define_counter(self.config, name.into(), null(), 0, &mut id) };
        (result == SUCCESS).then_some(Counter(id))
    }

    /// Sends a GET to a cluster; the response comes to the configuration. `false` if it could not be sent.
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
                self.config,
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

impl<'hook> Response<'hook> {
    pub(crate) fn new(headers: &'hook [EnvoyHeader], body: &'hook [EnvoyBuffer]) -> Self {
        Response { headers, body }
    }

    /// Its status.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        // SAFETY: the headers are there during the hook.
        let pairs = self
            .headers
            .iter()
            .map(|header| unsafe { (header.name.bytes(), header.value.bytes()) });
        let (_, status) = pairs.into_iter().find(|(name, _)| *name == b":status")?;
        std::str::from_utf8(status).ok()?.parse().ok()
    }

    /// Its body.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        // SAFETY: the body is there during the hook.
        let chunks = self.body.iter().map(|chunk| unsafe { chunk.bytes() });
        chunks.collect::<Vec<_>>().concat()
    }
}
