//! What a guest can ask of its host.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::{
    BufferType, ContextId, LogLevel, MapType, MetricType, Pairs, PairsBuf, Status, StreamType,
};

/// What a host call answers.
pub type Answer<T> = Result<T, Status>;

/// A host, as the guest sees it.
///
/// The required methods are what every Rust guest needs. The others answer [`Status::Unimplemented`], so an
/// implementation holds what its host has and nothing else.
///
/// All calls are about the *current* context, the one last given to [`Env::enter`]; there is none yet while the
/// instance is being made.
///
/// None of them may panic: that would unwind through the guest and leave it in the middle of a call, and alive.
///
/// Values are returned as [`Cow`]: borrowed where the host has the bytes anyway. They are copied once on their way
/// to the guest.
#[allow(
    unused_variables,
    reason = "the defaults have no use for their arguments, but name them for the reader"
)]
pub trait Env: 'static {
    /// The guest is about to run for this context, or has made it the current one itself
    /// (`proxy_set_effective_context`; only live contexts get here).
    fn enter(&mut self, context: ContextId);

    /// The guest has returned, or trapped. Here a host drops its handle of the current request.
    fn leave(&mut self) {}

    /// Takes a log line, without a newline at its end. Also what a guest prints: stdout as info, stderr as error.
    fn log(&mut self, level: LogLevel, message: &[u8]);

    /// The time since the Unix epoch in nanoseconds. It is the guest's monotonic clock too.
    fn now_ns(&mut self) -> u64;

    /// Fills `out` with random bytes: the seed of each `HashMap` of the guest.
    ///
    /// # Errors
    ///
    /// A failure makes the guest panic.
    fn random(&mut self, out: &mut [u8]) -> Answer<()>;

    /// The least severe level that is logged at all.
    fn log_level(&mut self) -> Answer<LogLevel> {
        Err(Status::Unimplemented)
    }

    /// Reads a property; `NotFound` where there is none.
    fn property(&mut self, path: PropertyPath<'_>) -> Answer<Cow<'_, [u8]>> {
        Err(Status::Unimplemented)
    }

    /// Writes a property. The SDK's `None` is an empty value here.
    fn set_property(&mut self, path: PropertyPath<'_>, value: &[u8]) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// The first value of a header; `NotFound` where there is none. Names compare without regard to case.
    fn header(&mut self, map: MapType, name: &[u8]) -> Answer<Cow<'_, [u8]>> {
        Err(Status::Unimplemented)
    }

    /// All headers, pushed to `out` in their order.
    fn headers(&mut self, map: MapType, out: &mut PairsBuf) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// Adds a header, beside others of this name.
    fn add_header(&mut self, map: MapType, name: &[u8], value: &[u8]) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// Puts one header in the place of all of this name.
    fn replace_header(&mut self, map: MapType, name: &[u8], value: &[u8]) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// Removes all headers of this name; none to remove is a success.
    fn remove_header(&mut self, map: MapType, name: &[u8]) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// Puts these headers in the place of all.
    fn set_headers(&mut self, map: MapType, headers: Pairs<'_>) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// At most `max` bytes of a buffer from `start`; fewer, or none, where it is shorter.
    fn buffer(&mut self, buffer: BufferType, start: usize, max: usize) -> Answer<Cow<'_, [u8]>> {
        Err(Status::Unimplemented)
    }

    /// Puts `value` in the place of `size` bytes of a buffer from `start`; `start` 0 and `size` 0 prepend, a
    /// `start` at or after the end appends.
    fn set_buffer(
        &mut self,
        buffer: BufferType,
        start: usize,
        size: usize,
        value: &[u8],
    ) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// Records the answer to be sent instead of the upstream's, once the guest has returned.
    fn send_local_response(&mut self, response: LocalResponse<'_>) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// Starts an HTTP call and returns its token, for `Vm::on_http_call_response`. Not in this call: a failure that
    /// is known at once is either a status here or reported after the guest has returned.
    fn http_call(&mut self, call: HttpCall<'_>) -> Answer<u32> {
        Err(Status::Unimplemented)
    }

    /// Records that a paused stream goes on.
    fn continue_stream(&mut self, stream: StreamType) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// Records that a stream is to be reset.
    fn close_stream(&mut self, stream: StreamType) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// Sets the period of the current root context's `Vm::on_tick`; zero stops it.
    fn set_tick_period(&mut self, period: Duration) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// A shared value with its CAS number; `NotFound` where there is none.
    fn shared_data(&mut self, key: &[u8]) -> Answer<(Cow<'_, [u8]>, u32)> {
        Err(Status::Unimplemented)
    }

    /// Stores a shared value; with a CAS number only if the stored one still has it, else `CasMismatch`. What `None`
    /// means differs: Envoy stores always, Kong's host only if there is no value yet.
    fn set_shared_data(&mut self, key: &[u8], value: &[u8], cas: Option<NonZeroU32>) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// Opens this VM's queue of this name, and makes it if there is none; its id is the answer.
    fn register_queue(&mut self, name: &[u8]) -> Answer<u32> {
        Err(Status::Unimplemented)
    }

    /// The id of a queue, maybe of another VM; `NotFound` where there is none.
    fn resolve_queue(&mut self, vm_id: &[u8], name: &[u8]) -> Answer<u32> {
        Err(Status::Unimplemented)
    }

    /// Takes the next item of a queue; `Empty` where there is none.
    fn dequeue(&mut self, queue: u32) -> Answer<Cow<'_, [u8]>> {
        Err(Status::Unimplemented)
    }

    /// Adds an item to a queue.
    fn enqueue(&mut self, queue: u32, item: &[u8]) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// Opens a metric, and makes it if there is none; its id is the answer.
    fn define_metric(&mut self, kind: MetricType, name: &[u8]) -> Answer<u32> {
        Err(Status::Unimplemented)
    }

    /// Adds to a counter or a gauge.
    fn increment_metric(&mut self, metric: u32, by: i64) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// Sets a metric, or adds a sample to a histogram.
    fn record_metric(&mut self, metric: u32, value: u64) -> Answer<()> {
        Err(Status::Unimplemented)
    }

    /// The value of a counter or a gauge.
    fn metric(&mut self, metric: u32) -> Answer<u64> {
        Err(Status::Unimplemented)
    }

    /// Calls a function that only this host has; `NotFound` where it has none of this name.
    fn call_foreign_function(&mut self, name: &[u8], arguments: &[u8]) -> Answer<Cow<'_, [u8]>> {
        Err(Status::Unimplemented)
    }

    /// The code and the message of the gRPC call that the guest is being told of.
    fn call_status(&mut self) -> Answer<(u32, Cow<'_, [u8]>)> {
        Err(Status::Unimplemented)
    }

    /// Records that the current context, whose `Vm::on_done` was answered with `false`, can be deleted now.
    fn done(&mut self) -> Answer<()> {
        Err(Status::Unimplemented)
    }
}

