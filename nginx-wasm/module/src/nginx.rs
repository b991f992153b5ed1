//! nginx, as the guest sees it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::rand::{GetRandomFlags, getrandom};
use sluice_ngxsafe::{Answer as HttpAnswer, Level, NotSet, Refused, Reply, Request, View, log};
use sluice_pwhost::{
    Answer, BufferType, ContextId, Env, HttpCall, LocalResponse, LogLevel, MapType, PairsBuf,
    PropertyPath, Status, StreamType,
};

use crate::Sluice;
use crate::calls::Calls;
use crate::ticks::Ticks;

/// What the filter asks at the end of a request, and its answer's lines.
const OUTCOME: &[u8] = b"sluice_outcome";
const TOLD: [&[u8]; 4] = [
    b"upstream_addr",
    b"upstream_status",
    b"upstream_connect_time",
    b"upstream_response_time",
];

/// The host of one instance.
#[derive(Default)]
pub(crate) struct Nginx {
    /// `false` in the master, where a configuration is only tried.
    serves: bool,
    current: Option<ContextId>,
    requests: HashMap<ContextId, Request<Sluice>>,
    pub(crate) calls: Calls,
    pub(crate) ticks: Ticks,
    /// While the guest is configured.
    pub(crate) configuration: Option<Rc<[u8]>>,
    /// While the guest is told of an answer.
    pub(crate) answer: Option<HttpAnswer>,
    scratch: Vec<u8>,
}

impl Nginx {
    /// A host that only tries a configuration: nothing that the guest starts is started.
    pub(crate) fn on_trial() -> Self {
        Self::default()
    }

    /// The host of a worker's instance.
    pub(crate) fn of_a_worker() -> Self {
        Self {
            serves: true,
            ..Self::default()
        }
    }

    /// From now on the guest reaches this request by the id of its context.
    pub(crate) fn open(&mut self, context: ContextId, request: &Request<Sluice>) {
        self.requests.insert(context, request.clone());
    }

    /// The request has ended.
    pub(crate) fn close(&mut self, context: ContextId) {
        self.requests.remove(&context);
    }

    /// The request of a context; `None` for a root context.
    pub(crate) fn request(&self, context: ContextId) -> Option<&Request<Sluice>> {
        self.requests.get(&context)
    }

    /// The instance is gone: so is what it had started. Requests that it had paused are asked about again.
    pub(crate) fn forget(&mut self) {
        self.calls = Calls::default();
        self.ticks = Ticks::default();
        self.answer = None;
        self.configuration = None;
        for (_, request) in self.requests.drain() {
            // Only those that are paused can be; the others go on without the filter.
            let _ = request.restart();
        }
    }

    fn current(&self) -> Option<&Request<Sluice>> {
        self.requests.get(&self.current?)
    }

    fn look<R>(&self, look: impl FnOnce(&mut View<'_>) -> R) -> Answer<R> {
        self.current()
            .ok_or(Status::NotFound)?
            .with(look)
            .map_err(|_| Status::NotFound)
    }

    fn edit(&self, edit: impl FnOnce(&mut View<'_>) -> Result<(), Refused>) -> Answer<()> {
        self.look(edit)?.map_err(|refused| match refused {
            Refused::NotEditable | Refused::Malformed => Status::BadArgument,
            Refused::OutOfMemory => Status::InternalFailure,
        })
    }

    /// What `read` copies into the scratch buffer.
    fn copied(
        &mut self,
        read: impl FnOnce(&mut View<'_>, &mut Vec<u8>) -> Option<()>,
    ) -> Answer<Cow<'_, [u8]>> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let found = self.look(|view| read(view, &mut scratch));
        self.scratch = scratch;
        found?.ok_or(Status::NotFound)?;
        Ok(Cow::Borrowed(&self.scratch))
    }
}

impl Env for Nginx {
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
        if self.look(|view| view.log(level, &line)).is_err() {
            log(level, &line);
        }
    }

    fn now_ns(&mut self) -> u64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
    }

    fn random(&mut self, out: &mut [u8]) -> Answer<()> {
        match getrandom(&mut *out, GetRandomFlags::empty()) {
            Ok(n) if n == out.len() => Ok(()),
            _ => Err(Status::InternalFailure),
        }
    }

