//! The controller's own work: publications, rejections, reports, and Ingresses without endpoints.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus::{Gauge, IntCounter, Opts};
use sluice_ir::{Backend, Config};
use sluice_translate::{Kind, ObjectKey, Snapshot, Updated, ids};
use sluice_xds::RouteCache;
use sluice_xds::render::balances_natively;
use sluice_xds_server::Store;

use super::label::Label;
use super::registry::Registry;
use super::series::{Family, Limit, PREFIX, Series};
use sluice_state::View;

/// Bytes of the page for each gauge with names of objects: some 1,500 of them.
pub(super) const ROOM: usize = 500_000;

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
    orphan_ingress: Series<3, f64>,
    held_ingress: Series<2, f64>,
    unhealthy: Series<2, f64>,
    reports: Series<2, f64>,
    routes: Series<1, f64>,
    data_planes: Series<1, f64>,
    translated: IntCounter,
    resolved: IntCounter,
    rendered: IntCounter,
    reloads: Series<1, u64>,
}

impl Controller {
    pub(super) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let gauge =
            |name: &str, help: &str| register(registry, Gauge::with_opts(opts(name, help))?);
        let counter =
            |name: &str, help: &str| register(registry, IntCounter::with_opts(opts(name, help))?);
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
            orphan_ingress: orphan_gauge(registry)?,
            held_ingress: held_gauge(registry)?,
            unhealthy: unhealthy_gauge(registry)?,
            reports: Series::gauge(
                registry,
                "reports",
                "Reports that hold, by severity and reason code; log lines, Events and sluice lint say the same",
                ["severity", "reason"],
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
        let count = |reloads: &mut u64| *reloads += 1;
        self.0.reloads.change([Label::of(reason)], count);
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
        let held = ingresses.iter().map(|key| (labels(key), 1.0));
        self.0.held_ingress.show(held);
    }

    /// Brings up to date what is read off others.
    pub(super) fn refresh(&self, view: &View, store: &Store) {
        let families = &self.0;
        let refused =
            families.refused.load(Ordering::Acquire) || families.unwritten.load(Ordering::Acquire);
        let accepted = view.progress().is_published() && !refused && store.refusals().is_empty();
        families.last_successful.set(f64::from(u8::from(accepted)));
        families
            .errors
            .inc_by(store.stats().nacks.saturating_sub(families.errors.get()));
        let snapshot = view.snapshot();
        families.orphan_ingress.show(orphans(&snapshot));
        families.routes.show(routes(snapshot.config()));
        families.unhealthy.show(unhealthy(&snapshot));
        families.data_planes.show(data_planes(store));
        families.reports.show(reports(&snapshot));
    }
}

/// Those of an object that is named.
fn labels(key: &ObjectKey) -> [Label; 2] {
    [Label::of(&key.namespace), Label::of(&key.name)]
}

/// Of objects that tenants name.
fn by_name() -> Limit<2> {
    let rest = |_: &[Label; 2]| [Label::other(), Label::other()];
    Limit::new(ROOM, |[namespace, _]| namespace, rest)
}

fn reports(snapshot: &Snapshot) -> HashMap<[Label; 2], f64> {
    let mut all = HashMap::new();
    for report in snapshot.reports() {
        let severity = Label::of(&report.severity.to_string());
        let labels = [severity, Label::of(report.code.as_str())];
        *all.entry(labels).or_default() += 1.0;
    }
    all
}

fn errors_counter(registry: &Registry) -> prometheus::Result<IntCounter> {
    let help = "Configurations that a data plane refused, or whose files could not be written";
    register(registry, IntCounter::with_opts(opts("errors", help))?)
}

fn reloads_counter(registry: &Registry) -> prometheus::Result<Series<1, u64>> {
    let help = "Reloads of nginx, by the reason for them";
    let reloads = Family::counter("nginx_reloads_total", help, |reloads| Some(*reloads));
    Series::register(registry, ["reason"], vec![reloads])
}

fn orphan_gauge(registry: &Registry) -> prometheus::Result<Series<3, f64>> {
    let help = "1 for an Ingress that leads to no Service, or to one without endpoints";
    let labels = ["namespace", "ingress", "type"];
    let gauge = Series::gauge(registry, "orphan_ingress", help, labels)?;
    Ok(gauge.limited(Limit::new(
        ROOM,
        |[namespace, ..]| namespace,
        |[_, _, kind]| [Label::other(), Label::other(), kind.clone()],
    )))
}

fn held_gauge(registry: &Registry) -> prometheus::Result<Series<2, f64>> {
    let help = "1 for an Ingress of which a data plane refuses something, which is held back";
    let gauge = Series::gauge(registry, "refused_ingress", help, ["namespace", "ingress"])?;
    Ok(gauge.limited(by_name()))
}

fn unhealthy_gauge(registry: &Registry) -> prometheus::Result<Series<2, f64>> {
    let help = "Endpoints of a Service that fail their health checks";
    let labels = ["namespace", "service"];
    let gauge = Series::gauge(registry, "unhealthy_endpoints", help, labels)?;
    Ok(gauge.limited(by_name()))
}

fn routes_gauge(registry: &Registry) -> prometheus::Result<Series<1, f64>> {
    let help = "Routes that forward requests, by what balances them: envoy itself, or the filter";
    Series::gauge(registry, "routes", help, ["balancing"])
}

fn data_planes_gauge(registry: &Registry) -> prometheus::Result<Series<1, f64>> {
    let help = "Data planes that are connected for their configuration, by version";
    Series::gauge(registry, "data_planes", help, ["version"])
}

/// One series at least: none connected is 0, and no absence. Versions are those of Envoys that the operator has let in.
fn data_planes(store: &Store) -> HashMap<[Label; 1], f64> {
    let mut by_version = HashMap::new();
    for data_plane in store.data_planes() {
        *by_version
            .entry([Label::of(&data_plane.version)])
            .or_default() += 1.0;
    }
    if by_version.is_empty() {
        by_version.insert([Label::of("")], 0.0);
    }
    by_version
}

fn routes(config: &Config) -> [([Label; 1], f64); 2] {
    let forwarding = config
        .routes()
        .filter(|route| route.destination().is_some());
    let (native, filtered): (Vec<_>, Vec<_>) =
        forwarding.partition(|route| balances_natively(config, route));
    [("envoy", native), ("filter", filtered)]
        .map(|(balancing, routes)| ([Label::of(balancing)], routes.len() as f64))
}

/// Ports of a Service, and ways to speak to them, have the same endpoints.
fn unhealthy(snapshot: &Snapshot) -> impl Iterator<Item = ([Label; 2], f64)> {
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
    all.into_iter()
        .map(|(service, failing)| (labels(&service), failing.len() as f64))
}

fn orphans(snapshot: &Snapshot) -> HashMap<[Label; 3], f64> {
    let mut all = HashMap::new();
    let mut add = |key: &ObjectKey, kind: &str| {
        let [namespace, ingress] = labels(key);
        all.insert([namespace, ingress, Label::of(kind)], 1.0);
    };
    for report in snapshot.reports() {
        if report
            .missing
            .as_ref()
            .is_some_and(|missing| missing.kind == Kind::Service)
        {
            add(&report.object.key, "no-service");
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
            add(key, "no-endpoint");
        }
    }
    all
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
