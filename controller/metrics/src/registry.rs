//! Metrics that are shown together, with labels that all of them have.
//!
//! Series are written from their rows. Metrics without labels of tenants are the `prometheus` crate's.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use prometheus::core::Collector;
use prometheus::{Error, Gauge, IntCounter, Opts, TextEncoder};
use tracing::warn;

use super::text::Text;

/// The names of all metrics begin with this and `_`.
pub(super) const PREFIX: &str = "nginx_ingress_controller";

/// All metrics of a page with the same labels of their own.
#[derive(Default)]
pub(super) struct Registry {
    single: prometheus::Registry,
    families: Mutex<Vec<Box<dyn Families>>>,
    labels: Vec<(String, String)>,
}

/// Families that are read off the same rows.
pub(super) trait Families: Send {
    /// Of all of them, whole.
    fn names(&self) -> Vec<String>;

    fn write(&self, text: &mut Text);
}

impl Registry {
    /// With labels that all metrics have.
    pub(super) fn with_labels(labels: HashMap<String, String>) -> prometheus::Result<Self> {
        Ok(Registry {
            labels: labels.clone().into_iter().collect(),
            single: prometheus::Registry::new_custom(None, Some(labels))?,
            families: Mutex::default(),
        })
    }

    pub(super) fn labels(&self) -> &[(String, String)] {
        &self.labels
    }

    /// A metric with the prefix of all.
    pub(super) fn opts(name: &str, help: &str) -> Opts {
        Opts::new(format!("{PREFIX}_{name}"), help)
    }

    /// A new gauge without labels of its own.
    pub(super) fn gauge(&self, name: &str, help: &str) -> prometheus::Result<Gauge> {
        let gauge = Gauge::with_opts(Self::opts(name, help))?;
        self.register(Box::new(gauge.clone()))?;
        Ok(gauge)
    }

    /// A new counter without labels of its own.
    pub(super) fn counter(&self, name: &str, help: &str) -> prometheus::Result<IntCounter> {
        let counter = IntCounter::with_opts(Self::opts(name, help))?;
        self.register(Box::new(counter.clone()))?;
        Ok(counter)
    }

    pub(super) fn register(&self, collector: Box<dyn Collector>) -> prometheus::Result<()> {
        self.single.register(collector)
    }

    pub(super) fn add(&self, new: Box<dyn Families>) -> prometheus::Result<()> {
        let mut all = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        let names = new.names();
        let known = |name: &String| names.contains(name);
        if all.iter().any(|one| one.names().iter().any(known)) {
            return Err(Error::AlreadyReg);
        }
        all.push(new);
        Ok(())
    }

    pub(super) fn write(&self, text: &mut Text) {
        let single = TextEncoder::new().encode_to_string(&self.single.gather());
        match single {
            Ok(single) => text.append(&single),
            Err(error) => warn!("metrics: {error}"),
        }
        let all = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().for_each(|families| families.write(text));
    }

    /// All of it at once.
    pub(super) fn text(&self) -> String {
        let mut text = Text::default();
        self.write(&mut text);
        String::from_utf8(text.into_chunks().concat()).unwrap_or_default()
    }
}
