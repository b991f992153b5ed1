//! Series of metrics by the values of their labels.
//!
//! ```text
//!   count, show --labels--> Series (one row for a set of labels) --each family reads its value--> Text
//!                 Limit: room for new rows on the page, by namespace
//! ```
//!
//! Absent on purpose: the crate's own `GaugeVec`, `IntCounterVec` and `HistogramVec`. They know a series by a hash of its label
//! values, joined: those of `shop1/web` and `shop/1web` would be one (`tests/tidy` finds them). Nor are rows copied into the
//! crate's messages: a page would take several times its size.

mod limit;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::histogram::{self, Histogram};
use super::label::Label;
use super::registry::{self, PREFIX, Registry};
use super::text::{self, FamilyText, Text};
pub(super) use limit::Limit;

/// Rows that are written while nobody can count.
const ROWS_AT_ONCE: usize = 32;
/// Bytes of a line beside its labels and the name of the metric: `_bucket`, `le` and a number of eight digits.
const REST_OF_LINE: usize = 32;

/// A metric that is read off rows.
pub(super) struct Family<M> {
    name: &'static str,
    help: &'static str,
    kind: &'static str,
    /// Lines of a row, at most.
    lines: usize,
    write: Box<Write<M>>,
}

/// Writes a row with these labels.
type Write<M> = dyn Fn(&M, &str, &mut FamilyText<'_>) + Send + Sync;

/// Rows by labels. The handles are shared with the registry.
pub(super) struct Series<const N: usize, M>(Arc<Inner<N, M>>);

struct Inner<const N: usize, M> {
    names: [&'static str; N],
    /// Those of the registry.
    common: OnceLock<Vec<(String, String)>>,
    families: Vec<Family<M>>,
    rows: Mutex<Rows<N, M>>,
}

struct Rows<const N: usize, M> {
    by_labels: HashMap<[Label; N], Row<M>>,
    /// `None`: tenants cannot make more of them.
    limit: Option<Limit<N>>,
}

struct Row<M> {
    value: M,
    /// The step of the limit whose room it takes.
    step: Option<usize>,
}

impl<M> Family<M> {
    /// Its name, without the prefix of all.
    pub(super) fn name(&self) -> &str {
        self.name
    }

    /// `None`: this row has none.
    pub(super) fn counter(
        name: &'static str,
        help: &'static str,
        read: impl Fn(&M) -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        let write = move |row: &M, labels: &str, family: &mut FamilyText<'_>| {
            if let Some(count) = read(row) {
                family.sample("", labels, None, count);
            }
        };
        Family {
            name,
            help,
            kind: "counter",
            lines: 1,
            write: Box::new(write),
        }
    }

    pub(super) fn histogram(
        name: &'static str,
        help: &'static str,
        bounds: &[f64],
        read: impl Fn(&M) -> &Histogram + Send + Sync + 'static,
    ) -> Self {
        let bounds: Vec<String> = bounds.iter().map(ToString::to_string).collect();
        Family {
            name,
            help,
            kind: "histogram",
            lines: histogram::lines(bounds.len()),
            write: Box::new(move |row, labels, family| read(row).write(&bounds, labels, family)),
        }
    }
}

impl Family<f64> {
    pub(super) fn gauge(name: &'static str, help: &'static str) -> Self {
        Family {
            name,
            help,
            kind: "gauge",
            lines: 1,
            write: Box::new(|value, labels, family| family.sample("", labels, None, value)),
        }
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

impl<const N: usize, M: Default + Send + 'static> Series<N, M> {
    /// Registers families that have the same labels.
    pub(super) fn register(
        registry: &Registry,
        labels: [&'static str; N],
        families: Vec<Family<M>>,
    ) -> prometheus::Result<Self> {
        let series = Series::new(labels, families);
        series.register_in(registry)?;
        Ok(series)
    }

    pub(super) fn new(names: [&'static str; N], families: Vec<Family<M>>) -> Self {
        Series(Arc::new(Inner {
            names,
            common: OnceLock::new(),
            families,
            rows: Mutex::new(Rows {
                by_labels: HashMap::new(),
                limit: None,
            }),
        }))
    }

    pub(super) fn register_in(&self, registry: &Registry) -> prometheus::Result<()> {
        self.0.common.get_or_init(|| registry.labels().to_vec());
        registry.add(Box::new(self.clone()))
    }

    /// Limits the rows that are added: those of one namespace leave room for those of others.
    pub(super) fn limited(self, limit: Limit<N>) -> Self {
        self.0.rows().limit = Some(limit);
        self
    }

    /// Shows these, and no others. Of those that are folded into the same labels one is shown.
    pub(super) fn show(&self, rows: impl IntoIterator<Item = ([Label; N], M)>) {
        let mut new: Vec<_> = rows.into_iter().collect();
        // The same ones find room the next time.
        new.sort_by(|(labels, _), (other, _)| labels.cmp(other));
        let mut rows = self.0.rows();
        rows.by_labels.clear();
        rows.limit.iter_mut().for_each(Limit::clear);
        for (labels, value) in new {
            *rows.row(labels, |labels| self.cost(labels)) = value;
        }
    }

    /// Changes the row of these labels; one that is new may have to be another one.
    pub(super) fn change(&self, labels: [Label; N], change: impl FnOnce(&mut M)) {
        if !self.0.families.is_empty() {
            change(self.0.rows().row(labels, |labels| self.cost(labels)));
        }
    }

    /// Forgets the others.
    pub(super) fn retain(&self, mut keep: impl FnMut(&[Label; N]) -> bool) {
        let mut rows = self.0.rows();
        let Rows { by_labels, limit } = &mut *rows;
        by_labels.retain(|labels, row| {
            let stays = keep(labels);
            if !stays && let (Some(limit), Some(step)) = (limit.as_mut(), row.step) {
                limit.give_back(step, labels, self.cost(labels));
            }
            stays
        });
    }

    /// Bytes of the page that a row with these labels takes.
    pub(super) fn cost(&self, labels: &[Label; N]) -> usize {
        let common = self.0.common.get().into_iter().flatten();
        let common: usize = common
            .map(|(name, value)| text::label_len(name, value))
            .sum();
        let own = self.0.names.iter().zip(labels);
        let own: usize = own
            .map(|(name, value)| text::label_len(name, value.as_str()))
            .sum();
        let families = self.0.families.iter();
        let line = |name: &str| PREFIX.len() + name.len() + common + own + REST_OF_LINE;
        families.map(|it| it.lines * line(it.name)).sum()
    }

    /// Bytes of the page that are taken.
    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.0.rows().limit.as_ref().map_or(0, Limit::used)
    }
}

impl<const N: usize, M: Default> Rows<N, M> {
    /// The row of these labels, or of those that they are folded into.
    fn row(&mut self, labels: [Label; N], cost: impl Fn(&[Label; N]) -> usize) -> &mut M {
        let Rows { by_labels, limit } = self;
        let is_known = by_labels.contains_key(&labels);
        let (labels, step) = match limit {
            Some(limit) if !is_known => {
                limit.admit(labels, |labels| by_labels.contains_key(labels), cost)
            }
            _ => (labels, None),
        };
        let new = || Row {
            value: M::default(),
            step,
        };
        &mut by_labels.entry(labels).or_insert_with(new).value
    }
}

impl<const N: usize, M> Inner<N, M> {
    fn rows(&self) -> MutexGuard<'_, Rows<N, M>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As they are written.
    fn labels(&self, labels: &[Label; N]) -> String {
        let common = self.common.get().into_iter().flatten();
        let common = common.map(|(name, value)| (name.as_str(), value.as_str()));
        let own = self.names.iter().zip(labels);
        text::labels(common.chain(own.map(|(name, value)| (*name, value.as_str()))))
    }

    /// A few rows at a time: who counts does not wait for a page.
    fn write_family(&self, family: &Family<M>, all: &[[Label; N]], text: &mut Text) {
        let name = format!("{PREFIX}_{}", family.name);
        let mut lines = text.family(&name, family.help, family.kind);
        for some in all.chunks(ROWS_AT_ONCE) {
            let rows = self.rows();
            for labels in some {
                if let Some(row) = rows.by_labels.get(labels) {
                    (family.write)(&row.value, &self.labels(labels), &mut lines);
                }
            }
        }
    }
}

impl<const N: usize, M: Send> registry::Families for Series<N, M> {
    fn names(&self) -> Vec<String> {
        let families = self.0.families.iter();
        families
            .map(|family| format!("{PREFIX}_{}", family.name))
            .collect()
    }

    fn write(&self, text: &mut Text) {
        let mut all: Vec<_> = self.0.rows().by_labels.keys().cloned().collect();
        all.sort_unstable();
        for family in &self.0.families {
            self.0.write_family(family, &all, text);
        }
    }
}

impl<const N: usize, M> Clone for Series<N, M> {
    fn clone(&self) -> Self {
        Series(self.0.clone())
    }
}
