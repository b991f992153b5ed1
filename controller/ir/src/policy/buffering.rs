//! Buffering of bodies.

use serde::Serialize;

use crate::is_default;

/// Buffering of request and response bodies. Sizes are bytes; the defaults are ingress-nginx's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Buffering {
    /// The upstream sees a request when all of its body has arrived.
    pub request_buffering: bool,
    /// Request body in memory; the rest is on disk.
    pub request_buffer_size: u64,
    /// Responses are buffered, so that upstreams need not wait for slow clients.
    pub response_buffering: bool,
    /// Size of one response buffer. The response head has to fit into one.
    pub buffer_size: u64,
    /// Buffers for one response.
    pub buffer_count: u32,
    /// Response bytes on their way to the client while the rest is read, if set.
    #[serde(skip_serializing_if = "is_default")]
    pub busy_size: Option<u64>,
    /// Response bytes on disk.
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
