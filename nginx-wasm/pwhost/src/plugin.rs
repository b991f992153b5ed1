//! A module that is linked and ready to be instantiated.

use std::sync::atomic::{AtomicU32, Ordering};

use wasmtime::{InstancePre, Linker, Module};

use crate::guest::State;
use crate::{Env, Trap, imports};

/// Limits and manners of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How far the guest's memory can grow, in bytes. A guest that needs more traps.
    pub memory_bytes: usize,
    /// How many increments of the engine's epoch a call may last, where the first can come at once; `None` for no
    /// limit. Somebody must call `Engine::increment_epoch`, in nginx a thread with all signals blocked.
    pub deadline_ticks: Option<u64>,
    /// What a call of something that this host does not have does to the guest.
    pub unimplemented: Unimplemented,
}

/// What a call of something that the host does not have does to the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unimplemented {
    /// It answers `Status::Unimplemented`, as Envoy does.
    Answers,
    /// It traps, as Kong's ngx_wasm_module does.
    Traps,
}

impl Default for Options {
    fn default() -> Self {
        Self { memory_bytes: 64 << 20, deadline_ticks: None, unimplemented: Unimplemented::Answers }
    }
}

/// A module whose imports are linked to the host calls of `E`. Instances of it are [`Vm`](crate::Vm)s.
pub struct Plugin<E: 'static> {
    pub(crate) linked: InstancePre<State<E>>,
    pub(crate) options: Options,
}

/// Tells contexts of one instance from those of another, of any plugin.
static LAST_GENERATION: AtomicU32 = AtomicU32::new(0);

pub(crate) fn next_generation() -> u32 {
    LAST_GENERATION.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
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
        let linked = imports::link(&mut linker, module).and_then(|()| linker.instantiate_pre(module));
        let linked = linked.map_err(|error| Trap::of_start("link", &error))?;
        Ok(Self { linked, options })
    }
}

impl<E> Clone for Plugin<E> {
    fn clone(&self) -> Self {
        Self { linked: self.linked.clone(), options: self.options }
    }
}
