//! Time of a decision inside the filter: the shipped wasm under wasmtime.
//!
//! It covers the whole callback for a request's headers, in loops over many requests: the way into the guest and out again, the
//! property with the route (a copy into the guest's memory), the pick, the candidates as text, and the header with them. The
//! host's own part of the two calls is next to nothing, so the cost in an Envoy or an nginx is not in it; making and deleting a
//! request's context is not either.

use std::borrow::Cow;
use std::fs;
use std::num::NonZeroU8;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, anyhow, ensure};
use sluice_filter_config::{
    Affinity, AffinityMode, Backend, Cookie, Endpoint, HashKey, LoadBalance, PluginConfig, Route,
    Snapshot, Tables, Version,
};
use sluice_filter_core::affinity::{backend_key, endpoint_key};
use sluice_tests::artifacts;
use sluice_wasm_host::{
    Action, BufferType, Context, ContextId, Env, HostResult, LogLevel, MapType, MetricType,
    Options, Plugin, PropertyPath, Status, Vm, compile,
};

use crate::Effort;
use crate::row::{Measured, Row};
use crate::statistics::median;

const TARGET_NS: f64 = 1000.0;
const ROUTE: &str = "shop.example/";
const BACKEND: &str = "default/shop/80";
const NAME: &str = "default-shop-80";
/// As ingress-nginx has it: the first attempt and two more.
const ATTEMPTS: NonZeroU8 = NonZeroU8::new(3).unwrap();
/// Requests that are open at once and timed together.
const BATCH: usize = 100;
/// Batches before the first that counts, and for each sample that is asked for.
const WARM_UP: usize = 50;
const BATCHES_PER_SAMPLE: usize = 10;

/// An algorithm over so many endpoints.
pub(crate) struct Pick {
    pub(crate) algorithm: Algorithm,
    pub(crate) endpoints: usize,
}

/// How the backend chooses.
#[derive(Clone, Copy)]
pub(crate) enum Algorithm {
    RoundRobin,
    /// All weights differ.
    Weighted,
    /// By `$request_uri`, as the other hashes.
    Chash,
    ChashSubset,
    BoundedChash,
    Ewma,
    LeastConn,
    PeakEwma,
    /// Requests of a session that exists.
    StickyBalanced,
    StickyPersistent,
}

impl Algorithm {
    pub(crate) const ALL: [Algorithm; 10] = [
        Algorithm::RoundRobin,
        Algorithm::Weighted,
        Algorithm::Chash,
        Algorithm::ChashSubset,
        Algorithm::BoundedChash,
        Algorithm::Ewma,
        Algorithm::LeastConn,
        Algorithm::PeakEwma,
        Algorithm::StickyBalanced,
        Algorithm::StickyPersistent,
    ];

    fn name(self) -> &'static str {
        match self {
            Algorithm::RoundRobin => "round_robin",
            Algorithm::Weighted => "weighted",
            Algorithm::Chash => "chash",
            Algorithm::ChashSubset => "chash_subset",
            Algorithm::BoundedChash => "bounded_chash",
            Algorithm::Ewma => "ewma",
            Algorithm::LeastConn => "least_conn",
            Algorithm::PeakEwma => "peak_ewma",
            Algorithm::StickyBalanced => "sticky_balanced",
            Algorithm::StickyPersistent => "sticky_persistent",
        }
    }

    fn load_balance(self) -> Result<LoadBalance> {
        let key = HashKey::parse("$request_uri").0;
        Ok(match self {
            Algorithm::Chash => LoadBalance::chash(key),
            Algorithm::ChashSubset => LoadBalance::chash_subset(key, 3.try_into()?),
            Algorithm::BoundedChash => LoadBalance::bounded_chash(key, 125.try_into()?),
            Algorithm::Ewma => LoadBalance::named("ewma"),
            Algorithm::LeastConn => LoadBalance::named("least_conn"),
            Algorithm::PeakEwma => LoadBalance::named("peak_ewma"),
            _ => LoadBalance::round_robin(),
        })
    }

    fn affinity(self) -> Option<Affinity> {
        let mode = match self {
            Algorithm::StickyBalanced => AffinityMode::Balanced,
            Algorithm::StickyPersistent => AffinityMode::Persistent,
            _ => return None,
        };
        let cookie = Cookie {
            name: "route".to_owned(),
            ..Cookie::default()
        };
        Some(Affinity {
            mode,
            cookie,
            change_on_failure: false,
        })
    }

    fn weight(self, n: usize) -> u16 {
        match self {
            Algorithm::Weighted => u16::try_from(1 + n % 100).unwrap_or(1),
            _ => 1,
        }
    }

    /// As after the first request.
    fn cookie(self) -> String {
        let key = match self {
            Algorithm::StickyPersistent => endpoint_key(NAME, &address(1)),
            _ => backend_key("any text is a key"),
        };
        let texts = [key, backend_key(NAME)].map(|key| String::from_utf8_lossy(&key).into_owned());
        format!("session=0123456789; route={}", texts.join("|"))
    }
}

