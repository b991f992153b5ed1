//! How long the filter takes from a document to tables: parsing, compiling, and forgetting what was before. A worker of the
//! data plane serves nothing meanwhile.

use anyhow::Result;
use sluice_filter_config::{Backend, Endpoint, PluginConfig, Route, Snapshot, Tables, Version};

use crate::Effort;
use crate::pick::Filter;
use crate::row::{Measured, Row};
use crate::statistics::median;

/// As an application has them.
const ENDPOINTS_OF_A_BACKEND: usize = 10;
/// For ten thousand endpoints; others in proportion.
const TARGET_MS: f64 = 10.0;

/// So many endpoints, in backends of ten, each with a route.
pub(crate) struct Compile {
    pub(crate) endpoints: usize,
}

impl Compile {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let target = TARGET_MS * self.endpoints as f64 / 10_000.0;
        vec![Row::new(format!("compile_ms/{}", self.endpoints), "ms").target(target)]
    }

    pub(crate) fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let document = self.document();
        let millis = (0..effort.rounds).map(|_| {
            let (_filter, took) = Filter::timed(&document, String::new())?;
            Ok(took.as_secs_f64() * 1e3)
        });
        let millis = millis.collect::<Result<Vec<f64>>>()?;
        Ok(self
            .rows()
            .into_iter()
            .map(|row| row.measured(median(&millis), millis.len()))
            .collect())
    }

    fn document(&self) -> Vec<u8> {
        let backends = 0..self.endpoints / ENDPOINTS_OF_A_BACKEND;
        let id = |n: usize| format!("default/app-{n}/80");
        let endpoint =
            |n: usize| Endpoint::at(format!("10.{}.{}.{}:8080", n >> 16, n >> 8 & 255, n & 255));
        let backend = |n: usize| {
            let first = n * ENDPOINTS_OF_A_BACKEND;
            let endpoints = (first..first + ENDPOINTS_OF_A_BACKEND)
                .map(endpoint)
                .collect();
            (
                id(n),
                Backend::round_robin(format!("default-app-{n}-80"), endpoints),
            )
        };
        let tables = Tables::Snapshot(Snapshot {
            version: Version::new(1, 1),
            routes: backends
                .clone()
                .map(|n| (format!("app-{n}.example/"), Route::to(id(n))))
                .collect(),
            backends: backends.map(backend).collect(),
            hosts: [].into(),
        });
        PluginConfig::with_tables(tables).to_json()
    }
}
