//! The Envoy that we run: what it says about itself, and what the kernel says about its process.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hyper::Method;
use procfs::process::Process;
use prometheus::core::Collector;
use prometheus::{Gauge, GaugeVec, IntCounter, IntCounterVec, Opts, Registry};
use sluice_dataplane::envoy::{Running, admin};

const PREFIX: &str = "nginx_ingress_controller_nginx_process";
/// Our two listeners, and of them only what is shown.
const STATS: &str = "/stats?filter=^http\\.https?\\.downstream_(cx|rq)_(total|active)$";

/// The Envoy that is our child, if any. A handle, cheap to clone.
#[derive(Clone)]
pub struct DataPlane(Arc<Inner>);

struct Inner {
    envoy: Option<Running>,
    families: Families,
}

/// Connections and requests of clients, as `/nginx_status` counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    pub accepted: u64,
    pub active: u64,
    pub requests: u64,
    pub requests_active: u64,
}

impl Connections {
    /// Asks an Envoy.
    pub async fn ask(admin_socket: &Path) -> anyhow::Result<Self> {
        Ok(Self::read(
            &admin::call(admin_socket, Method::GET, STATS).await?,
        ))
    }

    fn read(stats: &str) -> Self {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for line in stats.lines() {
            let Some((name, value)) = line.split_once(": ") else {
                continue;
            };
            let Some(name) = name.rsplit('.').next() else {
                continue;
            };
            *sums.entry(name).or_default() += value.parse::<u64>().unwrap_or_default();
        }
        let sum = |name| sums.get(name).copied().unwrap_or_default();
        Connections {
            accepted: sum("downstream_cx_total"),
            active: sum("downstream_cx_active"),
            requests: sum("downstream_rq_total"),
            requests_active: sum("downstream_rq_active"),
        }
    }

    /// Connections without an open request. One of HTTP/2 may have several.
    pub fn waiting(self) -> u64 {
        self.active.saturating_sub(self.requests_active)
    }
}

struct Families {
    connections_total: IntCounterVec,
    connections: GaugeVec,
    requests_total: IntCounter,
    processes: Gauge,
    cpu_seconds: prometheus::Counter,
    read_bytes: IntCounter,
    written_bytes: IntCounter,
    resident: Gauge,
    virtual_memory: Gauge,
    started: Gauge,
}

impl DataPlane {
    /// Of an Envoy of our own, if there is one.
    pub fn new(envoy: Option<Running>) -> prometheus::Result<Self> {
        Ok(DataPlane(Arc::new(Inner {
            envoy,
            families: Families::new()?,
        })))
    }

    /// Connections of now; `None` without an Envoy of our own, or when it does not answer.
    pub async fn connections(&self) -> Option<Connections> {
        Connections::ask(&self.0.envoy.as_ref()?.admin_socket)
            .await
            .ok()
    }

    pub(super) fn register(&self, registry: &Registry) -> prometheus::Result<()> {
        if self.0.envoy.is_none() {
            return Ok(());
        }
        self.0
            .families
            .collectors()
            .into_iter()
            .try_for_each(|collector| registry.register(collector))
    }

    pub(super) async fn refresh(&self) {
        if let Some(connections) = self.connections().await {
            self.0.families.connections(connections);
        }
        let pid = self.0.envoy.as_ref().map_or(0, |envoy| envoy.pid.get());
        self.0
            .families
            .process(i32::try_from(pid).ok().filter(|pid| *pid > 0));
    }
}

