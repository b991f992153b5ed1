//! How long a whole translation takes, from parsed objects to the IR: what every change but one of endpoints costs.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use sluice_translate::{Object, Options, Resources, translate};

use crate::Effort;
use crate::applications::application;
use crate::row::{Measured, Row};
use crate::statistics::median;

/// So many Ingresses, each with a Service and ten endpoints.
pub(crate) struct Translate {
    pub(crate) ingresses: usize,
}

impl Translate {
    pub(crate) fn rows(&self) -> Vec<Row> {
        // One second for the largest; the others are to show how it grows.
        vec![Row::new(format!("translate_ms/{}", self.ingresses), "ms").target(1000.0)]
    }

    pub(crate) fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let mut resources = Resources::default();
        for object in (0..self.ingresses).flat_map(application) {
            resources.apply(Object::from_value(object).context("an object of the benchmark")?);
        }
        // The folder's class comes with the controller, as in `sluice run`.
        let options = Options {
            class_is_implied: true,
            ..Options::default()
        };
        let mut millis = Vec::new();
        for _ in 0..effort.rounds {
            let start = Instant::now();
            let translation = translate(&resources, &options);
            millis.push(start.elapsed().as_secs_f64() * 1e3);
            let backends = translation.config().backends.len();
            ensure!(
                backends == self.ingresses,
                "expected {} backends, got {backends}",
                self.ingresses
            );
        }
        Ok(self
            .rows()
            .into_iter()
            .map(|row| row.measured(median(&millis), millis.len()))
            .collect())
    }
}
