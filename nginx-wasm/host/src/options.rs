//! Limits of a VM and its behaviour at the edges of the ABI.

/// Limits of a VM and its behaviour at the edges of the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Limit of the guest's memory in bytes. A guest that needs more traps.
    pub memory_bytes: usize,
    /// Limit of a call in increments of the engine's epoch, the first of which can come at once; `None` for no limit.
    /// The owner calls `Engine::increment_epoch`, in nginx from a thread with all signals blocked.
    pub deadline_ticks: Option<u64>,
    /// Effect of a host call that the host does not implement.
    pub unimplemented: Unimplemented,
    /// Exports that are not called, for a guest that does nothing in them: each call costs as much as a host call.
    pub skipped: &'static [&'static str],
}

/// Effect of a host call that the host does not implement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unimplemented {
    /// It returns `Status::Unimplemented`, as in Envoy.
    ReturnStatus,
    /// It traps, as in Kong's ngx_wasm_module.
    Trap,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            deadline_ticks: None,
            unimplemented: Unimplemented::ReturnStatus,
            skipped: &[],
        }
    }
}
