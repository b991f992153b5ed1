//! Bodies on their way, in a data plane that keeps them.

use serde::Serialize;

use crate::is_default;

/// What is kept of bodies, and where. Sizes are bytes; the defaults are ingress-nginx's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Buffering {
    /// A pod sees a request when all of its body is there.
    pub requests: bool,
    /// Of a request's body, in memory; the rest is on disk.
    pub request_memory: u64,
    /// Pods need not wait for slow clients.
    pub answers: bool,
    /// Of one buffer. The head of an answer has to fit into one.
    pub buffer: u64,
    /// Buffers for one answer.
    pub buffers: u32,
    /// Of an answer, on their way to the client while the rest comes in, where that is said.
    #[serde(skip_serializing_if = "is_default")]
    pub busy: Option<u64>,
    /// Of an answer, on disk.
    pub disk: u64,
}

impl Default for Buffering {
    fn default() -> Self {
        Buffering {
            requests: true,
            request_memory: 8 << 10,
            answers: false,
            buffer: 4 << 10,
            buffers: 4,
            busy: None,
            disk: 1 << 30,
        }
    }
}

impl Buffering {
    /// The least and the most that can be [`Buffering::busy`]: one buffer, and all but one.
    #[must_use]
    pub fn busy_range(&self) -> (u64, u64) {
        let most = self
            .buffer
            .saturating_mul(u64::from(self.buffers.saturating_sub(1)));
        (self.buffer, most.max(self.buffer))
    }
}
