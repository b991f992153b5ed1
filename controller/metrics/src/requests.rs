//! Client requests, one by one from access logs.
//!
//! ```text
//!   Envoy --access log, batched--> sluice_xds_server::AccessLogService --> take: route -> labels -> series
//! ```
//!
//! Labels come from the configuration, not from requests: host and path are those of the rule. Requests that no Ingress takes
//! are not counted. What all labels together may take is limited (series.rs, room.rs).

mod status;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use prometheus::Registry;
use sluice_ir::{BackendId, Canary};
use sluice_translate::{Snapshot, ids};
use sluice_xds_server::AccessLogEntry;

use super::buckets::{Buckets, HistogramBuckets};
use super::histogram::Histogram;
use super::label::Label;
use super::series::{Family, PREFIX, Series};
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

type Labels = [Label; LABELS.len()];

/// The handles are shared with the registry.
#[derive(Clone)]
pub struct Requests(Arc<Inner>);

struct Inner {
    view: View,
    per_host: bool,
    status_classes: bool,
    buckets: HistogramBuckets,
    series: Series<{ LABELS.len() }, Measured>,
}

/// Requests with the same labels.
#[derive(Clone, Default)]
struct Measured {
    requests: u64,
    duration: Histogram,
    connect: Histogram,
    header: Histogram,
    response: Histogram,
    request_size: Histogram,
    response_size: Histogram,
    bytes_sent: Histogram,
}

/// Labels of a route.
#[derive(Clone)]
struct RouteLabels {
    path: Label,
    namespace: Label,
    ingress: Label,
    service: Label,
    canary: Label,
    host: Label,
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
        let mut families = families(&flags.buckets);
        families.retain(|family| !is_excluded(family.name(), &flags.exclude_socket_metrics));
        Ok(Requests(Arc::new(Inner {
            view,
            per_host: flags.metrics_per_host,
            status_classes: flags.report_status_classes,
            buckets: flags.buckets.clone(),
            series: Series::register(registry, LABELS, families)?.limited(namespace, rest),
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
                self.0.count(request, place);
            }
        }
    }

    /// Forgets Ingresses that are gone.
    pub(super) fn refresh(&self) {
        let inner = &self.0;
        let snapshot = inner.view.snapshot();
        let owners = snapshot.owners().into_iter();
        let owners: HashSet<(Label, Label)> = owners
            .map(|key| (Label::of(&key.namespace), Label::of(&key.name)))
            .chain([(Label::other(), Label::other())])
            .collect();
        inner.series.retain(|labels| {
            let [_, _, _, namespace, ingress, ..] = labels;
            owners.contains(&(namespace.clone(), ingress.clone()))
        });
    }
}

fn namespace([_, _, _, namespace, ..]: &Labels) -> &Label {
    namespace
}

/// Labels of requests of which no more is said.
fn rest([status, method, ..]: &Labels) -> Labels {
    let [path, namespace, ingress, service, canary, host] = [(); 6].map(|()| Label::other());
    let (status, method) = (status.clone(), method.clone());
    [
        status, method, path, namespace, ingress, service, canary, host,
    ]
}

fn families(buckets: &HistogramBuckets) -> Vec<Family<Measured>> {
    let (times, lengths) = (&buckets.times, &buckets.lengths);
    let histogram = |name, help, bounds: &Buckets, read: fn(&Measured) -> &Histogram| {
        Family::histogram(name, help, bounds.bounds(), read)
    };
    vec![
        Family::counter("requests", "Requests of clients", |all: &Measured| {
            Some(all.requests)
        }),
        histogram(
            "request_duration_seconds",
            "From the first byte of the client to the last byte for it",
            times,
            |all| &all.duration,
        ),
        histogram(
            "connect_duration_seconds",
            "What connecting to a pod took; 0 on a kept connection",
            times,
            |all| &all.connect,
        ),
        histogram(
            "header_duration_seconds",
            "From asking a pod to the first byte of its answer",
            times,
            |all| &all.header,
        ),
        histogram(
            "response_duration_seconds",
            "From asking a pod to the last byte of its answer",
            times,
            |all| &all.response,
        ),
        histogram(
            "request_size",
            "Bytes of requests, with their headers",
            lengths,
            |all| &all.request_size,
        ),
        histogram(
            "response_size",
            "Bytes of responses, with their headers",
            lengths,
            |all| &all.response_size,
        ),
        histogram(
            "bytes_sent",
            "As response_size, in other buckets; deprecated",
            &buckets.sizes,
            |all| &all.bytes_sent,
        ),
    ]
}

impl RouteLabels {
    fn of(snapshot: &Snapshot, route: &str, backend: &str) -> Option<Self> {
        let (server, route) = snapshot.route(route)?;
        let owner = snapshot.owner(&route.id)?;
        let is_canary = route
            .canaries
            .iter()
            .flat_map(Canary::backends)
            .any(|canary| canary.as_str() == backend);
        let backend_id = BackendId::new(backend);
        Some(RouteLabels {
            path: Label::of(route.matches.path.text()),
            namespace: Label::of(&owner.namespace),
            ingress: Label::of(&owner.name),
            service: Label::of(ids::upstream_name(&backend_id)),
            canary: if is_canary {
                // As ingress-nginx names it, however its pods are spoken to.
                let plain = ids::without_variant(&backend_id);
                Label::of(&plain.as_str().replace('/', "-"))
            } else {
                Label::of("")
            },
            host: Label::of(&server.to_string()),
        })
    }
}

impl Inner {
    fn count(&self, request: &AccessLogEntry, place: &RouteLabels) {
        let labels = self.labels(request, place.clone());
        self.series
            .change(labels, |row| row.take(request, &self.buckets));
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
        let host = if self.per_host { host } else { Label::of("") };
        let status = status::label(request.status, self.status_classes);
        let method = Label::of(request.method);
        [
            status, method, path, namespace, ingress, service, canary, host,
        ]
    }
}

impl Measured {
    #[allow(clippy::cast_precision_loss, reason = "a histogram is of floats")]
    fn take(&mut self, request: &AccessLogEntry, buckets: &HistogramBuckets) {
        self.requests += 1;
        let (times, lengths) = (buckets.times.bounds(), buckets.lengths.bounds());
        for (histogram, time) in [
            (&mut self.duration, request.duration),
            (&mut self.connect, request.connecting),
            (&mut self.header, request.to_header),
            (&mut self.response, request.to_end),
        ] {
            if let Some(time) = time {
                histogram.observe(times, time.as_secs_f64());
            }
        }
        let (received, sent) = (request.received as f64, request.sent as f64);
        self.request_size.observe(lengths, received);
        self.response_size.observe(lengths, sent);
        self.bytes_sent.observe(buckets.sizes.bounds(), sent);
    }
}

#[cfg(test)]
mod tests;
