//! A request and its response, in a worker of Envoy.

use std::ffi::c_uint;
use std::marker::PhantomData;
use std::ptr::null;
use std::time::Duration;

use crate::buffer::{EnvoyBuffer, EnvoyHeader, ModuleBuffer, ModuleHeader};
use crate::callbacks::{self, EnvoyPtr};
use crate::timing::Timing;
use crate::{Counter, Scheduler};

/// A request and its response, during a hook in their worker.
pub struct Stream<'hook> {
    filter: EnvoyPtr,
    hook: PhantomData<&'hook ()>,
}

/// The headers that are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Of the request.
    Request = 0,
    /// Of the response.
    Response = 2,
}

/// A text that Envoy knows of a stream. Names and numbers are those of `envoy_dynamic_module_type_attribute_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// `request.protocol`
    Protocol = 10,
    /// `response.code_details`
    ResponseCodeDetails = 16,
    /// `source.address`
    SourceAddress = 24,
    /// `destination.address`
    DestinationAddress = 26,
    /// `connection.requested_server_name`
    RequestedServerName = 30,
    /// `connection.tls_version`
    TlsVersion = 31,
    /// `upstream.address`
    UpstreamAddress = 41,
    /// `xds.cluster_name`
    ClusterName = 57,
    /// `xds.route_name`
    RouteName = 61,
    /// `xds.virtual_host_name`
    VirtualHostName = 63,
}

/// A number that Envoy knows of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumericAttribute {
    /// `response.code`
    ResponseCode = 15,
    /// `upstream.request_attempt_count`
    AttemptCount = 53,
}

