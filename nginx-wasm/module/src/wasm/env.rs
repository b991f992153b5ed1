//! The host environment of the guest, on nginx.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use sluice_filter_config::host_contract;
use sluice_ngx::{CallResponse, HeaderError, Level, LiveRequest, Reply, VariableError, log};
use sluice_wasm_host::{
    BufferType, ContextId, Env, HostResult, HttpCall, LocalResponse, LogLevel, MapType, PairsBuf,
    PropertyPath, Status, StreamType,
};

use super::calls::{Calls, OnCallEnd};
use super::timers::TickTimers;
use crate::request::Request;
use crate::{clock, properties, random};

/// Property with the outcome of a request's tries; its value has a line for each of [`properties::OUTCOME`].
const OUTCOME: &[u8] = host_contract::OUTCOME.name.as_bytes();

/// Callbacks of nginx's event loop for the timers and calls that the guest starts.
#[derive(Clone, Copy)]
pub(crate) struct EventHandlers {
    pub(crate) on_tick: fn(ContextId),
    pub(crate) on_call_end: OnCallEnd,
}

/// The host environment of one instance.
#[derive(Default)]
pub(crate) struct NginxEnv {
    /// `None` while the master tests a configuration.
    event_handlers: Option<EventHandlers>,
    current: Option<ContextId>,
    requests: HashMap<ContextId, Request>,
    pub(crate) calls: Calls,
    pub(crate) timers: TickTimers,
    /// Set during `proxy_on_configure`.
    pub(crate) configuration: Option<Rc<[u8]>>,
    /// Set during `proxy_on_http_call_response`.
    pub(crate) call_response: Option<CallResponse>,
    scratch: Vec<u8>,
}

impl NginxEnv {
    /// The environment of a configuration test: timers and calls that the guest asks for are not started.
    pub(crate) fn for_configuration_test() -> Self {
        Self::default()
    }

    /// The environment of a worker's instance.
    pub(crate) fn new(event_handlers: EventHandlers) -> Self {
        Self {
            event_handlers: Some(event_handlers),
            ..Self::default()
        }
    }

    /// Registers the request of an HTTP context.
    pub(crate) fn add_request(&mut self, context: ContextId, request: &Request) {
        self.requests.insert(context, request.clone());
    }

    /// Removes a request that has ended.
    pub(crate) fn remove_request(&mut self, context: ContextId) {
        self.requests.remove(&context);
    }

    /// The request of a context; `None` for a root context.
    pub(crate) fn request(&self, context: ContextId) -> Option<&Request> {
        self.requests.get(&context)
    }

    /// Drops everything that a trapped instance had started. Its paused requests start again in the next instance.
    pub(crate) fn reset(&mut self) {
        self.calls = Calls::default();
        self.timers = TickTimers::default();
        self.call_response = None;
        self.configuration = None;
        for (_, request) in self.requests.drain() {
            // Fails for requests that are not paused; those go on without the filter.
            let _ = request.restart();
        }
    }

    fn current(&self) -> Option<&Request> {
        self.requests.get(&self.current?)
    }

