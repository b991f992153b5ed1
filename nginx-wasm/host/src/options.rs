//! Limits and manners of a host.

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
        Self {
            memory_bytes: 64 << 20,
            deadline_ticks: None,
            unimplemented: Unimplemented::Answers,
        }
    }
}