impl Stream<'_> {
    /// # Safety
    ///
    /// Envoy has called a hook of this filter, and the handle does not outlive that.
    pub(crate) unsafe fn new(filter: EnvoyPtr) -> Self {
        Stream {
            filter,
            hook: PhantomData,
        }
    }

    /// One line of a header by its number; `None` beyond the last.
    #[must_use]
    pub fn header(&self, direction: Direction, name: &str, index: usize) -> Option<Vec<u8>> {
        self.counted_header(direction, name, index)
            .map(|(value, _)| value)
    }

    /// The first line of a header, and how many there are.
    #[must_use]
    pub fn first_header(&self, direction: Direction, name: &str) -> Option<(Vec<u8>, usize)> {
        self.counted_header(direction, name, 0)
    }

    fn counted_header(
        &self,
        direction: Direction,
        name: &str,
        index: usize,
    ) -> Option<(Vec<u8>, usize)> {
        let (mut value, mut count) = (EnvoyBuffer::NOTHING, 0);
        let map = direction as c_uint;
        // SAFETY: the name outlives the call, and Envoy writes the two out-parameters only.
        let found = unsafe {
            callbacks::get_header(self.filter, map, name.into(), &mut value, index, &mut count)
        };
        // SAFETY: Envoy has just filled it.
        found.then(|| (unsafe { value.bytes() }.to_vec(), count))
    }

    /// All headers, names in lower case.
    #[must_use]
    pub fn headers(&self, direction: Direction) -> Vec<(Vec<u8>, Vec<u8>)> {
        let map = direction as c_uint;
        // SAFETY: no pointers of ours.
        let count = unsafe { callbacks::get_headers_size(self.filter, map) };
        let empty = EnvoyHeader {
            name: EnvoyBuffer::NOTHING,
            value: EnvoyBuffer::NOTHING,
        };
        let mut headers = vec![empty; count];
        // SAFETY: there is room for as many as Envoy has just counted.
        if !unsafe { callbacks::get_headers(self.filter, map, headers.as_mut_ptr()) } {
            return Vec::new();
        }
        // SAFETY: Envoy has just filled them.
        let copy = |header: &EnvoyHeader| unsafe {
            (header.name.bytes().to_vec(), header.value.bytes().to_vec())
        };
        headers.iter().map(copy).collect()
    }

    /// Replaces all lines of a header.
    pub fn set_header(&self, direction: Direction, name: &str, value: &[u8]) -> bool {
        // SAFETY: both texts outlive the call; Envoy copies them.
        unsafe {
            callbacks::set_header(self.filter, direction as c_uint, name.into(), value.into())
        }
    }

    /// One more line of a header.
    pub fn add_header(&self, direction: Direction, name: &str, value: &[u8]) -> bool {
        // SAFETY: both texts outlive the call; Envoy copies them.
        unsafe {
            callbacks::add_header(self.filter, direction as c_uint, name.into(), value.into())
        }
    }

    /// Takes all lines of a header away.
    pub fn remove_header(&self, direction: Direction, name: &str) {
        let nothing = ModuleBuffer::NOTHING;
        // SAFETY: the name outlives the call; no value says that the header is to go.
        unsafe { callbacks::set_header(self.filter, direction as c_uint, name.into(), nothing) };
    }

    /// Drops the part of the request's body that has come.
    pub fn drop_request_body(&self) {
        const RECEIVED_REQUEST_BODY: c_uint = 0;
        // SAFETY: no pointers of ours; Envoy drops no more than there is.
        unsafe { callbacks::drain_body(self.filter, RECEIVED_REQUEST_BODY, usize::MAX) };
    }

    /// Makes Envoy look for the route anew.
    pub fn clear_route_cache(&self) {
        // SAFETY: the filter is there during the hook.
        unsafe { callbacks::clear_route_cache(self.filter) };
    }

    /// A text; `None` where Envoy has none, or an empty one.
    #[must_use]
    pub fn text_attribute(&self, attribute: Attribute) -> Option<String> {
        let mut value = EnvoyBuffer::NOTHING;
        // SAFETY: Envoy writes the out-parameter only.
        let found = unsafe { callbacks::get_text(self.filter, attribute as c_uint, &mut value) };
        // SAFETY: Envoy has just filled it.
        let bytes = found.then(|| unsafe { value.bytes() })?;
        let text = std::str::from_utf8(bytes).ok()?;
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// True if Envoy has such a text, and not an empty one.
    #[must_use]
    pub fn has_attribute(&self, attribute: Attribute) -> bool {
        let mut value = EnvoyBuffer::NOTHING;
        // SAFETY: Envoy writes the out-parameter only.
        let found = unsafe { callbacks::get_text(self.filter, attribute as c_uint, &mut value) };
        // SAFETY: Envoy has just filled it.
        found && !unsafe { value.bytes() }.is_empty()
    }

    /// A number.
    #[must_use]
    pub fn numeric_attribute(&self, attribute: NumericAttribute) -> Option<u64> {
        let mut value = 0;
        // SAFETY: Envoy writes one number.
        let found = unsafe { callbacks::get_number(self.filter, attribute as c_uint, &mut value) };
        found.then_some(value)
    }

    /// From the first byte that was sent to the upstream to the last one that has come from there.
    #[must_use]
    pub fn upstream_time(&self) -> Option<Duration> {
        let mut timing = Timing::default();
        // SAFETY: Envoy fills the whole of it, and any bytes are such a value.
        unsafe { callbacks::get_timing(self.filter, &mut timing) };
        timing.upstream_time()
    }

    /// Leaves something for other filters of this stream.
    pub fn set_state(&self, key: &str, value: &str) -> bool {
        // SAFETY: both texts outlive the call; Envoy copies them.
        unsafe { callbacks::set_filter_state(self.filter, key.into(), value.into()) }
    }

    /// True if a filter of this stream has left something there.
    #[must_use]
    pub fn has_state(&self, key: &str) -> bool {
        let mut value = EnvoyBuffer::NOTHING;
        // SAFETY: the key outlives the call, and Envoy writes the out-parameter only.
        unsafe { callbacks::get_filter_state(self.filter, key.into(), &mut value) }
    }

    /// Responds here, with a text or without a body.
    pub fn respond(&self, status: u16, body: &str) {
        let header: ModuleHeader = ("content-type", "text/plain; charset=utf-8").into();
        let count = usize::from(!body.is_empty());
        // SAFETY: all texts outlive the call; Envoy copies them.
        unsafe {
            callbacks::send_response(
                self.filter,
                u32::from(status),
                &raw const header,
                count,
                body.into(),
                ModuleBuffer::NOTHING,
            );
        }
    }

    /// Lets a request that waits go on.
    pub fn resume(&self) {
        // SAFETY: the filter is there during the hook.
        unsafe { callbacks::continue_decoding(self.filter) };
    }

    /// A way for other threads to send events to this stream.
    #[must_use]
    pub fn scheduler(&self) -> Scheduler {
        // SAFETY: the filter is there during the hook.
        let scheduler = unsafe { callbacks::new_scheduler(self.filter) };
        Scheduler::new(scheduler)
    }

    /// Adds one to a counter of the filter's configuration.
    pub fn count(&self, counter: Counter) {
        // SAFETY: no pointers of ours; Envoy knows its counters.
        unsafe { callbacks::increment_counter(self.filter, counter.0, null(), 0, 1) };
    }
}
