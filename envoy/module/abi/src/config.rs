//! A configuration of the filter, in Envoy's main thread.

use std::ffi::c_uint;
use std::marker::PhantomData;
use std::ptr::null;

use crate::callbacks::{self, EnvoyPtr};

const SUCCESS: c_uint = 0;

/// A configuration of the filter, during a hook in the main thread.
pub struct Config<'hook> {
    config: EnvoyPtr,
    hook: PhantomData<&'hook ()>,
}

/// A counter of Envoy's.
#[derive(Clone, Copy, Debug)]
pub struct Counter(pub(crate) usize);

impl Config<'_> {
    /// # Safety
    ///
    /// Envoy has called a hook of this configuration, and the handle does not outlive that.
    pub(crate) unsafe fn new(config: EnvoyPtr) -> Self {
        Config {
            config,
            hook: PhantomData,
        }
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
}
