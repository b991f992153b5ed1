//! The data plane that we run: what it says about itself, and what the kernel says about its processes.

mod connections;
mod usage;

use std::sync::Arc;

use prometheus::core::Collector;
use prometheus::{Gauge, IntCounter};
use sluice_dataplane::{envoy, nginx};

use crate::Identity;
use crate::label::Label;
use crate::registry::Registry;
use crate::series::{Family, Series};
pub use connections::Connections;
use usage::Usage;

/// The data plane that is our child, for readers.
#[derive(Clone, Debug)]
pub enum Running {
    /// An Envoy.
    Envoy(envoy::Running),
    /// An nginx.
    Nginx(nginx::Running),
}

/// The data plane that is our child, if any. A handle, cheap to clone.
#[derive(Clone)]
pub struct DataPlane(Arc<Inner>);

struct Inner {
    running: Option<Running>,
    families: ProcessFamilies,
}

/// Metrics of a data plane whose controller is elsewhere.
#[derive(Clone)]
pub struct DataPlaneMetrics {
    registry: Arc<Registry>,
    data_plane: DataPlane,
}

struct ProcessFamilies {
    connections_total: Series<1, u64>,
    connections: Series<1, f64>,
    requests_total: IntCounter,
    processes: Gauge,
    cpu_seconds: prometheus::Counter,
    read_bytes: IntCounter,
    written_bytes: IntCounter,
    resident: Gauge,
    virtual_memory: Gauge,
    started: Gauge,
}

impl Running {
    async fn connections(&self) -> anyhow::Result<Option<Connections>> {
        match self {
            Running::Envoy(envoy) => Connections::of_envoy(envoy).await.map(Some),
            Running::Nginx(nginx) => Connections::of_nginx(nginx).await,
        }
    }

    fn processes(&self) -> Vec<u32> {
        match self {
            Running::Envoy(envoy) => vec![envoy.pid.get()],
            Running::Nginx(nginx) => nginx.processes(),
        }
    }
}

impl DataPlane {
    /// Of a data plane of our own, if there is one.
    pub fn new(running: Option<Running>) -> prometheus::Result<Self> {
        Ok(DataPlane(Arc::new(Inner {
            running,
            families: ProcessFamilies::new()?,
        })))
    }

    /// Connections of now; `None` without a data plane of our own, or when it does not answer.
    pub async fn connections(&self) -> Option<Connections> {
        self.0.running.as_ref()?.connections().await.ok().flatten()
    }

    pub(super) fn register(&self, registry: &Registry) -> prometheus::Result<()> {
        if self.0.running.is_none() {
            return Ok(());
        }
        let families = &self.0.families;
        families.connections_total.register_in(registry)?;
        families.connections.register_in(registry)?;
        let mut collectors = families.collectors().into_iter();
        collectors.try_for_each(|collector| registry.register(collector))
    }

    pub(super) async fn refresh(&self) {
        let Some(running) = &self.0.running else {
            return;
        };
        if let Some(connections) = self.connections().await {
            self.0.families.connections(connections);
        }
        self.0.families.processes(&Usage::of(&running.processes()));
    }
}

impl DataPlaneMetrics {
    /// Registers them with the labels of this pod.
    pub fn new(identity: &Identity, running: Running) -> prometheus::Result<Self> {
        let registry = Registry::with_labels(identity.labels())?;
        let data_plane = DataPlane::new(Some(running))?;
        data_plane.register(&registry)?;
        Ok(DataPlaneMetrics {
            registry: Arc::new(registry),
            data_plane,
        })
    }

    /// All of them, in the text format of Prometheus.
    pub async fn text(&self) -> String {
        self.data_plane.refresh().await;
        self.registry.text()
    }
}

impl ProcessFamilies {
    fn new() -> prometheus::Result<Self> {
        let opts = |name: &str, help: &str| Registry::opts(&format!("nginx_process_{name}"), help);
        let gauge = |name: &str, help: &str| Gauge::with_opts(opts(name, help));
        let counter = |name: &str, help: &str| IntCounter::with_opts(opts(name, help));
        let total = Family::counter(
            "nginx_process_connections_total",
            "Connections of clients since the start: accepted, handled",
            |count| Some(*count),
        );
        let now = Family::gauge(
            "nginx_process_connections",
            "Connections of clients now: active, reading, writing, waiting",
        );
        let cpu = opts("cpu_seconds_total", "CPU time of the data plane");
        Ok(ProcessFamilies {
            connections_total: Series::new(["state"], vec![total]),
            connections: Series::new(["state"], vec![now]),
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

    fn collectors(&self) -> [Box<dyn Collector>; 8] {
        [
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
        // They follow what is counted elsewhere; when that starts again, so do they.
        let total = [("accepted", now.accepted), ("handled", now.handled)];
        let total = total.map(|(state, value)| ([Label::of(state)], value));
        self.connections_total.show(total);
        raise(&self.requests_total, now.requests);
        let states = [
            ("active", now.active),
            ("reading", now.reading),
            ("writing", now.writing),
            ("waiting", now.waiting),
        ];
        let states = states.map(|(state, value)| ([Label::of(state)], value as f64));
        self.connections.show(states);
    }

    fn processes(&self, usage: &Usage) {
        self.processes.set(f64::from(usage.processes));
        // One that was started again begins at 0, and so does the counter.
        self.cpu_seconds.reset();
        self.cpu_seconds.inc_by(usage.cpu_seconds);
        self.resident.set(usage.resident);
        self.virtual_memory.set(usage.virtual_memory);
        self.started.set(usage.started);
        raise(&self.read_bytes, usage.read_bytes);
        raise(&self.written_bytes, usage.written_bytes);
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
    fn a_counter_starts_again_with_what_it_follows() {
        let counter = IntCounter::new("a", "b").unwrap();
        for (to, expected) in [(5, 5), (9, 9), (2, 2)] {
            raise(&counter, to);
            assert_eq!(counter.get(), expected);
        }
    }
}
