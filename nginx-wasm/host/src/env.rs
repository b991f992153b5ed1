//! The host environment of a guest.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::{
    BufferType, ContextId, LogLevel, MapType, MetricType, Pairs, PairsBuf, Status, StreamType,
};

/// Result of a host call.
pub type HostResult<T> = Result<T, Status>;

/// The host environment of a guest.
///
/// Every Rust guest needs the required methods. The others return [`Status::Unimplemented`] by default, so an
/// implementation contains only what its host supports.
///
/// All calls are for the *current* context, the one last passed to [`Env::enter`]; there is none during instantiation.
///
/// No method may panic: that would unwind through the guest and leave it in the middle of a call, and alive.
///
/// Values are returned as [`Cow`], borrowed where the host has the bytes already. They are copied once, into the
/// guest's memory.
#[allow(
    unused_variables,
    reason = "the defaults do not use their arguments, whose names are documentation"
)]
pub trait Env: 'static {
    /// The guest is about to run for this context, or has selected it itself (`proxy_set_effective_context`; only live
    /// contexts get here).
    fn enter(&mut self, context: ContextId);

    /// The guest has returned or trapped. A host drops its handle of the current request here.
    fn leave(&mut self) {}

    /// Logs a line, without its final newline. Also called for output of the guest: stdout as info, stderr as error.
    fn log(&mut self, level: LogLevel, message: &[u8]);

    /// Nanoseconds since the Unix epoch. Also the guest's monotonic clock.
    fn now_ns(&mut self) -> u64;

    /// Fills `out` with random bytes, which seed each `HashMap` of the guest.
    ///
    /// # Errors
    ///
    /// A failure makes the guest panic.
    fn random(&mut self, out: &mut [u8]) -> HostResult<()>;

    /// The least severe level that is logged.
    fn log_level(&mut self) -> HostResult<LogLevel> {
        Err(Status::Unimplemented)
    }

    /// Reads a property; `NotFound` if there is none.
    fn property(&mut self, path: PropertyPath<'_>) -> HostResult<Cow<'_, [u8]>> {
        Err(Status::Unimplemented)
    }

    /// Writes a property. The SDK's `None` is an empty value here.
    fn set_property(&mut self, path: PropertyPath<'_>, value: &[u8]) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// The first value of a header; `NotFound` if there is none. Names are case-insensitive.
    fn header(&mut self, map: MapType, name: &[u8]) -> HostResult<Cow<'_, [u8]>> {
        Err(Status::Unimplemented)
    }

    /// Pushes all headers to `out` in order.
    fn headers(&mut self, map: MapType, out: &mut PairsBuf) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// Adds a header and keeps others of the same name.
    fn add_header(&mut self, map: MapType, name: &[u8], value: &[u8]) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// Replaces all headers of a name by one.
    fn replace_header(&mut self, map: MapType, name: &[u8], value: &[u8]) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// Removes all headers of a name; succeeds if there is none.
    fn remove_header(&mut self, map: MapType, name: &[u8]) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// Replaces all headers.
    fn set_headers(&mut self, map: MapType, headers: Pairs<'_>) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// At most `max` bytes of a buffer from `start`; fewer or none if it is shorter.
    fn buffer(
        &mut self,
        buffer: BufferType,
        start: usize,
        max: usize,
    ) -> HostResult<Cow<'_, [u8]>> {
        Err(Status::Unimplemented)
    }

    /// Replaces `size` bytes of a buffer from `start` by `value`; `start` 0 and `size` 0 prepend, a `start` at or after
    /// the end appends.
    fn set_buffer(
        &mut self,
        buffer: BufferType,
        start: usize,
        size: usize,
        value: &[u8],
    ) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// Records a local response, to be sent instead of the upstream's once the guest has returned.
    fn send_local_response(&mut self, response: LocalResponse<'_>) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// Starts an HTTP call and returns its token, for `Vm::on_http_call_response`, which must not be called from in
    /// here: an immediate failure is either a status here or reported after the guest has returned.
    fn http_call(&mut self, call: HttpCall<'_>) -> HostResult<u32> {
        Err(Status::Unimplemented)
    }

    /// Records that a paused stream continues.
    fn continue_stream(&mut self, stream: StreamType) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// Records that a stream must be reset.
    fn close_stream(&mut self, stream: StreamType) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// Sets the period of the current root context's `Vm::on_tick`; zero stops it.
    fn set_tick_period(&mut self, period: Duration) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// A shared value with its CAS number; `NotFound` if there is none.
    fn shared_data(&mut self, key: &[u8]) -> HostResult<(Cow<'_, [u8]>, u32)> {
        Err(Status::Unimplemented)
    }

    /// Stores a shared value; with a CAS number only if the stored value still has it, else `CasMismatch`. Without one,
    /// Envoy always stores the value, Kong's host only if there is none yet.
    fn set_shared_data(
        &mut self,
        key: &[u8],
        value: &[u8],
        cas: Option<NonZeroU32>,
    ) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// Opens or creates the queue of this name in this VM, and returns its id.
    fn register_queue(&mut self, name: &[u8]) -> HostResult<u32> {
        Err(Status::Unimplemented)
    }

    /// Id of a queue, possibly of another VM; `NotFound` if there is none.
    fn resolve_queue(&mut self, vm_id: &[u8], name: &[u8]) -> HostResult<u32> {
        Err(Status::Unimplemented)
    }

    /// Takes the next item of a queue; `Empty` if there is none.
    fn dequeue(&mut self, queue: u32) -> HostResult<Cow<'_, [u8]>> {
        Err(Status::Unimplemented)
    }

    /// Adds an item to a queue.
    fn enqueue(&mut self, queue: u32, item: &[u8]) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// Opens or creates a metric, and returns its id.
    fn define_metric(&mut self, kind: MetricType, name: &[u8]) -> HostResult<u32> {
        Err(Status::Unimplemented)
    }

    /// Adds to a counter or a gauge.
    fn increment_metric(&mut self, metric: u32, by: i64) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// Sets a metric, or adds a sample to a histogram.
    fn record_metric(&mut self, metric: u32, value: u64) -> HostResult<()> {
        Err(Status::Unimplemented)
    }

    /// Value of a counter or a gauge.
    fn metric(&mut self, metric: u32) -> HostResult<u64> {
        Err(Status::Unimplemented)
    }

    /// Calls a host-specific function; `NotFound` if there is none of this name.
    fn call_foreign_function(
        &mut self,
        name: &[u8],
        arguments: &[u8],
    ) -> HostResult<Cow<'_, [u8]>> {
        Err(Status::Unimplemented)
    }

    /// Status code and message of the gRPC call that the current callback is for.
    fn call_status(&mut self) -> HostResult<(u32, Cow<'_, [u8]>)> {
        Err(Status::Unimplemented)
    }

    /// Records that the current context can be deleted now, after `Vm::on_done` returned `false` for it.
    fn done(&mut self) -> HostResult<()> {
        Err(Status::Unimplemented)
    }
}

