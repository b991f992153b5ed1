//! Client requests, one by one from access logs.
//!
//! ```text
//!   Envoy --access log, batched--> sluice_xds_server::AccessLogService --> take: route -> labels -> series
//! ```
//!
//! Labels come from the configuration, not from requests: host and path are those of the rule. Requests that no Ingress takes
//! are not counted.

use std::collections::HashMap;
use std::sync::Arc;

use prometheus::core::{Collector, Metric, MetricVec, MetricVecBuilder};
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Registry};
use sluice_ir::BackendId;
use sluice_translate::{Snapshot, ids};
use sluice_xds_server::AccessLogEntry;

use super::buckets::Buckets;
use super::cap::{Cap, OTHER};
use super::controller::{PREFIX, opts};
use crate::flags::MetricsFlags;
use sluice_state::View;

const LABELS: [&str; 8] = [
    "status",
    "method",
    "path",
    "namespace",
    "ingress",
    "service",
    "canary",
    "host",
];
/// Label sets with series of their own.
const MOST_SERIES: usize = 10_000;

type Labels = [String; LABELS.len()];

/// The handles are shared with the registry.
#[derive(Clone)]
pub struct Requests(Arc<Inner>);

struct Inner {
    view: View,
    per_host: bool,
    status_classes: bool,
    series: Cap,
    requests: IntCounterVec,
    duration: HistogramVec,
    connect: HistogramVec,
    header: HistogramVec,
    response: HistogramVec,
    request_size: HistogramVec,
    response_size: HistogramVec,
    bytes_sent: HistogramVec,
}

/// Labels of a route.
#[derive(Clone)]
struct RouteLabels {
    path: String,
    namespace: String,
    ingress: String,
    service: String,
    canary: String,
    host: String,
}

/// A metric may be excluded with or without its prefix.
fn is_excluded(name: &str, excluded: &[String]) -> bool {
    let without_prefix = |excluded: &String| {
        let rest = excluded.strip_prefix(PREFIX)?.strip_prefix('_')?;
        Some(rest == name)
    };
    excluded
        .iter()
        .any(|excluded| excluded == name || without_prefix(excluded) == Some(true))
}

impl Requests {
    pub(super) fn register(
        registry: &Registry,
        flags: &MetricsFlags,
        view: View,
    ) -> prometheus::Result<Self> {
        let keep = |name: &str| !is_excluded(name, &flags.exclude_socket_metrics);
        let histogram = |name: &str, help: &str, buckets: &Buckets| {
            let opts = HistogramOpts::from(opts(name, help)).buckets(buckets.bounds().to_vec());
            register(registry, keep(name), HistogramVec::new(opts, &LABELS)?)
        };
        let requests = IntCounterVec::new(opts("requests", "Requests of clients"), &LABELS)?;
        let (times, lengths) = (&flags.buckets.times, &flags.buckets.lengths);
        Ok(Requests(Arc::new(Inner {
            view,
            per_host: flags.metrics_per_host,
            status_classes: flags.report_status_classes,
            series: Cap::new(MOST_SERIES),
            requests: register(registry, keep("requests"), requests)?,
            duration: histogram(
                "request_duration_seconds",
                "From the first byte of the client to the last byte for it",
                times,
            )?,
            connect: histogram(
                "connect_duration_seconds",
                "What connecting to a pod took; 0 on a kept connection",
                times,
            )?,
            header: histogram(
                "header_duration_seconds",
                "From asking a pod to the first byte of its answer",
                times,
            )?,
            response: histogram(
                "response_duration_seconds",
                "From asking a pod to the last byte of its answer",
                times,
            )?,
            request_size: histogram(
                "request_size",
                "Bytes of requests, with their headers",
                lengths,
            )?,
            response_size: histogram(
                "response_size",
                "Bytes of responses, with their headers",
                lengths,
            )?,
            bytes_sent: histogram(
                "bytes_sent",
                "As response_size, in other buckets; deprecated",
                &flags.buckets.sizes,
            )?,
        })))
    }

