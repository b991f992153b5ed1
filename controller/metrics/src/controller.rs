//! The controller's own work: publications, rejections, reports, and Ingresses without endpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus::{Gauge, GaugeVec, IntCounter, IntCounterVec, Opts, Registry};
use sluice_ir::{Backend, Config};
use sluice_translate::{Kind, ObjectKey, Snapshot, Updated, ids};
use sluice_xds::RouteCache;
use sluice_xds::render::balances_natively;
use sluice_xds_server::Store;

use sluice_state::View;

pub(super) const PREFIX: &str = "nginx_ingress_controller";

/// The controller's own metrics. The handles are shared with the registry.
#[derive(Clone)]
pub struct Controller(Arc<Families>);

struct Families {
    config_hash: Gauge,
    last_successful: Gauge,
    last_successful_time: Gauge,
    success: IntCounter,
    errors: IntCounter,
    /// nginx rejected its last configuration, and serves the one before.
    refused: AtomicBool,
    unwritten: AtomicBool,
    orphan_ingress: GaugeVec,
    held_ingress: GaugeVec,
    unhealthy: GaugeVec,
    reports: GaugeVec,
    routes: GaugeVec,
    data_planes: GaugeVec,
    translated: IntCounter,
    resolved: IntCounter,
    rendered: IntCounter,
    reloads: IntCounterVec,
    /// Scrapes may come together; each refreshes what it shows.
    refreshing: Mutex<()>,
}

impl Controller {
    pub(super) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let gauge =
            |name: &str, help: &str| register(registry, Gauge::with_opts(opts(name, help))?);
        let counter =
            |name: &str, help: &str| register(registry, IntCounter::with_opts(opts(name, help))?);
        let labelled = |name: &str, help: &str, labels: &[&str]| {
            register(registry, GaugeVec::new(opts(name, help), labels)?)
        };
        build_info(registry)?;
        Ok(Controller(Arc::new(Families {
            config_hash: gauge("config_hash", "Hash of the configuration that is published")?,
            last_successful: gauge(
                "config_last_reload_successful",
                "Whether every data plane has accepted the last configuration",
            )?,
            last_successful_time: gauge(
                "config_last_reload_successful_timestamp_seconds",
                "Time of the last configuration that was published",
            )?,
            success: counter(
                "success",
                "Whole configurations that were published; of nginx, reloads",
            )?,
            errors: errors_counter(registry)?,
            refused: AtomicBool::new(false),
            unwritten: AtomicBool::new(false),
            orphan_ingress: labelled(
                "orphan_ingress",
                "1 for an Ingress that leads to no Service, or to one without endpoints",
                &["namespace", "ingress", "type"],
            )?,
            held_ingress: labelled(
                "refused_ingress",
                "1 for an Ingress of which a data plane refuses something, which is held back",
                &["namespace", "ingress"],
            )?,
            unhealthy: unhealthy_gauge(registry)?,
            reports: labelled(
                "reports",
                "Reports that hold, by severity and reason code; log lines, Events and sluice lint say the same",
                &["severity", "reason"],
            )?,
            routes: routes_gauge(registry)?,
            data_planes: data_planes_gauge(registry)?,
            translated: counter(
                "translated_ingresses_total",
                "Ingresses that were translated because something they depend on has changed",
            )?,
            resolved: counter(
                "resolved_backends_total",
                "Backends that were looked up among Services and endpoints",
            )?,
            rendered: counter(
                "rendered_hosts_total",
                "Hosts of which the routes were made again for Envoy",
            )?,
            reloads: reloads_counter(registry)?,
            refreshing: Mutex::new(()),
        })))
    }

    /// The translation has been brought up to date: what that took, in work rather than in time.
    pub fn translated(&self, updated: &Updated) {
        self.0.translated.inc_by(updated.members as u64);
        self.0.resolved.inc_by(updated.resolved as u64);
    }

    /// How many hosts were rendered so far.
    pub fn rendered(&self, routes: &RouteCache) {
        let rendered = &self.0.rendered;
        rendered.inc_by(routes.rendered().saturating_sub(rendered.get()));
    }

    /// A whole configuration has been published; with nginx: it has reloaded.
    pub fn published(&self, content: u128) {
        let families = &self.0;
        // A float holds integers up to 2^53; a shorter hash is as good a hash.
        let short = u32::try_from(content & u128::from(u32::MAX)).unwrap_or_default();
        families.config_hash.set(f64::from(short));
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        families.last_successful_time.set(now.as_secs_f64());
        families.refused.store(false, Ordering::Release);
        // Last, so that a reader who sees it counted sees the rest.
        families.success.inc();
    }

    /// nginx has been reloaded, for this reason.
    pub fn reloaded(&self, reason: &str) {
        self.0.reloads.with_label_values(&[reason]).inc();
    }

    /// nginx did not take a configuration.
    pub fn refused(&self) {
        self.0.errors.inc();
        self.0.refused.store(true, Ordering::Release);
    }

    /// Notes whether files of nginx could not be written.
    pub fn unwritten(&self, is_so: bool) {
        let was_so = self.0.unwritten.swap(is_so, Ordering::AcqRel);
        if is_so && !was_so {
            self.0.errors.inc();
        }
    }

    /// These Ingresses have something that a data plane refuses.
    pub fn held(&self, ingresses: &BTreeSet<ObjectKey>) {
        let gauge = &self.0.held_ingress;
        gauge.reset();
        for key in ingresses {
            gauge
                .with_label_values(&[&*key.namespace, &key.name])
                .set(1.0);
        }
    }

    /// Brings up to date what is read off others.
    pub(super) fn refresh(&self, view: &View, store: &Store) {
        let families = &self.0;
        let _alone = families
            .refreshing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let refused =
            families.refused.load(Ordering::Acquire) || families.unwritten.load(Ordering::Acquire);
        let accepted = view.progress().is_published() && !refused && store.refusals().is_empty();
        families.last_successful.set(f64::from(u8::from(accepted)));
        families
            .errors
            .inc_by(store.stats().nacks.saturating_sub(families.errors.get()));
        families.orphan_ingress.reset();
        let snapshot = view.snapshot();
        orphans(&snapshot, &families.orphan_ingress);
        routes(snapshot.config(), &families.routes);
        families.unhealthy.reset();
        unhealthy(&snapshot, &families.unhealthy);
        data_planes(store, &families.data_planes);
        families.reports.reset();
        for report in snapshot.reports() {
            let labels = [&*report.severity.to_string(), report.code.as_str()];
            families.reports.with_label_values(&labels).inc();
        }
    }
}

