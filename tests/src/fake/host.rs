//! A fake host with state: properties and headers in, effects out.
//!
//! Two personalities, as measured (`envoy.md`, `nginx-wasm.md` of the reference): where a route is read and a
//! choice is left, what is refused, and in which phase.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluice_wasm_host::{
    BufferType, ContextId, Env, HostResult, HttpCall, LocalResponse, LogLevel, MapType, MetricType,
    PairsBuf, PropertyPath, Status, StreamType,
};

use super::request::{Call, Personality, Request, nginx_lists};

/// Values by their keys, with the numbers of their versions.
pub type SharedData = Arc<Mutex<BTreeMap<Vec<u8>, (Vec<u8>, u32)>>>;

/// The host.
#[derive(Debug)]
pub struct FakeHost {
    /// The data plane that it imitates.
    pub personality: Personality,
    /// The host has room for metrics.
    pub metrics: bool,
    /// Calls can be sent: the controller's cluster is known.
    pub reachable: bool,
    /// `on_configure` is running.
    pub configuring: bool,
    /// The plugin configuration.
    pub configuration: Vec<u8>,
    /// The answer to a poll; none when there was none.
    pub answer_status: Option<u16>,
    /// Its body.
    pub answer_body: Vec<u8>,
    /// The clock.
    pub now: Duration,
    /// As the filter asked for it.
    pub tick_period: Option<Duration>,
    /// Requests by context, those that are over too.
    pub requests: BTreeMap<ContextId, Request>,
    /// Polls, the newest last.
    pub calls: Vec<Call>,
    /// `Level text`
    pub log: Vec<String>,
    /// By name.
    pub counters: BTreeMap<Vec<u8>, i64>,
    /// The context that is called.
    pub current: ContextId,
    /// Seed of the random numbers.
    pub random: u8,
    /// Variables that this nginx does not have.
    pub undeclared: Vec<Vec<u8>>,
    /// Properties and headers that were asked for.
    pub reads: usize,
    /// Shared data of all VMs of the filter, if the host has it.
    pub shared: Option<SharedData>,
}

impl FakeHost {
    /// A host that has everything.
    pub fn new(personality: Personality) -> Self {
        FakeHost {
            personality,
            metrics: true,
            reachable: true,
            configuring: false,
            configuration: Vec::new(),
            answer_status: None,
            answer_body: Vec::new(),
            now: Duration::from_secs(1_700_000_000),
            tick_period: None,
            requests: BTreeMap::new(),
            calls: Vec::new(),
            log: Vec::new(),
            counters: BTreeMap::new(),
            current: ContextId(0),
            random: 0,
            undeclared: Vec::new(),
            reads: 0,
            shared: (personality == Personality::Envoy).then(SharedData::default),
        }
    }

    /// The property with the matched route.
    pub fn route_property(&self) -> Vec<u8> {
        match self.personality {
            Personality::Envoy => b"xds\0route_name".to_vec(),
            Personality::Nginx => b"ngx.sluice_route".to_vec(),
        }
    }

    /// The candidates that the filter has left for a request.
    pub fn choice(&self, context: ContextId) -> Option<String> {
        self.left(context, "x-sluice-endpoint", "ngx.sluice_endpoint")
    }

    /// The backend that the filter has named for a request.
    pub fn backend(&self, context: ContextId) -> Option<String> {
        self.left(context, "x-sluice-cluster", "ngx.sluice_backend")
    }

    fn left(&self, context: ContextId, header: &str, variable: &str) -> Option<String> {
        let request = self.requests.get(&context)?;
        let value = match self.personality {
            Personality::Envoy => {
                &request
                    .headers
                    .iter()
                    .find(|(name, _)| name == header.as_bytes())?
                    .1
            }
            Personality::Nginx => request.properties.get(variable.as_bytes())?,
        };
        String::from_utf8(value.clone()).ok()
    }

