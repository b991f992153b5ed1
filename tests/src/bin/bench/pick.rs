//! What a decision costs inside the filter: the shipped wasm under wasmtime.
//!
//! Measured is the whole callback for a request's headers, in loops over many requests: the way into the guest and out
//! again, the property with the location (a copy into the guest's memory), the pick, the candidates as text, and the
//! header with them. The host's own part of the two calls is next to nothing, so what an Envoy or an nginx does there
//! is not in it; making and deleting a request's context is not either.

use std::borrow::Cow;
use std::fs;
use std::num::NonZeroU8;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, anyhow, ensure};
use sluice_filter_config::{
    Backend, Endpoint, LoadBalance, Location, PluginConfig, Snapshot, Tables, Version,
};
use sluice_pwhost::{
    Action, Answer, BufferType, Context, ContextId, Env, LogLevel, MapType, MetricType, Options, Plugin,
    PropertyPath, Status, Vm, compile,
};
use sluice_tests::artifacts;

use crate::Effort;
use crate::row::{Measured, Row};
use crate::statistics::median;

const TARGET_NS: f64 = 1000.0;
const LOCATION: &str = "shop.example/";
const BACKEND: &str = "default/shop/80";
/// As ingress-nginx has it: the first attempt and two more.
const ATTEMPTS: NonZeroU8 = NonZeroU8::new(3).unwrap();
/// Requests that are open at once and timed together.
const BATCH: usize = 100;
/// Batches before the first that counts, and for each sample that is asked for.
const WARM_UP: usize = 50;
const BATCHES_PER_SAMPLE: usize = 10;

/// An algorithm over so many endpoints.
pub(crate) struct Pick {
    pub(crate) name: &'static str,
    pub(crate) algorithm: LoadBalance,
    pub(crate) endpoints: usize,
}

impl Pick {
    pub(crate) fn rows(&self) -> Vec<Row> {
        vec![Row::new(format!("pick_ns/{}/{}", self.name, self.endpoints), "ns").target(TARGET_NS)]
    }

    pub(crate) fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let mut filter = Filter::start(&self.configuration())?;
        for _ in 0..WARM_UP {
            filter.batch()?;
        }
        let batches = usize::from(effort.samples) * BATCHES_PER_SAMPLE;
        let nanos = (0..batches).map(|_| filter.batch()).collect::<Result<Vec<f64>>>()?;
        let requests = (WARM_UP + batches) * BATCH;
        let chosen = filter.vm.env().chosen;
        ensure!(chosen == requests, "expected a choice for each of {requests} requests, got {chosen}");
        Ok(self.rows().into_iter().map(|row| row.measured(median(&nanos), batches)).collect())
    }

    fn configuration(&self) -> Vec<u8> {
        let address = |n: usize| format!("10.{}.{}.{}:8080", n >> 16, n >> 8 & 255, n & 255);
        let endpoints = (1..=self.endpoints).map(|n| Endpoint::at(address(n))).collect();
        let backend = Backend {
            load_balance: self.algorithm.clone(),
            attempts: ATTEMPTS,
            ..Backend::round_robin("default-shop-80", endpoints)
        };
        let tables = Tables::Snapshot(Snapshot {
            version: Version::new(1, 1),
            locations: [(LOCATION.to_owned(), Location::to(BACKEND))].into(),
            backends: [(BACKEND.to_owned(), backend)].into(),
        });
        PluginConfig { tables: Some(tables), ..PluginConfig::empty() }.to_json()
    }
}

/// The filter with its tables.
struct Filter {
    vm: Vm<Bare>,
    root: Context,
}

impl Filter {
    fn start(configuration: &[u8]) -> Result<Filter> {
        let module = compile(&fs::read(artifacts::filter()?)?).map_err(|error| anyhow!("{error:#}"))?;
        let plugin = Plugin::new(&module, Options::default()).map_err(|error| anyhow!("{error:#}"))?;
        let host = Bare { configuration: configuration.to_vec(), ..Bare::default() };
        let mut vm = Vm::new(&plugin, host).context("start the filter")?;
        let root = vm.create_root()?;
        ensure!(vm.on_vm_start(&root, 0)?, "the filter does not start");
        let accepted = vm.on_configure(&root, u32::try_from(configuration.len())?)?;
        ensure!(accepted, "the filter refuses its configuration: {}", vm.env().log.join("; "));
        Ok(Filter { vm, root })
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
            forwarded += usize::from(self.vm.on_request_headers(context, 1, true)? == Action::Continue);
        }
        let elapsed = start.elapsed();
        ensure!(forwarded == BATCH, "{} of {BATCH} requests were stopped", BATCH - forwarded);
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
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
    }

    fn random(&mut self, out: &mut [u8]) -> Answer<()> {
        for byte in out {
            self.random = self.random.wrapping_mul(5).wrapping_add(13);
            *byte = self.random;
        }
        Ok(())
    }

    fn property(&mut self, path: PropertyPath<'_>) -> Answer<Cow<'_, [u8]>> {
        match path.0 {
            b"xds\0route_name" => Ok(Cow::Borrowed(LOCATION.as_bytes())),
            _ => Err(Status::NotFound),
        }
    }

    fn replace_header(&mut self, _map: MapType, _name: &[u8], value: &[u8]) -> Answer<()> {
        self.chosen += usize::from(!value.is_empty());
        Ok(())
    }

    fn remove_header(&mut self, _map: MapType, _name: &[u8]) -> Answer<()> {
        Ok(())
    }

    fn buffer(&mut self, buffer: BufferType, start: usize, max: usize) -> Answer<Cow<'_, [u8]>> {
        if buffer != BufferType::PluginConfiguration {
            return Err(Status::NotFound);
        }
        let bytes = self.configuration.get(start..).unwrap_or_default();
        Ok(Cow::Borrowed(&bytes[..bytes.len().min(max)]))
    }

    fn set_tick_period(&mut self, _period: std::time::Duration) -> Answer<()> {
        Ok(())
    }

    fn define_metric(&mut self, _kind: MetricType, _name: &[u8]) -> Answer<u32> {
        Ok(1)
    }

    fn increment_metric(&mut self, _metric: u32, _by: i64) -> Answer<()> {
        Ok(())
    }
}