    fn with_request<R>(&self, read: impl FnOnce(&mut LiveRequest<'_>) -> R) -> HostResult<R> {
        self.current()
            .ok_or(Status::NotFound)?
            .with(read)
            .map_err(|_| Status::NotFound)
    }

    fn edit(
        &self,
        edit: impl FnOnce(&mut LiveRequest<'_>) -> Result<(), HeaderError>,
    ) -> HostResult<()> {
        self.with_request(edit)?.map_err(|refused| match refused {
            HeaderError::NotEditable | HeaderError::Malformed => Status::BadArgument,
            HeaderError::OutOfMemory => Status::InternalFailure,
        })
    }

    /// The bytes that `read` copies into the scratch buffer.
    fn copy(
        &mut self,
        read: impl FnOnce(&mut LiveRequest<'_>, &mut Vec<u8>) -> Option<()>,
    ) -> HostResult<Cow<'_, [u8]>> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let found = self.with_request(|live| read(live, &mut scratch));
        self.scratch = scratch;
        found?.ok_or(Status::NotFound)?;
        Ok(Cow::Borrowed(&self.scratch))
    }
}

impl Env for NginxEnv {
    fn enter(&mut self, context: ContextId) {
        self.current = Some(context);
    }

    fn leave(&mut self) {
        self.current = None;
    }

    fn log(&mut self, level: LogLevel, message: &[u8]) {
        let level = match level {
            LogLevel::Trace | LogLevel::Debug => Level::Debug,
            LogLevel::Info => Level::Info,
            LogLevel::Warn => Level::Warn,
            LogLevel::Error => Level::Error,
            LogLevel::Critical => Level::Crit,
        };
        let line = [b"sluice: ", message].concat();
        if self.with_request(|live| live.log(level, &line)).is_err() {
            log(level, &line);
        }
    }

    fn now_ns(&mut self) -> u64 {
        clock::now_ns()
    }

    fn random(&mut self, out: &mut [u8]) -> HostResult<()> {
        random::fill(out).ok_or(Status::InternalFailure)
    }

    fn property(&mut self, path: PropertyPath<'_>) -> HostResult<Cow<'_, [u8]>> {
        let name = variable(path).ok_or(Status::NotFound)?;
        if name == OUTCOME {
            return self.copy(outcome);
        }
        self.copy(|live, out| {
            out.extend_from_slice(properties::variable(live, name)?);
            Some(())
        })
    }

    fn set_property(&mut self, path: PropertyPath<'_>, value: &[u8]) -> HostResult<()> {
        let name = variable(path).ok_or(Status::NotFound)?;
        self.with_request(|live| live.set_variable(name, value))?
            .map_err(|not_set| match not_set {
                VariableError::Unknown => Status::NotFound,
                VariableError::ReadOnly => Status::BadArgument,
                VariableError::OutOfMemory => Status::InternalFailure,
            })
    }

    fn header(&mut self, map: MapType, name: &[u8]) -> HostResult<Cow<'_, [u8]>> {
        match map {
            MapType::HttpRequestHeaders => self.copy(|live, out| {
                out.extend_from_slice(properties::request_header(live, name)?);
                Some(())
            }),
            MapType::HttpResponseHeaders => self.copy(|live, out| {
                match name {
                    b":status" => {
                        out.extend_from_slice(live.response_status().to_string().as_bytes());
                    }
                    name => out.extend_from_slice(live.response_header(name)?),
                }
                Some(())
            }),
            MapType::HttpCallResponseHeaders => {
                let response = self.call_response.as_ref().ok_or(Status::NotFound)?;
                if name == b":status" {
                    return Ok(Cow::Owned(response.status.to_string().into_bytes()));
                }
                let found = response
                    .headers
                    .iter()
                    .find(|(key, _)| key.eq_ignore_ascii_case(name));
                found
                    .map(|(_, value)| Cow::Borrowed(&**value))
                    .ok_or(Status::NotFound)
            }
            _ => Err(Status::Unimplemented),
        }
    }

    fn headers(&mut self, map: MapType, out: &mut PairsBuf) -> HostResult<()> {
        match map {
            MapType::HttpRequestHeaders => self.with_request(|live| {
                let [method, scheme, target] = live.request_line();
                let authority = live.request_header(b"host").unwrap_or_default();
                for (name, value) in [
                    (":method", method),
                    (":scheme", scheme),
                    (":path", target),
                    (":authority", authority),
                ] {
                    out.push(name.as_bytes(), value);
                }
                live.each_request_header(|name, value| out.push(name, value));
            }),
            MapType::HttpResponseHeaders => self.with_request(|live| {
                out.push(b":status", live.response_status().to_string().as_bytes());
                live.each_response_header(|name, value| out.push(name, value));
            }),
            MapType::HttpCallResponseHeaders => {
                let response = self.call_response.as_ref().ok_or(Status::NotFound)?;
                out.push(b":status", response.status.to_string().as_bytes());
                response
                    .headers
                    .iter()
                    .for_each(|(name, value)| out.push(name, value));
                Ok(())
            }
            _ => Err(Status::Unimplemented),
        }
    }

    fn add_header(&mut self, map: MapType, name: &[u8], value: &[u8]) -> HostResult<()> {
        match map {
            MapType::HttpRequestHeaders => self.edit(|live| live.add_request_header(name, value)),
            MapType::HttpResponseHeaders => self.edit(|live| live.add_response_header(name, value)),
            _ => Err(Status::Unimplemented),
        }
    }

    fn replace_header(&mut self, map: MapType, name: &[u8], value: &[u8]) -> HostResult<()> {
        self.remove_header(map, name)?;
        self.add_header(map, name, value)
    }

    fn remove_header(&mut self, map: MapType, name: &[u8]) -> HostResult<()> {
        match map {
            MapType::HttpRequestHeaders => self.edit(|live| live.remove_request_header(name)),
            MapType::HttpResponseHeaders => self.edit(|live| live.remove_response_header(name)),
            _ => Err(Status::Unimplemented),
        }
    }

    fn buffer(
        &mut self,
        buffer: BufferType,
        start: usize,
        max: usize,
    ) -> HostResult<Cow<'_, [u8]>> {
        let bytes = match buffer {
            BufferType::PluginConfiguration => self.configuration.as_deref().unwrap_or_default(),
            BufferType::HttpCallResponseBody => {
                &self.call_response.as_ref().ok_or(Status::NotFound)?.body
            }
            BufferType::VmConfiguration => &[],
            _ => return Err(Status::Unimplemented),
        };
        let rest = bytes.get(start..).unwrap_or_default();
        Ok(Cow::Borrowed(rest.get(..max).unwrap_or(rest)))
    }

    fn send_local_response(&mut self, response: LocalResponse<'_>) -> HostResult<()> {
        let headers = response
            .headers
            .map(|(name, value)| (name.to_vec(), value.to_vec()))
            .collect();
        let status = u16::try_from(response.status).map_err(|_| Status::BadArgument)?;
        let reply = Reply {
            status,
            headers,
            body: response.body.to_vec(),
        };
        // Fails once a response has begun.
        self.current()
            .ok_or(Status::BadArgument)?
            .reply(reply)
            .map_err(|_| Status::BadArgument)
    }

    fn http_call(&mut self, call: HttpCall<'_>) -> HostResult<u32> {
        let handlers = self.event_handlers.ok_or(Status::InternalFailure)?;
        let context = self.current.ok_or(Status::InternalFailure)?;
        self.calls.start(context, call, handlers.on_call_end)
    }

    fn continue_stream(&mut self, stream: StreamType) -> HostResult<()> {
        match stream {
            StreamType::HttpRequest => self
                .current()
                .ok_or(Status::BadArgument)?
                .resume()
                .map_err(|_| Status::BadArgument),
            // A response is never paused.
            StreamType::HttpResponse => Ok(()),
            _ => Err(Status::Unimplemented),
        }
    }

    fn set_tick_period(&mut self, period: Duration) -> HostResult<()> {
        if let Some(handlers) = self.event_handlers {
            let root = self.current.ok_or(Status::InternalFailure)?;
            self.timers.set(root, period, handlers.on_tick);
        }
        Ok(())
    }
}

/// The outcome of all tries of a request in one property, a line for each of nginx's lists. `None` if no upstream was
/// tried.
fn outcome(live: &mut LiveRequest<'_>, out: &mut Vec<u8>) -> Option<()> {
    let [tried, others @ ..] = properties::OUTCOME.map(str::as_bytes);
    out.extend_from_slice(live.variable(tried).filter(|tried| !tried.is_empty())?);
    for name in others {
        out.push(b'\n');
        out.extend_from_slice(live.variable(name).unwrap_or_default());
    }
    Some(())
}

/// The variable behind a property: `ngx`, `NAME`, or in the form of Kong's host, `ngx.NAME`.
fn variable(path: PropertyPath<'_>) -> Option<&[u8]> {
    let mut segments = path.segments();
    let name = match segments.next()? {
        b"ngx" => segments.next()?,
        dotted => dotted.strip_prefix(b"ngx.")?,
    };
    segments.next().is_none().then_some(name)
}
