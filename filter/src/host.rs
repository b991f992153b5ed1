//! Every call to the host, and nothing else.
//!
//! Calls on the request path and calls that a host may not have go to the ABI directly: the SDK's wrappers panic on
//! a status they do not expect, and a panic here takes the whole VM down. A status is a `u32` on this side, because
//! a host may answer numbers that the SDK's enum does not have.
#![allow(
    unsafe_code,
    reason = "the proxy-wasm ABI is a C interface; this module is its only user"
)]

mod abi;

use std::ptr::{null, null_mut};
use std::time::Duration;

use proxy_wasm::hostcalls;
use proxy_wasm::types::{BufferType, MapType};
use sluice_filter_core::shared::{Exchange, Shared, Unavailable};
use sluice_filter_core::{Reply, Timestamp};
use sluice_filter_worker::LogLevel;

use self::abi::{
    proxy_add_header_map_value, proxy_continue_stream, proxy_define_metric, proxy_get_buffer_bytes,
    proxy_get_current_time_nanoseconds, proxy_get_header_map_pairs, proxy_get_header_map_value,
    proxy_get_property, proxy_get_shared_data, proxy_http_call, proxy_increment_metric, proxy_log,
    proxy_remove_header_map_value, proxy_replace_header_map_value, proxy_send_local_response,
    proxy_set_buffer_bytes, proxy_set_effective_context, proxy_set_property, proxy_set_shared_data,
    proxy_set_tick_period_milliseconds,
};
use crate::pairs::{self, Pairs};

const OK: u32 = 0;
const NOT_FOUND: u32 = 1;
const CAS_MISMATCH: u32 = 8;
const STREAM_REQUEST: u32 = 0;
const GRPC_STATUS_NONE: i32 = -1;

/// A value that the host allocated in our memory through `proxy_on_memory_allocate`.
struct Returned {
    data: *mut u8,
    len: usize,
}

impl Returned {
    const NOTHING: Returned = Returned {
        data: null_mut(),
        len: 0,
    };

    /// The bytes; empty if the host returned none: hosts allocate nothing for an empty value.
    fn bytes(self, status: u32) -> Option<Vec<u8>> {
        match status {
            OK => Some(self.non_empty(status).unwrap_or_default()),
            _ => None,
        }
    }

    fn non_empty(self, status: u32) -> Option<Vec<u8>> {
        if status != OK || self.data.is_null() {
            return None;
        }
        // SAFETY: the host got `data` from the SDK's allocator, which leaks a `Vec<u8>` of exactly this capacity,
        // and gives it to us alone.
        Some(unsafe { Vec::from_raw_parts(self.data, self.len, self.len) })
    }
}

/// A property by its path, parts separated by NUL; `None` when the host does not have it, or it is empty.
pub(crate) fn property(path: &[u8]) -> Option<Vec<u8>> {
    let (value, status) = ask_for_property(path);
    value.non_empty(status)
}

/// A property by its path, also an empty one.
pub(crate) fn property_that_may_be_empty(path: &[u8]) -> Option<Vec<u8>> {
    let (value, status) = ask_for_property(path);
    value.bytes(status)
}

fn ask_for_property(path: &[u8]) -> (Returned, u32) {
    let mut value = Returned::NOTHING;
    // SAFETY: `path` outlives the call and the host writes the two out-parameters only.
    let status =
        unsafe { proxy_get_property(path.as_ptr(), path.len(), &mut value.data, &mut value.len) };
    (value, status)
}

/// A header of the request, which may be empty. Of several lines Envoy has the first.
pub(crate) fn request_header(name: &str) -> Option<Vec<u8>> {
    let mut value = Returned::NOTHING;
    // SAFETY: the key outlives the call and the host writes the two out-parameters only.
    let status = unsafe {
        let map = MapType::HttpRequestHeaders as u32;
        proxy_get_header_map_value(
            map,
            name.as_ptr(),
            name.len(),
            &mut value.data,
            &mut value.len,
        )
    };
    value.bytes(status)
}

/// All headers of the request or of the response.
pub(crate) fn headers(map: MapType) -> Pairs {
    let mut value = Returned::NOTHING;
    // SAFETY: the host writes the two out-parameters only.
    let status = unsafe { proxy_get_header_map_pairs(map as u32, &mut value.data, &mut value.len) };
    Pairs::new(value.non_empty(status).unwrap_or_default())
}