fn address(n: usize) -> String {
    format!("10.{}.{}.{}:8080", n >> 16, n >> 8 & 255, n & 255)
}

impl Pick {
    pub(crate) fn rows(&self) -> Vec<Row> {
        vec![
            Row::new(
                format!("pick_ns/{}/{}", self.algorithm.name(), self.endpoints),
                "ns",
            )
            .target(TARGET_NS),
        ]
    }

    pub(crate) fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let mut filter = Filter::start(&self.configuration()?, self.algorithm.cookie())?;
        for _ in 0..WARM_UP {
            filter.batch()?;
        }
        let batches = usize::from(effort.samples) * BATCHES_PER_SAMPLE;
        let nanos = (0..batches)
            .map(|_| filter.batch())
            .collect::<Result<Vec<f64>>>()?;
        let requests = (WARM_UP + batches) * BATCH;
        let chosen = filter.vm.env().chosen;
        ensure!(
            chosen == requests,
            "expected a choice for each of {requests} requests, got {chosen}"
        );
        Ok(self
            .rows()
            .into_iter()
            .map(|row| row.measured(median(&nanos), batches))
            .collect())
    }

    fn configuration(&self) -> Result<Vec<u8>> {
        let endpoint = |n| {
            Ok(Endpoint {
                weight: self.algorithm.weight(n).try_into()?,
                ..Endpoint::at(address(n))
            })
        };
        let endpoints = (1..=self.endpoints).map(endpoint).collect::<Result<_>>()?;
        let backend = Backend {
            load_balance: self.algorithm.load_balance()?,
            affinity: self.algorithm.affinity(),
            attempts: ATTEMPTS,
            ..Backend::round_robin(NAME, endpoints)
        };
        let tables = Tables::Snapshot(Snapshot {
            version: Version::new(1, 1),
            routes: [(ROUTE.to_owned(), Route::to(BACKEND))].into(),
            backends: [(BACKEND.to_owned(), backend)].into(),
            hosts: [].into(),
        });
        Ok(PluginConfig {
            tables: Some(tables),
            ..PluginConfig::empty()
        }
        .to_json())
    }
}

/// The filter with its tables.
pub(crate) struct Filter {
    vm: Vm<Bare>,
    root: Context,
}

impl Filter {
    fn start(configuration: &[u8], cookie: String) -> Result<Filter> {
        Ok(Filter::timed(configuration, cookie)?.0)
    }

    /// The same, and how long it took to read its configuration.
    pub(crate) fn timed(configuration: &[u8], cookie: String) -> Result<(Filter, Duration)> {
        let module =
            compile(&fs::read(artifacts::filter()?)?).map_err(|error| anyhow!("{error:#}"))?;
        let plugin =
            Plugin::new(&module, Options::default()).map_err(|error| anyhow!("{error:#}"))?;
        let host = Bare {
            configuration: configuration.to_vec(),
            cookie,
            ..Bare::default()
        };
        let mut vm = Vm::new(&plugin, host).context("start the filter")?;
        let root = vm.create_root()?;
        ensure!(vm.on_vm_start(&root, 0)?, "the filter does not start");
        let begin = Instant::now();
        let accepted = vm.on_configure(&root, u32::try_from(configuration.len())?)?;
        let took = begin.elapsed();
        ensure!(
            accepted,
            "the filter refuses its configuration: {}",
            vm.env().log.join("; ")
        );
        Ok((Filter { vm, root }, took))
    }