fn errors_counter(registry: &Registry) -> prometheus::Result<IntCounter> {
    let help = "Configurations that a data plane refused, or whose files could not be written";
    register(registry, IntCounter::with_opts(opts("errors", help))?)
}

fn reloads_counter(registry: &Registry) -> prometheus::Result<IntCounterVec> {
    let help = "Reloads of nginx, by the reason for them";
    let opts = opts("nginx_reloads_total", help);
    register(registry, IntCounterVec::new(opts, &["reason"])?)
}

fn unhealthy_gauge(registry: &Registry) -> prometheus::Result<GaugeVec> {
    let help = "Endpoints of a Service that fail their health checks";
    let opts = opts("unhealthy_endpoints", help);
    register(registry, GaugeVec::new(opts, &["namespace", "service"])?)
}

fn routes_gauge(registry: &Registry) -> prometheus::Result<GaugeVec> {
    let help = "Routes that forward requests, by what balances them: envoy itself, or the filter";
    register(
        registry,
        GaugeVec::new(opts("routes", help), &["balancing"])?,
    )
}

fn data_planes_gauge(registry: &Registry) -> prometheus::Result<GaugeVec> {
    let help = "Data planes that are connected for their configuration, by version";
    register(
        registry,
        GaugeVec::new(opts("data_planes", help), &["version"])?,
    )
}

/// One series at least: none connected is 0, and no absence. Versions are those of Envoys that the operator has let in.
fn data_planes(store: &Store, gauge: &GaugeVec) {
    gauge.reset();
    let all = store.data_planes();
    if all.is_empty() {
        gauge.with_label_values(&[""]).set(0.0);
    }
    for data_plane in all {
        gauge.with_label_values(&[data_plane.version]).inc();
    }
}

fn routes(config: &Config, gauge: &GaugeVec) {
    let forwarding = config
        .routes()
        .filter(|route| route.destination().is_some());
    let (native, filtered): (Vec<_>, Vec<_>) =
        forwarding.partition(|route| balances_natively(config, route));
    for (balancing, routes) in [("envoy", native), ("filter", filtered)] {
        gauge
            .with_label_values(&[balancing])
            .set(routes.len() as f64);
    }
}

/// Ports of a Service, and ways to speak to them, have the same endpoints.
fn unhealthy(snapshot: &Snapshot, gauge: &GaugeVec) {
    let mut all: BTreeMap<ObjectKey, BTreeSet<IpAddr>> = BTreeMap::new();
    let checked = snapshot.config().backends.iter();
    for (id, backend) in checked.filter(|(_, backend)| backend.health.check.is_some()) {
        let plain = backend.variant_of.as_ref().unwrap_or(id);
        let failing = backend
            .endpoints
            .iter()
            .filter(|endpoint| endpoint.unhealthy);
        let failing: Vec<IpAddr> = failing.map(|endpoint| endpoint.address.ip()).collect();
        if let Some((service, _)) = ids::service_of(plain)
            && !failing.is_empty()
        {
            all.entry(service).or_default().extend(failing);
        }
    }
    for (service, failing) in all {
        let labels = [&*service.namespace, &*service.name];
        gauge.with_label_values(&labels).set(failing.len() as f64);
    }
}

fn orphans(snapshot: &Snapshot, gauge: &GaugeVec) {
    for report in snapshot.reports() {
        if report
            .missing
            .as_ref()
            .is_some_and(|missing| missing.kind == Kind::Service)
        {
            let key = &report.object.key;
            gauge
                .with_label_values(&[&*key.namespace, &key.name, "no-service"])
                .set(1.0);
        }
    }
    let config = snapshot.config();
    for route in config.routes() {
        let Some(backend) = route.primary_backend() else {
            continue;
        };
        let leads_nowhere = |backend: &Arc<Backend>| backend.endpoints.is_empty();
        let is_empty = config.backends.get(backend).is_none_or(leads_nowhere);
        if let Some(key) = snapshot.owner(&route.id).filter(|_| is_empty) {
            gauge
                .with_label_values(&[&*key.namespace, &key.name, "no-endpoint"])
                .set(1.0);
        }
    }
}

fn build_info(registry: &Registry) -> prometheus::Result<()> {
    let opts = opts(
        "build_info",
        "A constant 1, labelled with what this program was built from",
    )
    .const_label("release", env!("CARGO_PKG_VERSION"))
    .const_label("build", option_env!("SLUICE_BUILD").unwrap_or("unknown"))
    .const_label("repository", env!("CARGO_PKG_NAME"));
    register(registry, Gauge::with_opts(opts)?)?.set(1.0);
    Ok(())
}

pub(super) fn opts(name: &str, help: &str) -> Opts {
    Opts::new(format!("{PREFIX}_{name}"), help)
}

pub(super) fn register<C>(registry: &Registry, collector: C) -> prometheus::Result<C>
where
    C: prometheus::core::Collector + Clone + 'static,
{
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}