    fn property(&mut self, path: PropertyPath<'_>) -> Answer<Cow<'_, [u8]>> {
        let name = variable(path).ok_or(Status::NotFound)?;
        if name == OUTCOME {
            return self.copied(outcome);
        }
        self.copied(|view, out| {
            out.extend_from_slice(view.variable(name)?);
            Some(())
        })
    }

    fn set_property(&mut self, path: PropertyPath<'_>, value: &[u8]) -> Answer<()> {
        let name = variable(path).ok_or(Status::NotFound)?;
        self.look(|view| view.set_variable(name, value))?
            .map_err(|not_set| match not_set {
                NotSet::Unknown => Status::NotFound,
                NotSet::ReadOnly => Status::BadArgument,
                NotSet::OutOfMemory => Status::InternalFailure,
            })
    }

    fn header(&mut self, map: MapType, name: &[u8]) -> Answer<Cow<'_, [u8]>> {
        match map {
            MapType::HttpRequestHeaders => self.copied(|view, out| {
                let [method, scheme, target] = view.request_line();
                out.extend_from_slice(match name {
                    b":method" => method,
                    b":scheme" => scheme,
                    b":path" => target,
                    b":authority" => view.request_header(b"host")?,
                    name => view.request_header(name)?,
                });
                Some(())
            }),
            MapType::HttpResponseHeaders => self.copied(|view, out| {
                match name {
                    b":status" => {
                        out.extend_from_slice(view.response_status().to_string().as_bytes())
                    }
                    name => out.extend_from_slice(view.response_header(name)?),
                }
                Some(())
            }),
            MapType::HttpCallResponseHeaders => {
                let answer = self.answer.as_ref().ok_or(Status::NotFound)?;
                if name == b":status" {
                    return Ok(Cow::Owned(answer.status.to_string().into_bytes()));
                }
                let found = answer
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

    fn headers(&mut self, map: MapType, out: &mut PairsBuf) -> Answer<()> {
        match map {
            MapType::HttpRequestHeaders => self.look(|view| {
                let [method, scheme, target] = view.request_line();
                let authority = view.request_header(b"host").unwrap_or_default();
                for (name, value) in [
                    (":method", method),
                    (":scheme", scheme),
                    (":path", target),
                    (":authority", authority),
                ] {
                    out.push(name.as_bytes(), value);
                }
                view.each_request_header(|name, value| out.push(name, value));
            }),
            MapType::HttpResponseHeaders => self.look(|view| {
                out.push(b":status", view.response_status().to_string().as_bytes());
                view.each_response_header(|name, value| out.push(name, value));
            }),
            MapType::HttpCallResponseHeaders => {
                let answer = self.answer.as_ref().ok_or(Status::NotFound)?;
                out.push(b":status", answer.status.to_string().as_bytes());
                answer
                    .headers
                    .iter()
                    .for_each(|(name, value)| out.push(name, value));
                Ok(())
            }
            _ => Err(Status::Unimplemented),
        }
    }

    fn add_header(&mut self, map: MapType, name: &[u8], value: &[u8]) -> Answer<()> {
        match map {
            MapType::HttpRequestHeaders => self.edit(|view| view.add_request_header(name, value)),
            MapType::HttpResponseHeaders => self.edit(|view| view.add_response_header(name, value)),
            _ => Err(Status::Unimplemented),
        }
    }

    fn replace_header(&mut self, map: MapType, name: &[u8], value: &[u8]) -> Answer<()> {
        self.remove_header(map, name)?;
        self.add_header(map, name, value)
    }

    fn remove_header(&mut self, map: MapType, name: &[u8]) -> Answer<()> {
        match map {
            MapType::HttpRequestHeaders => self.edit(|view| view.remove_request_header(name)),
            MapType::HttpResponseHeaders => self.edit(|view| view.remove_response_header(name)),
            _ => Err(Status::Unimplemented),
        }
    }

    fn buffer(&mut self, buffer: BufferType, start: usize, max: usize) -> Answer<Cow<'_, [u8]>> {
        let bytes = match buffer {
            BufferType::PluginConfiguration => self.configuration.as_deref().unwrap_or_default(),
            BufferType::HttpCallResponseBody => &self.answer.as_ref().ok_or(Status::NotFound)?.body,
            BufferType::VmConfiguration => &[],
            _ => return Err(Status::Unimplemented),
        };
        let rest = bytes.get(start..).unwrap_or_default();
        Ok(Cow::Borrowed(rest.get(..max).unwrap_or(rest)))
    }

    fn send_local_response(&mut self, response: LocalResponse<'_>) -> Answer<()> {
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
        // A response that is under way cannot be replaced.
        self.current()
            .ok_or(Status::BadArgument)?
            .reply(reply)
            .map_err(|_| Status::BadArgument)
    }

    fn http_call(&mut self, call: HttpCall<'_>) -> Answer<u32> {
        let context = self
            .current
            .filter(|_| self.serves)
            .ok_or(Status::InternalFailure)?;
        self.calls.start(context, call)
    }

    fn continue_stream(&mut self, stream: StreamType) -> Answer<()> {
        match stream {
            StreamType::HttpRequest => self
                .current()
                .ok_or(Status::BadArgument)?
                .resume()
                .map_err(|_| Status::BadArgument),
            // It is never paused.
            StreamType::HttpResponse => Ok(()),
            _ => Err(Status::Unimplemented),
        }
    }

    fn set_tick_period(&mut self, period: Duration) -> Answer<()> {
        if self.serves {
            self.ticks
                .set(self.current.ok_or(Status::InternalFailure)?, period);
        }
        Ok(())
    }
}

/// How a request went, all at once: a line for each of nginx's lists. `None` when nobody was asked.
fn outcome(view: &mut View<'_>, out: &mut Vec<u8>) -> Option<()> {
    let [tried, others @ ..] = TOLD;
    out.extend_from_slice(view.variable(tried).filter(|tried| !tried.is_empty())?);
    for name in others {
        out.push(b'\n');
        out.extend_from_slice(view.variable(name).unwrap_or_default());
    }
    Some(())
}

/// The variable that a property stands for: `ngx`, `NAME`, or as Kong's host has it, `ngx.NAME`.
fn variable(path: PropertyPath<'_>) -> Option<&[u8]> {
    let mut segments = path.segments();
    let name = match segments.next()? {
        b"ngx" => segments.next()?,
        dotted => dotted.strip_prefix(b"ngx.")?,
    };
    segments.next().is_none().then_some(name)
}
