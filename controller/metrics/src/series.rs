//! Series of metrics by the values of their labels.
//!
//! ```text
//!   count, show --labels--> Series (one row for a set of labels) --each family reads its value--> text format of Prometheus
//!                 Limit: room for new rows, by namespace
//! ```
//!
//! Absent on purpose: the crate's own `GaugeVec`, `IntCounterVec` and `HistogramVec`. They know a series by a hash of its label
//! values, joined: those of `shop1/web` and `shop/1web` would be one (`tests/tidy` finds them).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus::Registry;
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};

use super::histogram::Histogram;
use super::label::Label;
use super::room::{ROOM, Room, cost};

pub(super) const PREFIX: &str = "nginx_ingress_controller";

/// A metric that is read off rows. `None`: this row has none.
pub(super) struct Family<M> {
    name: &'static str,
    help: &'static str,
    kind: MetricType,
    read: Box<Read<M>>,
}

type Read<M> = dyn Fn(&M) -> Option<Metric> + Send + Sync;

/// Rows by labels. The handles are shared with the registry.
pub(super) struct Series<const N: usize, M>(Arc<Table<N, M>>);

struct Table<const N: usize, M> {
    names: [&'static str; N],
    families: Vec<(Desc, Family<M>)>,
    rows: Mutex<Rows<N, M>>,
}

struct Rows<const N: usize, M> {
    by_labels: HashMap<[Label; N], M>,
    /// `None`: tenants cannot make more of them.
    limit: Option<Limit<N>>,
}

/// Room for the rows that tenants make.
struct Limit<const N: usize> {
    room: Room,
    namespace: fn(&[Label; N]) -> &Label,
    rest: fn(&[Label; N]) -> [Label; N],
}

impl<M> Family<M> {
    /// Its name, without the prefix of all.
    pub(super) fn name(&self) -> &str {
        self.name
    }

    pub(super) fn counter(
        name: &'static str,
        help: &'static str,
        read: impl Fn(&M) -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        let read = move |row: &M| read(row).map(counted);
        Family {
            name,
            help,
            kind: MetricType::COUNTER,
            read: Box::new(read),
        }
    }

