//! The controller's own work: publications, rejections and reports.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus::{Gauge, IntCounter};
use sluice_ir::Config;
use sluice_translate::{ObjectKey, Snapshot, Updated};
use sluice_xds::RouteCache;
use sluice_xds::render::balances_natively;
use sluice_xds_server::Store;

use super::budget;
use super::label::Label;
use super::registry::Registry;
use super::series::{Family, Limit, Series};
use sluice_state::View;

/// The controller's own metrics. The handles are shared with the registry.
#[derive(Clone)]
pub struct Controller(Arc<Inner>);

struct Inner {
    config_hash: Gauge,
    last_successful: Gauge,
    last_successful_time: Gauge,
    success: IntCounter,
    errors: IntCounter,
    /// nginx rejected its last configuration, and serves the one before.
    refused: AtomicBool,
    unwritten: AtomicBool,
    held_ingress: Series<2, f64>,
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
        build_info(registry)?;
        Ok(Controller(Arc::new(Inner {
            config_hash: registry
                .gauge("config_hash", "Hash of the configuration that is published")?,
            last_successful: registry.gauge(
                "config_last_reload_successful",
                "Whether every data plane has accepted the last configuration",
            )?,
            last_successful_time: registry.gauge(
                "config_last_reload_successful_timestamp_seconds",
                "Time of the last configuration that was published",
            )?,
            success: registry.counter(
                "success",
                "Whole configurations that were published; of nginx, reloads",
            )?,
            errors: registry.counter(
                "errors",
                "Configurations that a data plane refused, or whose files could not be written",
            )?,
            refused: AtomicBool::new(false),
            unwritten: AtomicBool::new(false),
            held_ingress: held_gauge(registry)?,
            reports: Series::gauge(
                registry,
                "reports",
                "Reports that hold, by severity and reason code; log lines, Events and sluice lint say the same",
                ["severity", "reason"],
            )?,
            routes: routes_gauge(registry)?,
            data_planes: data_planes_gauge(registry)?,
            translated: registry.counter(
                "translated_ingresses_total",
                "Ingresses that were translated because something they depend on has changed",
            )?,
            resolved: registry.counter(
                "resolved_backends_total",
                "Backends that were looked up among Services and endpoints",
            )?,
            rendered: registry.counter(
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
        let inner = &self.0;
        // A float holds integers up to 2^53; a shorter hash is as good a hash.
        let short = u32::try_from(content & u128::from(u32::MAX)).unwrap_or_default();
        inner.config_hash.set(f64::from(short));
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        inner.last_successful_time.set(now.as_secs_f64());
        inner.refused.store(false, Ordering::Release);
        // Last, so that a reader who sees it counted sees the rest.
        inner.success.inc();
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
        let held = ingresses.iter().map(|key| (Label::of_object(key), 1.0));
        self.0.held_ingress.show(held);
    }

    /// Brings up to date what is read off others.
    pub(super) fn refresh(&self, view: &View, store: &Store) {
        let inner = &self.0;
        let refused =
            inner.refused.load(Ordering::Acquire) || inner.unwritten.load(Ordering::Acquire);
        let accepted = view.progress().is_published() && !refused && store.refusals().is_empty();
        inner.last_successful.set(f64::from(u8::from(accepted)));
        let refusals = store.stats().nacks;
        inner
            .errors
            .inc_by(refusals.saturating_sub(inner.errors.get()));
        let snapshot = view.snapshot();
        inner.routes.show(routes(snapshot.config()));
        inner.data_planes.show(data_planes(store));
        inner.reports.show(reports(&snapshot));
    }
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

fn reloads_counter(registry: &Registry) -> prometheus::Result<Series<1, u64>> {
    let help = "Reloads of nginx, by the reason for them";
    let reloads = Family::counter("nginx_reloads_total", help, |reloads| Some(*reloads));
    Series::register(registry, ["reason"], vec![reloads])
}

fn held_gauge(registry: &Registry) -> prometheus::Result<Series<2, f64>> {
    let help = "1 for an Ingress of which something is held back, as a data plane refuses it or others of its namespace";
    let gauge = Series::gauge(registry, "refused_ingress", help, ["namespace", "ingress"])?;
    Ok(gauge.limited(Limit::by_namespace(budget::OBJECTS)))
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

fn build_info(registry: &Registry) -> prometheus::Result<()> {
    let opts = Registry::opts(
        "build_info",
        "A constant 1, labelled with what this program was built from",
    )
    .const_label("release", env!("CARGO_PKG_VERSION"))
    .const_label("build", option_env!("SLUICE_BUILD").unwrap_or("unknown"))
    .const_label("repository", env!("CARGO_PKG_NAME"));
    let info = Gauge::with_opts(opts)?;
    info.set(1.0);
    registry.register(Box::new(info))
}
