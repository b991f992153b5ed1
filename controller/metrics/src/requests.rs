//! Client requests, one by one from access logs.
//!
//! ```text
//!   Envoy --access log, batched--> sluice_xds_server::AccessLogService --> take: route -> labels -> series
//! ```
//!
//! Labels come from the configuration, not from requests: host and path are those of the rule. Requests that no Ingress takes
//! are not counted. The part of the page that they may take is limited (series.rs, room.rs). A line is short and a histogram is
//! long, so each has series of its own: there are more label sets with a count than with a duration, and more with a duration
//! than with all histograms. Beyond these, histograms are of all statuses and methods of a path, and then of everything.

mod status;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sluice_ir::{BackendId, Canary};
use sluice_translate::{Snapshot, ids};
use sluice_xds_server::AccessLogEntry;

use super::buckets::{Buckets, HistogramBuckets};
use super::budget;
use super::histogram::Histogram;
use super::label::Label;
use super::registry::{PREFIX, Registry};
use super::series::{Family, Limit, Series};
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
type RequestSeries<M> = Series<{ LABELS.len() }, M>;

/// The handles are shared with the registry.
#[derive(Clone)]
pub struct Requests(Arc<Inner>);

struct Inner {
    view: View,
    per_host: bool,
    status_classes: bool,
    buckets: HistogramBuckets,
    counts: RequestSeries<u64>,
    durations: RequestSeries<Histogram>,
    details: RequestSeries<Details>,
}

/// The rest of what is measured of requests with the same labels.
#[derive(Default)]
struct Details {
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
        let buckets = flags.buckets.clone();
        let (of_counts, of_durations, of_details) = (
            Limit::new(budget::REQUESTS, namespace, status_and_method),
            of_histograms(budget::DURATIONS),
            of_histograms(budget::DETAILS),
        );
        Ok(Requests(Arc::new(Inner {
            view,
            per_host: flags.metrics_per_host,
            status_classes: flags.report_status_classes,
            counts: series(registry, flags, counts(), of_counts)?,
            durations: series(registry, flags, durations(&buckets), of_durations)?,
            details: series(registry, flags, details(&buckets), of_details)?,
            buckets,
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
        let owners: HashSet<[Label; 2]> = owners
            .map(Label::of_object)
            .chain([Label::others()])
            .collect();
        let is_there = |[_, _, _, namespace, ingress, ..]: &Labels| {
            owners.contains(&[namespace.clone(), ingress.clone()])
        };
        inner.counts.retain(is_there);
        inner.durations.retain(is_there);
        inner.details.retain(is_there);
    }
}

fn namespace([_, _, _, namespace, ..]: &Labels) -> &Label {
    namespace
}

/// Labels of requests of which no more is said: few, as only the data plane says which methods there are.
fn status_and_method([status, method, ..]: &Labels) -> Labels {
    let [path, namespace, ingress, service, canary, host] = Label::others();
    let (status, method) = (status.clone(), method.clone());
    [
        status, method, path, namespace, ingress, service, canary, host,
    ]
}

/// Labels of requests of which no status and no method is said.
fn place(labels: &Labels) -> Labels {
    let [_, _, path, namespace, ingress, service, canary, host] = labels.clone();
    let [status, method] = Label::others();
    [
        status, method, path, namespace, ingress, service, canary, host,
    ]
}

/// Label sets of histograms in so many bytes, places in as many, and one for the rest.
fn of_histograms(most: usize) -> Limit<{ LABELS.len() }> {
    Limit::new(most, namespace, |_| Label::others()).or(most, place)
}

fn series<M: Default + Send + 'static>(
    registry: &Registry,
    flags: &MetricsFlags,
    mut families: Vec<Family<M>>,
    limit: Limit<{ LABELS.len() }>,
) -> prometheus::Result<RequestSeries<M>> {
    families.retain(|family| !is_excluded(family.name(), &flags.exclude_socket_metrics));
    let series = Series::register(registry, LABELS, families)?;
    Ok(series.limited(limit))
}

fn counts() -> Vec<Family<u64>> {
    let count = |count: &u64| Some(*count);
    vec![Family::counter("requests", "Requests of clients", count)]
}

fn durations(buckets: &HistogramBuckets) -> Vec<Family<Histogram>> {
    vec![Family::histogram(
        "request_duration_seconds",
        "From the first byte of the client to the last byte for it",
        buckets.times.bounds(),
        |duration| duration,
    )]
}

fn details(buckets: &HistogramBuckets) -> Vec<Family<Details>> {
    let (times, lengths) = (&buckets.times, &buckets.lengths);
    let histogram = |name, help, bounds: &Buckets, read: fn(&Details) -> &Histogram| {
        Family::histogram(name, help, bounds.bounds(), read)
    };
    vec![
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
        self.counts.change(labels.clone(), |count| *count += 1);
        if let Some(time) = request.duration {
            let (bounds, time) = (self.buckets.times.bounds(), time.as_secs_f64());
            let observe = |histogram: &mut Histogram| histogram.observe(bounds, time);
            self.durations.change(labels.clone(), observe);
        }
        let take = |details: &mut Details| details.take(request, &self.buckets);
        self.details.change(labels, take);
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

impl Details {
    #[allow(clippy::cast_precision_loss, reason = "a histogram is of floats")]
    fn take(&mut self, request: &AccessLogEntry, buckets: &HistogramBuckets) {
        let (times, lengths) = (buckets.times.bounds(), buckets.lengths.bounds());
        for (histogram, time) in [
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
