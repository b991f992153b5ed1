//! A linked module, ready to be instantiated.

use std::sync::atomic::{AtomicU32, Ordering};

use wasmtime::{InstancePre, Linker, Module};

use crate::guest::State;
use crate::{Env, Options, Trap, imports};

/// A module with its imports linked to the host calls of `E`. Its instances are [`Vm`](crate::Vm)s.
pub struct Plugin<E: 'static> {
    pub(crate) linked: InstancePre<State<E>>,
    pub(crate) options: Options,
}

/// Distinguishes the contexts of all instances of all plugins.
static LAST_GENERATION: AtomicU32 = AtomicU32::new(0);

pub(crate) fn next_generation() -> u32 {
    LAST_GENERATION
        .fetch_add(1, Ordering::Relaxed)
        .wrapping_add(1)
}

impl<E: Env> Plugin<E> {
    /// Links a module. Its engine's configuration must be [`engine_config`](crate::engine_config) for the deadline to
    /// have an effect.
    ///
    /// # Errors
    ///
    /// The module imports something that is neither of the ABI nor of WASI, or with another type.
    pub fn new(module: &Module, options: Options) -> Result<Self, Trap> {
        let mut linker = Linker::new(module.engine());
        let linked =
            imports::link(&mut linker, module).and_then(|()| linker.instantiate_pre(module));
        let linked = linked.map_err(|error| Trap::from_start("link", &error))?;
        Ok(Self { linked, options })
    }
}

impl<E> Clone for Plugin<E> {
    fn clone(&self) -> Self {
        Self {
            linked: self.linked.clone(),
            options: self.options,
        }
    }
}