    /// Nanoseconds for one of a batch of requests.
    fn batch(&mut self) -> Result<f64> {
        let mut contexts = Vec::with_capacity(BATCH);
        for _ in 0..BATCH {
            contexts.push(self.vm.create_http(&self.root)?);
        }
        let start = Instant::now();
        let mut forwarded = 0;
        for context in &contexts {
            forwarded +=
                usize::from(self.vm.on_request_headers(context, 1, true)? == Action::Continue);
        }
        let elapsed = start.elapsed();
        ensure!(
            forwarded == BATCH,
            "{} of {BATCH} requests were stopped",
            BATCH - forwarded
        );
        for context in contexts {
            self.vm.on_done(&context)?;
            self.vm.on_log(&context)?;
            self.vm.on_delete(context)?;
        }
        Ok(elapsed.as_secs_f64() * 1e9 / BATCH as f64)
    }
}

/// A host that has an answer at hand for what the filter asks, and counts the choices.
#[derive(Default)]
struct Bare {
    configuration: Vec<u8>,
    cookie: String,
    path: String,
    chosen: usize,
    random: u8,
    log: Vec<String>,
}

impl Env for Bare {
    fn enter(&mut self, _context: ContextId) {}

    fn log(&mut self, _level: LogLevel, message: &[u8]) {
        self.log.push(String::from_utf8_lossy(message).into_owned());
    }

    fn now_ns(&mut self) -> u64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
    }

    fn random(&mut self, out: &mut [u8]) -> HostResult<()> {
        for byte in out {
            self.random = self.random.wrapping_mul(5).wrapping_add(13);
            *byte = self.random;
        }
        Ok(())
    }

    fn property(&mut self, path: PropertyPath<'_>) -> HostResult<Cow<'_, [u8]>> {
        match path.0 {
            b"xds\0route_name" => Ok(Cow::Borrowed(ROUTE.as_bytes())),
            _ => Err(Status::NotFound),
        }
    }

    fn header(&mut self, _map: MapType, name: &[u8]) -> HostResult<Cow<'_, [u8]>> {
        match name {
            b"cookie" => Ok(Cow::Borrowed(self.cookie.as_bytes())),
            b":path" => {
                self.path = format!("/shop/item/{}", self.chosen);
                Ok(Cow::Borrowed(self.path.as_bytes()))
            }
            _ => Err(Status::NotFound),
        }
    }

    fn replace_header(&mut self, _map: MapType, _name: &[u8], value: &[u8]) -> HostResult<()> {
        self.chosen += usize::from(!value.is_empty());
        Ok(())
    }

    fn remove_header(&mut self, _map: MapType, _name: &[u8]) -> HostResult<()> {
        Ok(())
    }

    fn buffer(
        &mut self,
        buffer: BufferType,
        start: usize,
        max: usize,
    ) -> HostResult<Cow<'_, [u8]>> {
        if buffer != BufferType::PluginConfiguration {
            return Err(Status::NotFound);
        }
        let bytes = self.configuration.get(start..).unwrap_or_default();
        Ok(Cow::Borrowed(&bytes[..bytes.len().min(max)]))
    }

    fn set_tick_period(&mut self, _period: Duration) -> HostResult<()> {
        Ok(())
    }

    fn define_metric(&mut self, _kind: MetricType, _name: &[u8]) -> HostResult<u32> {
        Ok(1)
    }

    fn increment_metric(&mut self, _metric: u32, _by: i64) -> HostResult<()> {
        Ok(())
    }
}