    /// Sets the properties of an answered request. In Envoy numbers are eight bytes, in nginx all is text, with one entry for
    /// each attempt.
    pub fn answered(&mut self, context: ContextId, tried: &[(&str, u16)], took: Duration) {
        let (last, status) = *tried.last().unwrap();
        let millis = took.as_secs_f64();
        let list = |entry: &dyn Fn(&(&str, u16)) -> String| {
            tried.iter().map(entry).collect::<Vec<_>>().join(", ")
        };
        let properties: Vec<(&str, Vec<u8>)> = match self.personality {
            Personality::Envoy => vec![
                ("upstream\0address", last.into()),
                (
                    "upstream\0request_attempt_count",
                    (tried.len() as u64).to_le_bytes().into(),
                ),
                ("response\0code", i64::from(status).to_le_bytes().into()),
                (
                    "response\0code_details",
                    if last.is_empty() {
                        "no_healthy_upstream"
                    } else {
                        "via_upstream"
                    }
                    .into(),
                ),
                (
                    "response\0backend_latency",
                    (took.as_nanos() as i64).to_le_bytes().into(),
                ),
            ],
            Personality::Nginx => nginx_lists([
                list(&|(address, _)| (*address).to_owned()),
                list(&|(_, status)| status.to_string()),
                list(&|_| "0.000".to_owned()),
                list(&|_| format!("{millis:.3}")),
            ]),
        };
        let request = self.requests.get_mut(&context).unwrap();
        request.properties.extend(
            properties
                .into_iter()
                .map(|(path, value)| (path.as_bytes().to_vec(), value)),
        );
    }

    fn request(&mut self) -> HostResult<&mut Request> {
        // Outside of a request there is no map; hosts answer a status, not a crash.
        self.requests
            .get_mut(&self.current)
            .ok_or(Status::BadArgument)
    }
}

impl Env for FakeHost {
    fn enter(&mut self, context: ContextId) {
        self.current = context;
    }

    fn log(&mut self, level: LogLevel, message: &[u8]) {
        self.log
            .push(format!("{level:?} {}", String::from_utf8_lossy(message)));
    }

    fn now_ns(&mut self) -> u64 {
        u64::try_from(self.now.as_nanos()).unwrap()
    }

    fn random(&mut self, out: &mut [u8]) -> HostResult<()> {
        for byte in out {
            self.random = self.random.wrapping_mul(5).wrapping_add(13);
            *byte = self.random;
        }
        Ok(())
    }

    fn property(&mut self, path: PropertyPath<'_>) -> HostResult<Cow<'_, [u8]>> {
        self.reads += 1;
        let of_header = path
            .0
            .strip_prefix(b"ngx.http_")
            .filter(|_| self.personality == Personality::Nginx);
        let request = self.request()?;
        if let Some(name) = of_header {
            let name = String::from_utf8_lossy(name).replace('_', "-");
            let found = request
                .headers
                .iter()
                .find(|(known, _)| known == name.as_bytes());
            return found
                .map(|(_, value)| Cow::Borrowed(value.as_slice()))
                .ok_or(Status::NotFound);
        }
        request
            .properties
            .get(path.0)
            .map(|value| Cow::Borrowed(value.as_slice()))
            .ok_or(Status::NotFound)
    }

    fn set_property(&mut self, path: PropertyPath<'_>, value: &[u8]) -> HostResult<()> {
        let declared = [
            b"ngx.sluice_endpoint".as_slice(),
            b"ngx.sluice_backend",
            b"ngx.sluice_ticket",
        ];
        let is_declared =
            declared.contains(&path.0) && !self.undeclared.iter().any(|missing| missing == path.0);
        if self.personality == Personality::Nginx && !is_declared {
            // A variable that the configuration does not declare.
            return Err(Status::InternalFailure);
        }
        let (path, value) = (path.0.to_vec(), value.to_vec());
        self.request()?.properties.insert(path, value);
        Ok(())
    }

    fn header(&mut self, map: MapType, name: &[u8]) -> HostResult<Cow<'_, [u8]>> {
        if map == MapType::HttpCallResponseHeaders {
            let status = self
                .answer_status
                .filter(|_| name == b":status")
                .ok_or(Status::NotFound)?;
            return Ok(Cow::Owned(status.to_string().into_bytes()));
        }
        self.reads += 1;
        let found = self
            .request()?
            .headers
            .iter()
            .find(|(known, _)| known == name);
        found
            .map(|(_, value)| Cow::Borrowed(value.as_slice()))
            .ok_or(Status::NotFound)
    }

    fn headers(&mut self, map: MapType, out: &mut PairsBuf) -> HostResult<()> {
        self.reads += 1;
        for (name, value) in &*self.request()?.map(map) {
            out.push(name, value);
        }
        Ok(())
    }