impl Families {
    fn new() -> prometheus::Result<Self> {
        let opts = |name: &str, help: &str| Opts::new(format!("{PREFIX}_{name}"), help);
        let gauge = |name: &str, help: &str| Gauge::with_opts(opts(name, help));
        let counter = |name: &str, help: &str| IntCounter::with_opts(opts(name, help));
        let state = &["state"];
        let total = opts(
            "connections_total",
            "Connections of clients since the start: accepted, handled",
        );
        let now = opts(
            "connections",
            "Connections of clients now: active, reading, writing, waiting",
        );
        let cpu = opts("cpu_seconds_total", "CPU time of the data plane");
        Ok(Families {
            connections_total: IntCounterVec::new(total, state)?,
            connections: GaugeVec::new(now, state)?,
            requests_total: counter("requests_total", "Requests of clients since the start")?,
            processes: gauge("num_procs", "Processes of the data plane")?,
            cpu_seconds: prometheus::Counter::with_opts(cpu)?,
            read_bytes: counter("read_bytes_total", "Bytes that the data plane has read")?,
            written_bytes: counter("write_bytes_total", "Bytes that the data plane has written")?,
            resident: gauge("resident_memory_bytes", "Resident memory of the data plane")?,
            virtual_memory: gauge("virtual_memory_bytes", "Virtual memory of the data plane")?,
            started: gauge("oldest_start_time_seconds", "When the data plane started")?,
        })
    }

    fn collectors(&self) -> [Box<dyn Collector>; 10] {
        [
            Box::new(self.connections_total.clone()),
            Box::new(self.connections.clone()),
            Box::new(self.requests_total.clone()),
            Box::new(self.processes.clone()),
            Box::new(self.cpu_seconds.clone()),
            Box::new(self.read_bytes.clone()),
            Box::new(self.written_bytes.clone()),
            Box::new(self.resident.clone()),
            Box::new(self.virtual_memory.clone()),
            Box::new(self.started.clone()),
        ]
    }

    #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
    fn connections(&self, now: Connections) {
        for state in ["accepted", "handled"] {
            raise(
                &self.connections_total.with_label_values(&[state]),
                now.accepted,
            );
        }
        raise(&self.requests_total, now.requests);
        let states = [
            ("active", now.active),
            ("reading", 0),
            ("writing", now.requests_active),
            ("waiting", now.waiting()),
        ];
        for (state, value) in states {
            self.connections
                .with_label_values(&[state])
                .set(value as f64);
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
    fn process(&self, pid: Option<i32>) {
        let process = pid.and_then(|pid| Process::new(pid).ok());
        self.processes.set(f64::from(u8::from(process.is_some())));
        let Some(process) = process else { return };
        if let Ok(stat) = process.stat() {
            let seconds = (stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64;
            // An Envoy that was started again begins at 0, and so does the counter.
            self.cpu_seconds.reset();
            self.cpu_seconds.inc_by(seconds);
            self.resident.set((stat.rss * procfs::page_size()) as f64);
            self.virtual_memory.set(stat.vsize as f64);
            let boot = procfs::boot_time_secs().unwrap_or_default() as f64;
            self.started
                .set(boot + stat.starttime as f64 / procfs::ticks_per_second() as f64);
        }
        if let Ok(io) = process.io() {
            raise(&self.read_bytes, io.rchar);
            raise(&self.written_bytes, io.wchar);
        }
    }
}

/// Counters follow what is counted elsewhere; when that starts again, so do they.
fn raise(counter: &IntCounter, to: u64) {
    if to < counter.get() {
        counter.reset();
    }
    counter.inc_by(to.saturating_sub(counter.get()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_listeners_are_summed() {
        let stats = "http.http.downstream_cx_active: 3\nhttp.http.downstream_cx_total: 10\n\
                     http.https.downstream_cx_active: 2\nhttp.https.downstream_rq_active: 1\n\
                     http.https.downstream_rq_total: 7\nnonsense\n";
        let connections = Connections::read(stats);
        let expected = Connections {
            accepted: 10,
            active: 5,
            requests: 7,
            requests_active: 1,
        };
        assert_eq!(connections, expected);
        assert_eq!(connections.waiting(), 4);
    }

    #[test]
    fn a_counter_starts_again_with_what_it_follows() {
        let counter = IntCounter::new("a", "b").unwrap();
        for (to, expected) in [(5, 5), (9, 9), (2, 2)] {
            raise(&counter, to);
            assert_eq!(counter.get(), expected);
        }
    }

    #[test]
    fn a_process_that_is_gone_counts_as_none() {
        let families = Families::new().unwrap();
        families.process(Some(i32::try_from(std::process::id()).unwrap()));
        assert!(families.processes.get() == 1.0 && families.resident.get() > 0.0);
        families.process(None);
        assert!(families.processes.get() == 0.0);
    }
}