    /// Counts some requests.
    pub fn take(&self, requests: &[AccessLogEntry]) {
        let snapshot = self.0.view.snapshot();
        let mut places: HashMap<(&str, &str), Option<RouteLabels>> = HashMap::new();
        for request in requests {
            let at = (request.route.as_str(), request.backend.as_str());
            let place = places
                .entry(at)
                .or_insert_with(|| RouteLabels::of(&snapshot, at.0, at.1));
            if let Some(place) = place {
                self.0.count(request, place.clone());
            }
        }
    }

    /// Forgets Ingresses that are gone.
    pub(super) fn refresh(&self) {
        let inner = &self.0;
        let snapshot = inner.view.snapshot();
        let owners = snapshot.owners();
        let is_there = |labels: &[String]| {
            let [_, _, _, namespace, ingress, ..] = labels else {
                return true;
            };
            owners
                .iter()
                .any(|key| *key.namespace == **namespace && *key.name == **ingress)
        };
        for labels in inner.series.retain(is_there) {
            inner.remove(&labels);
        }
    }
}

impl RouteLabels {
    fn of(snapshot: &Snapshot, route: &str, backend: &str) -> Option<Self> {
        let (server, route) = snapshot.route(route)?;
        let owner = snapshot.owner(&route.id)?;
        let is_canary = route
            .canaries
            .iter()
            .any(|canary| canary.backend.as_str() == backend);
        let backend_id = BackendId::new(backend);
        Some(RouteLabels {
            path: route.matches.path.text().to_owned(),
            namespace: owner.namespace.to_string(),
            ingress: owner.name.to_string(),
            service: ids::upstream_name(&backend_id).to_owned(),
            canary: if is_canary {
                backend.replace('/', "-")
            } else {
                String::new()
            },
            host: server.to_string(),
        })
    }
}

impl Inner {
    #[allow(clippy::cast_precision_loss, reason = "a histogram is of floats")]
    fn count(&self, request: &AccessLogEntry, place: RouteLabels) {
        let labels = self.labels(request, place);
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        self.requests.with_label_values(&labels).inc();
        for (family, time) in [
            (&self.duration, request.duration),
            (&self.connect, request.connecting),
            (&self.header, request.to_header),
            (&self.response, request.to_end),
        ] {
            if let Some(time) = time {
                family
                    .with_label_values(&labels)
                    .observe(time.as_secs_f64());
            }
        }
        self.request_size
            .with_label_values(&labels)
            .observe(request.received as f64);
        for family in [&self.response_size, &self.bytes_sent] {
            family
                .with_label_values(&labels)
                .observe(request.sent as f64);
        }
    }

    fn labels(&self, request: &AccessLogEntry, place: RouteLabels) -> Labels {
        let RouteLabels {
            path,
            namespace,
            ingress,
            service,
            canary,
            host,
        } = place;
        let host = if self.per_host { host } else { String::new() };
        let status = match self.status_classes {
            true => format!("{}xx", request.status / 100),
            false => request.status.to_string(),
        };
        let method = request.method.to_owned();
        let labels = [
            status, method, path, namespace, ingress, service, canary, host,
        ];
        if self.series.admits(&labels.each_ref().map(String::as_str)) {
            return labels;
        }
        let [status, method, ..] = labels;
        let other = || OTHER.to_owned();
        [
            status,
            method,
            other(),
            other(),
            other(),
            other(),
            other(),
            other(),
        ]
    }

    fn remove(&self, labels: &[String]) {
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        drop_series(&self.requests, &labels);
        for family in [
            &self.duration,
            &self.connect,
            &self.header,
            &self.response,
            &self.request_size,
            &self.response_size,
            &self.bytes_sent,
        ] {
            drop_series(family, &labels);
        }
    }
}

/// A family without these labels, such as one of pods that never answered, is no fault.
fn drop_series<B: MetricVecBuilder>(family: &MetricVec<B>, labels: &[&str])
where
    B::M: Metric,
{
    family.remove_label_values(labels).ok();
}

/// Registers a collector. One that is not shown counts all the same.
fn register<C>(registry: &Registry, shown: bool, collector: C) -> prometheus::Result<C>
where
    C: Collector + Clone + 'static,
{
    if shown {
        super::controller::register(registry, collector)
    } else {
        Ok(collector)
    }
}

#[cfg(test)]
mod tests;
