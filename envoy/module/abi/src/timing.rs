//! Times of a request.

use std::time::Duration;

/// Number of times that Envoy tells.
const TIMES: usize = 19;
/// The first byte that was sent to the upstream.
const FIRST_UPSTREAM_SENT: usize = 9;
/// The last byte that has come from the upstream.
const LAST_UPSTREAM_RECEIVED: usize = 13;

/// `envoy_dynamic_module_type_timing_info_v2`: nanoseconds since the request began, and which of them are known.
#[repr(C)]
#[derive(Default)]
pub struct Timing {
    nanos: [i64; TIMES],
    /// Not `bool`: these bytes are Envoy's.
    is_known: [u8; TIMES],
}

impl Timing {
    fn nanos(&self, time: usize) -> Option<i64> {
        let is_known = *self.is_known.get(time)? != 0;
        self.nanos.get(time).copied().filter(|_| is_known)
    }

    /// From the first byte that was sent to the upstream to the last one that has come from there: `response.backend_latency`.
    pub(crate) fn upstream_time(&self) -> Option<Duration> {
        let (sent, received) = (
            self.nanos(FIRST_UPSTREAM_SENT)?,
            self.nanos(LAST_UPSTREAM_RECEIVED)?,
        );
        let nanos = u64::try_from(received.saturating_sub(sent)).ok()?;
        Some(Duration::from_nanos(nanos))
    }
}