/// One more header of the response.
pub(crate) fn add_response_header(name: &str, value: &[u8]) -> bool {
    let map = MapType::HttpResponseHeaders as u32;
    // SAFETY: both texts outlive the call; the host copies them.
    OK == unsafe {
        proxy_add_header_map_value(map, name.as_ptr(), name.len(), value.as_ptr(), value.len())
    }
}

/// Replaces a header of the request.
pub(crate) fn set_request_header(name: &str, value: &[u8]) -> bool {
    let map = MapType::HttpRequestHeaders as u32;
    // SAFETY: both texts outlive the call; the host copies them.
    OK == unsafe {
        proxy_replace_header_map_value(map, name.as_ptr(), name.len(), value.as_ptr(), value.len())
    }
}

/// Sets a property; `false` when the host does not have it.
pub(crate) fn set_property(path: &str, value: &str) -> bool {
    // SAFETY: both texts outlive the call; the host copies them.
    OK == unsafe { proxy_set_property(path.as_ptr(), path.len(), value.as_ptr(), value.len()) }
}

/// Takes all headers of this name away.
pub(crate) fn remove_header(map: MapType, name: &str) {
    // SAFETY: the key outlives the call. Without such a header there is nothing to remove, whatever the status.
    unsafe { proxy_remove_header_map_value(map as u32, name.as_ptr(), name.len()) };
}

/// Answers the current request here.
pub(crate) fn reply(reply: Reply) -> bool {
    const HEADERS: &[u8] =
        b"\x01\0\0\0\x0c\0\0\0\x19\0\0\0content-type\0text/plain; charset=utf-8\0";
    let body = reply.body.as_bytes();
    let headers = if body.is_empty() { &[] } else { HEADERS };
    // SAFETY: all buffers outlive the call; the host copies them. `HEADERS` is one serialised pair (count, key
    // length, value length, key NUL, value NUL).
    let status = unsafe {
        proxy_send_local_response(
            u32::from(reply.status),
            null(),
            0,
            body.as_ptr(),
            body.len(),
            headers.as_ptr(),
            headers.len(),
            GRPC_STATUS_NONE,
        )
    };
    status == OK
}

/// The host's clock.
pub(crate) fn now() -> Timestamp {
    let mut nanos = 0;
    // SAFETY: the host writes one u64.
    unsafe { proxy_get_current_time_nanoseconds(&mut nanos) };
    Timestamp::from_nanos(nanos)
}

/// Asks for `on_tick` at this period. Only from `on_configure`: some hosts refuse it elsewhere.
pub(crate) fn tick_every(period: Duration) -> bool {
    let millis = u32::try_from(period.as_millis()).unwrap_or(u32::MAX);
    // SAFETY: no pointers.
    unsafe { proxy_set_tick_period_milliseconds(millis) == OK }
}

/// Makes another context the one that the next calls are about; `false` when it is gone.
pub(crate) fn switch_to(context: u32) -> bool {
    // SAFETY: no pointers; an id that the host does not know is an error status.
    unsafe { proxy_set_effective_context(context) == OK }
}

/// Lets the paused request of the current context go on.
pub(crate) fn resume_request() {
    // SAFETY: no pointers. A request that is gone cannot be resumed, and that is fine.
    unsafe { proxy_continue_stream(STREAM_REQUEST) };
}

fn buffer(kind: BufferType, size: usize) -> Option<Vec<u8>> {
    let mut value = Returned::NOTHING;
    // SAFETY: the host writes the two out-parameters only.
    let status =
        unsafe { proxy_get_buffer_bytes(kind as u32, 0, size, &mut value.data, &mut value.len) };
    value.non_empty(status)
}

/// Drops the part of the current request's body that has come; only in `on_request_body`.
pub(crate) fn drop_request_body(size: usize) {
    let body = BufferType::HttpRequestBody as u32;
    // SAFETY: no bytes are read: there are none in the place of those that have come.
    unsafe { proxy_set_buffer_bytes(body, 0, size, null(), 0) };
}

/// The plugin configuration; only in `on_configure`.
pub(crate) fn plugin_configuration(size: usize) -> Vec<u8> {
    buffer(BufferType::PluginConfiguration, size).unwrap_or_default()
}

