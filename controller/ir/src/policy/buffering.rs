//! Bodies on their way, in a data plane that keeps them.

use serde::Serialize;

use crate::is_default;

/// What is kept of bodies, and where. Sizes are bytes; the defaults are ingress-nginx's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Buffering {
    /// A pod sees a request when all of its body is there.
    pub request_buffering: bool,
    /// Of a request's body, in memory; the rest is on disk.
    pub request_buffer_size: u64,
    /// Pods need not wait for slow clients.
    pub response_buffering: bool,
    /// Of one buffer. The head of an answer has to fit into one.
    pub buffer_size: u64,
    /// Buffers for one answer.
    pub buffer_count: u32,
    /// Of an answer, on their way to the client while the rest comes in, where that is said.
    #[serde(skip_serializing_if = "is_default")]
    pub busy_size: Option<u64>,
    /// Of an answer, on disk.
    pub max_temp_file_size: u64,
}

impl Default for Buffering {
    fn default() -> Self {
        Buffering {
            request_buffering: true,
            request_buffer_size: 8 << 10,
            response_buffering: false,
            buffer_size: 4 << 10,
            buffer_count: 4,
            busy_size: None,
            max_temp_file_size: 1 << 30,
        }
    }
}

impl Buffering {
    /// The least and the most that can be [`Buffering::busy_size`]: one buffer, and all but one.
    #[must_use]
    pub fn busy_range(&self) -> (u64, u64) {
        let most = self
            .buffer_size
            .saturating_mul(u64::from(self.buffer_count.saturating_sub(1)));
        (self.buffer_size, most.max(self.buffer_size))
    }
}