/// The path of a property: segments with NUL between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PropertyPath<'a>(pub &'a [u8]);

impl<'a> PropertyPath<'a> {
    /// The segments. A NUL at the end, which other SDKs write, adds none.
    pub fn segments(self) -> impl Iterator<Item = &'a [u8]> {
        self.0
            .strip_suffix(b"\0")
            .unwrap_or(self.0)
            .split(|byte| *byte == 0)
    }
}

/// What `send_local_response` is asked to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalResponse<'a> {
    /// The HTTP status, as the guest gave it: not checked.
    pub status: u32,
    /// Why, for the access log.
    pub details: &'a [u8],
    /// The body.
    pub body: &'a [u8],
    /// Headers beside the host's own.
    pub headers: Pairs<'a>,
    /// The `grpc-status`, where the guest gave one (it is -1 across the ABI otherwise).
    pub grpc_status: Option<u32>,
}

/// What `http_call` is asked to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpCall<'a> {
    /// The host's name for the upstream, a cluster or an address.
    pub upstream: &'a [u8],
    /// Headers, with `:method`, `:path` and `:authority` among them.
    pub headers: Pairs<'a>,
    /// The body.
    pub body: &'a [u8],
    /// The trailers.
    pub trailers: Pairs<'a>,
    /// How long the whole call may take.
    pub timeout: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_the_same_with_and_without_a_final_nul() {
        for path in [&b"ngx\0sluice_upstream"[..], b"ngx\0sluice_upstream\0"] {
            let segments: Vec<_> = PropertyPath(path).segments().collect();
            assert_eq!(segments, [&b"ngx"[..], b"sluice_upstream"]);
        }
    }
}