    pub(super) fn histogram(
        name: &'static str,
        help: &'static str,
        bounds: &[f64],
        read: impl Fn(&M) -> &Histogram + Send + Sync + 'static,
    ) -> Self {
        let bounds = bounds.to_vec();
        let read = move |row: &M| read(row).metric(&bounds);
        Family {
            name,
            help,
            kind: MetricType::HISTOGRAM,
            read: Box::new(read),
        }
    }
}

impl<const N: usize, M: Clone + Default + Send + 'static> Series<N, M> {
    /// Registers families that have the same labels.
    pub(super) fn register(
        registry: &Registry,
        labels: [&'static str; N],
        families: Vec<Family<M>>,
    ) -> prometheus::Result<Self> {
        let series = Series::new(labels, families)?;
        if !series.0.families.is_empty() {
            registry.register(Box::new(series.clone()))?;
        }
        Ok(series)
    }

    pub(super) fn new(
        names: [&'static str; N],
        families: Vec<Family<M>>,
    ) -> prometheus::Result<Self> {
        let described = families.into_iter().map(|family| {
            let (name, help) = (format!("{PREFIX}_{}", family.name), family.help.to_owned());
            let labels = names.map(str::to_owned).to_vec();
            Ok((Desc::new(name, help, labels, HashMap::new())?, family))
        });
        Ok(Series(Arc::new(Table {
            names,
            families: described.collect::<prometheus::Result<_>>()?,
            rows: Mutex::new(Rows {
                by_labels: HashMap::new(),
                limit: None,
            }),
        })))
    }

    /// Limits what changes add: rows of one namespace leave room for those of others. One without room is counted in its `rest`.
    pub(super) fn limited(
        self,
        namespace: fn(&[Label; N]) -> &Label,
        rest: fn(&[Label; N]) -> [Label; N],
    ) -> Self {
        self.rows().limit = Some(Limit {
            room: Room::new(ROOM),
            namespace,
            rest,
        });
        self
    }

    /// Shows these, and no others, without a limit.
    pub(super) fn show(&self, rows: impl IntoIterator<Item = ([Label; N], M)>) {
        let rows = rows.into_iter().collect();
        self.rows().by_labels = rows;
    }

    /// Changes the row of these labels; one that is new may have to be another one.
    pub(super) fn change(&self, labels: [Label; N], change: impl FnOnce(&mut M)) {
        let mut rows = self.rows();
        let Rows { by_labels, limit } = &mut *rows;
        if let Some(row) = by_labels.get_mut(&labels) {
            return change(row);
        }
        let labels = match limit {
            Some(limit) => limit.admit(labels),
            None => labels,
        };
        change(by_labels.entry(labels).or_default());
    }

    /// Forgets the others.
    pub(super) fn retain(&self, mut keep: impl FnMut(&[Label; N]) -> bool) {
        let mut rows = self.rows();
        let Rows { by_labels, limit } = &mut *rows;
        by_labels.retain(|labels, _| {
            let stays = keep(labels);
            if !stays && let Some(limit) = limit {
                limit.give_back(labels);
            }
            stays
        });
    }

    /// Bytes of labels that are taken.
    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        let rows = self.rows();
        rows.limit.as_ref().map_or(0, |limit| limit.room.used())
    }

    fn rows(&self) -> MutexGuard<'_, Rows<N, M>> {
        self.0.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<const N: usize> Limit<N> {
    fn admit(&mut self, labels: [Label; N]) -> [Label; N] {
        let namespace = (self.namespace)(&labels);
        if self.room.take(namespace, cost(&labels)) {
            labels
        } else {
            (self.rest)(&labels)
        }
    }

    fn give_back(&mut self, labels: &[Label; N]) {
        let namespace = (self.namespace)(labels);
        self.room.give_back(namespace, cost(labels));
    }
}

impl<const N: usize> Series<N, f64> {
    /// Gauges that are read elsewhere.
    pub(super) fn gauge(
        registry: &Registry,
        name: &'static str,
        help: &'static str,
        labels: [&'static str; N],
    ) -> prometheus::Result<Self> {
        Series::register(registry, labels, vec![Family::gauge(name, help)])
    }
}

impl Family<f64> {
    pub(super) fn gauge(name: &'static str, help: &'static str) -> Self {
        let read = |value: &f64| {
            let (mut metric, mut gauge) = (Metric::default(), Gauge::default());
            gauge.set_value(*value);
            metric.set_gauge(gauge);
            Some(metric)
        };
        Family {
            name,
            help,
            kind: MetricType::GAUGE,
            read: Box::new(read),
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "Prometheus counts in floats")]
fn counted(count: u64) -> Metric {
    let (mut metric, mut counter) = (Metric::default(), Counter::default());
    counter.set_value(count as f64);
    metric.set_counter(counter);
    metric
}

impl<const N: usize, M> Table<N, M> {
    fn family(
        &self,
        desc: &Desc,
        family: &Family<M>,
        rows: &HashMap<[Label; N], M>,
    ) -> MetricFamily {
        let shown = rows.iter().filter_map(|(labels, row)| {
            let mut metric = (family.read)(row)?;
            metric.set_label(self.pairs(labels));
            Some(metric)
        });
        let mut shown_family = MetricFamily::default();
        shown_family.set_name(desc.fq_name.clone());
        shown_family.set_help(desc.help.clone());
        shown_family.set_field_type(family.kind);
        shown_family.set_metric(shown.collect());
        shown_family
    }

    /// By name, as Prometheus' clients write them.
    fn pairs(&self, labels: &[Label; N]) -> Vec<LabelPair> {
        let pairs = self.names.iter().zip(labels).map(|(name, value)| {
            let mut pair = LabelPair::default();
            pair.set_name((*name).to_owned());
            pair.set_value(value.as_str().to_owned());
            pair
        });
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort();
        pairs
    }
}

impl<const N: usize, M: Clone + Default + Send + 'static> Collector for Series<N, M> {
    fn desc(&self) -> Vec<&Desc> {
        self.0.families.iter().map(|(desc, _)| desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        // A copy: who counts does not wait for a page.
        let rows = self.rows().by_labels.clone();
        let families = self.0.families.iter();
        let shown = families.map(|(desc, family)| self.0.family(desc, family, &rows));
        shown.collect()
    }
}

impl<const N: usize, M> Clone for Series<N, M> {
    fn clone(&self) -> Self {
        Series(self.0.clone())
    }
}