/// The body of an answer; only in `on_http_call_response`.
pub(crate) fn call_response_body(size: usize) -> Vec<u8> {
    buffer(BufferType::HttpCallResponseBody, size).unwrap_or_default()
}

/// The status of an answer; `None` when there was none. Only in `on_http_call_response`.
pub(crate) fn call_response_status() -> Option<u16> {
    let value = hostcalls::get_map_value(MapType::HttpCallResponseHeaders, ":status").ok()??;
    value.parse().ok()
}

/// Sends a GET to the controller; the answer comes to the root context that is the current one, with this token.
pub(crate) fn get(upstream: &str, authority: &str, path: &str, timeout: Duration) -> Option<u32> {
    let headers = pairs::serialise(&[
        (":method", "GET"),
        (":path", path),
        (":authority", authority),
        (":scheme", "http"),
    ]);
    let trailers = pairs::serialise(&[]);
    let millis = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
    let mut token = 0;
    // SAFETY: all buffers outlive the call; the host copies them, and writes one u32.
    let status = unsafe {
        proxy_http_call(
            upstream.as_ptr(),
            upstream.len(),
            headers.as_ptr(),
            headers.len(),
            null(),
            0,
            trailers.as_ptr(),
            trailers.len(),
            millis,
            &mut token,
        )
    };
    (status == OK).then_some(token)
}

/// Writes a line to the host's log.
pub(crate) fn log(level: LogLevel, message: &str) {
    let level = match level {
        LogLevel::Info => proxy_wasm::types::LogLevel::Info,
        LogLevel::Warn => proxy_wasm::types::LogLevel::Warn,
        LogLevel::Error => proxy_wasm::types::LogLevel::Error,
    };
    // SAFETY: the message outlives the call; the host copies it. A line that cannot be logged has nowhere to go.
    unsafe { proxy_log(level as u32, message.as_ptr(), message.len()) };
}

/// A counter of the host; `None` when the host has no metrics.
pub(crate) fn counter(name: &str) -> Option<u32> {
    const COUNTER: u32 = 0;
    let mut id = 0;
    // SAFETY: the name outlives the call and the host writes one u32.
    let status = unsafe { proxy_define_metric(COUNTER, name.as_ptr(), name.len(), &mut id) };
    (status == OK).then_some(id)
}

/// Adds one to a counter.
pub(crate) fn count(id: u32) {
    // SAFETY: no pointers; an unknown id is an error status.
    unsafe { proxy_increment_metric(id, 1) };
}

/// The memory that all VMs of this filter share.
#[derive(Debug)]
pub(crate) struct SharedData;

impl Shared for SharedData {
    fn read(&self, key: &str) -> Result<Option<(Vec<u8>, u32)>, Unavailable> {
        let (mut value, mut version) = (Returned::NOTHING, 0);
        // SAFETY: the key outlives the call and the host writes the three out-parameters only.
        let status = unsafe {
            proxy_get_shared_data(
                key.as_ptr(),
                key.len(),
                &mut value.data,
                &mut value.len,
                &mut version,
            )
        };
        match status {
            // Nothing is allocated for a value without bytes.
            OK => Ok(Some((value.non_empty(status).unwrap_or_default(), version))),
            NOT_FOUND => Ok(None),
            _ => Err(Unavailable),
        }
    }

    fn exchange(
        &self,
        key: &str,
        value: &[u8],
        version: Option<u32>,
    ) -> Result<Exchange, Unavailable> {
        // To Envoy a value that is not there yet has every version, and zero means whatever version it is: a version
        // that no value gets is how to write a first value and no second one.
        let cas = version.unwrap_or(u32::MAX);
        // SAFETY: key and value outlive the call; the host copies them.
        let status = unsafe {
            proxy_set_shared_data(key.as_ptr(), key.len(), value.as_ptr(), value.len(), cas)
        };
        match status {
            OK => Ok(Exchange::Done),
            CAS_MISMATCH => Ok(Exchange::Lost),
            _ => Err(Unavailable),
        }
    }
}

/// True if the request has the header by which an end-to-end test injects a fault. Clients' headers `x-sluice-*` do not get
/// here.
#[cfg(feature = "fault-injection")]
pub(crate) fn asks_for(header: &str) -> bool {
    request_header(header).is_some()
}
