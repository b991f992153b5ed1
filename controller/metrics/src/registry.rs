//! Metrics that are shown together, with labels that all of them have.
//!
//! Series are written from their tables. Metrics without labels of tenants are the `prometheus` crate's.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use prometheus::core::Collector;
use prometheus::{Error, TextEncoder};
use tracing::warn;

use super::text::Text;

/// All metrics of a page with the same labels of their own.
#[derive(Default)]
pub(super) struct Registry {
    single: prometheus::Registry,
    tables: Mutex<Vec<Box<dyn Table>>>,
    labels: Vec<(String, String)>,
}

/// Families that are read off the same rows.
pub(super) trait Table: Send {
    /// Of its families, whole.
    fn names(&self) -> Vec<String>;

    fn write(&self, text: &mut Text);
}

impl Registry {
    /// With labels that all metrics have.
    pub(super) fn with_labels(labels: HashMap<String, String>) -> prometheus::Result<Self> {
        Ok(Registry {
            labels: labels.clone().into_iter().collect(),
            single: prometheus::Registry::new_custom(None, Some(labels))?,
            tables: Mutex::default(),
        })
    }

    pub(super) fn labels(&self) -> &[(String, String)] {
        &self.labels
    }

    pub(super) fn register(&self, collector: Box<dyn Collector>) -> prometheus::Result<()> {
        self.single.register(collector)
    }

    pub(super) fn add(&self, table: Box<dyn Table>) -> prometheus::Result<()> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let names = table.names();
        let known = |table: &Box<dyn Table>| table.names().iter().any(|name| names.contains(name));
        if tables.iter().any(known) {
            return Err(Error::AlreadyReg);
        }
        tables.push(table);
        Ok(())
    }

    pub(super) fn write(&self, text: &mut Text) {
        let single = TextEncoder::new().encode_to_string(&self.single.gather());
        match single {
            Ok(single) => text.append(&single),
            Err(error) => warn!("metrics: {error}"),
        }
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.iter().for_each(|table| table.write(text));
    }

    /// All of it at once.
    pub(super) fn text(&self) -> String {
        let mut text = Text::default();
        self.write(&mut text);
        String::from_utf8(text.into_chunks().concat()).unwrap_or_default()
    }
}