    fn add_header(&mut self, map: MapType, name: &[u8], value: &[u8]) -> HostResult<()> {
        assert_eq!(map, MapType::HttpResponseHeaders);
        let pair = (name.to_vec(), value.to_vec());
        self.request()?.response_headers.push(pair);
        Ok(())
    }

    fn replace_header(&mut self, map: MapType, name: &[u8], value: &[u8]) -> HostResult<()> {
        self.remove_header(map, name)?;
        let pair = (name.to_vec(), value.to_vec());
        self.request()?.map(map).push(pair);
        Ok(())
    }

    fn remove_header(&mut self, map: MapType, name: &[u8]) -> HostResult<()> {
        self.request()?.map(map).retain(|(known, _)| known != name);
        Ok(())
    }

    fn buffer(
        &mut self,
        buffer: BufferType,
        start: usize,
        max: usize,
    ) -> HostResult<Cow<'_, [u8]>> {
        let bytes = match buffer {
            BufferType::PluginConfiguration => &self.configuration,
            BufferType::HttpCallResponseBody => &self.answer_body,
            _ => return Err(Status::NotFound),
        };
        let bytes = bytes.get(start..).unwrap_or_default();
        Ok(Cow::Borrowed(&bytes[..bytes.len().min(max)]))
    }

    fn send_local_response(&mut self, response: LocalResponse<'_>) -> HostResult<()> {
        self.request()?.replied = Some(response.status);
        Ok(())
    }

    fn http_call(&mut self, call: HttpCall<'_>) -> HostResult<u32> {
        assert!(
            self.personality == Personality::Envoy || !self.configuring,
            "Kong's host traps on a call from on_configure"
        );
        if !self.reachable {
            return Err(Status::BadArgument);
        }
        let token = u32::try_from(self.calls.len()).unwrap() + 1;
        let path = call
            .headers
            .into_iter()
            .find(|(name, _)| *name == b":path")
            .unwrap()
            .1;
        self.calls.push(Call {
            token,
            upstream: String::from_utf8(call.upstream.to_vec()).unwrap(),
            path: String::from_utf8(path.to_vec()).unwrap(),
        });
        Ok(token)
    }

    fn continue_stream(&mut self, stream: StreamType) -> HostResult<()> {
        assert_eq!(stream, StreamType::HttpRequest);
        self.request()?.resumed = true;
        Ok(())
    }

    fn set_tick_period(&mut self, period: Duration) -> HostResult<()> {
        assert!(
            self.personality == Personality::Envoy || self.configuring,
            "Kong's host honours the tick period in on_configure only"
        );
        self.tick_period = Some(period);
        Ok(())
    }

    fn shared_data(&mut self, key: &[u8]) -> HostResult<(Cow<'_, [u8]>, u32)> {
        let shared = self
            .shared
            .as_ref()
            .ok_or(Status::InternalFailure)?
            .lock()
            .unwrap();
        let (value, version) = shared.get(key).ok_or(Status::NotFound)?;
        Ok((Cow::Owned(value.clone()), *version))
    }

    /// As Envoy does it: what is not there has every version, and no version means all of them.
    fn set_shared_data(
        &mut self,
        key: &[u8],
        value: &[u8],
        cas: Option<NonZeroU32>,
    ) -> HostResult<()> {
        let mut shared = self
            .shared
            .as_ref()
            .ok_or(Status::InternalFailure)?
            .lock()
            .unwrap();
        let (known, version) = shared
            .get(key)
            .map_or((None, 0), |(_, version)| (Some(*version), *version));
        if known.is_some_and(|version| cas.is_some_and(|cas| cas.get() != version)) {
            return Err(Status::CasMismatch);
        }
        shared.insert(key.to_vec(), (value.to_vec(), version + 1));
        Ok(())
    }

    fn define_metric(&mut self, _kind: MetricType, name: &[u8]) -> HostResult<u32> {
        if !self.metrics {
            // Kong's host without room for metrics in its shared memory.
            return Err(Status::InternalFailure);
        }
        self.counters.entry(name.to_vec()).or_default();
        let id = self
            .counters
            .keys()
            .position(|known| known == name)
            .unwrap();
        Ok(u32::try_from(id).unwrap())
    }

    fn increment_metric(&mut self, metric: u32, by: i64) -> HostResult<()> {
        let counter = self
            .counters
            .values_mut()
            .nth(metric as usize)
            .ok_or(Status::BadArgument)?;
        *counter += by;
        Ok(())
    }
}