/// Path of a property: segments separated by NUL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PropertyPath<'a>(pub &'a [u8]);

impl<'a> PropertyPath<'a> {
    /// The segments. A final NUL, which other SDKs write, adds none.
    pub fn segments(self) -> impl Iterator<Item = &'a [u8]> {
        self.0
            .strip_suffix(b"\0")
            .unwrap_or(self.0)
            .split(|byte| *byte == 0)
    }
}

/// Arguments of `send_local_response`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalResponse<'a> {
    /// The HTTP status from the guest, unchecked.
    pub status: u32,
    /// The reason, for the access log.
    pub details: &'a [u8],
    /// The body.
    pub body: &'a [u8],
    /// Headers in addition to the host's own.
    pub headers: Pairs<'a>,
    /// The `grpc-status`, if the guest set one (-1 in the ABI otherwise).
    pub grpc_status: Option<u32>,
}

/// Arguments of `http_call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpCall<'a> {
    /// The upstream in terms of the host: a cluster or an address.
    pub upstream: &'a [u8],
    /// Headers, including `:method`, `:path` and `:authority`.
    pub headers: Pairs<'a>,
    /// The body.
    pub body: &'a [u8],
    /// The trailers.
    pub trailers: Pairs<'a>,
    /// Timeout of the whole call.
    pub timeout: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn final_nul_adds_no_segment() {
        for path in [&b"ngx\0sluice_upstream"[..], b"ngx\0sluice_upstream\0"] {
            let segments: Vec<_> = PropertyPath(path).segments().collect();
            assert_eq!(segments, [&b"ngx"[..], b"sluice_upstream"]);
        }
    }
}
