//! How long the validating webhook thinks about one Ingress among many others: what every `kubectl apply` waits for.

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use sluice_translate::{Object, Options, Resources, Rules, admit};

use crate::Effort;
use crate::applications::application;
use crate::row::{Measured, Row};
use crate::statistics::quantile;

/// ingress-nginx takes three seconds among a thousand, because it renders everything.
const TARGET: f64 = 5.0;
/// Questions in a round.
const QUESTIONS: usize = 200;

/// Among so many Ingresses.
pub(crate) struct Admission {
    pub(crate) ingresses: usize,
}

impl Admission {
    pub(crate) fn rows(&self) -> Vec<Row> {
        vec![Row::new(format!("admission_p99_ms/{}", self.ingresses), "ms").target(TARGET)]
    }

    pub(crate) fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let mut resources = Resources::default();
        for object in (0..self.ingresses).flat_map(application) {
            resources.apply(Object::from_value(object).context("an object of the benchmark")?);
        }
        let (options, rules) = (
            Options {
                class_is_implied: true,
                ..Options::default()
            },
            Rules::default(),
        );
        let mut millis = Vec::new();
        let numbers = (0..self.ingresses).cycle().step_by(31);
        let rounds = usize::try_from(effort.rounds)?;
        for number in numbers.take(rounds * QUESTIONS) {
            // One that is there already, as at an update; they have nothing in common but the cache.
            let [.., ingress] = application(number);
            let ingress = Object::from_value(ingress).context("an Ingress of the benchmark")?;
            let Object::Ingress(ingress) = ingress else {
                bail!("{} is no Ingress", ingress.reference())
            };
            let start = Instant::now();
            let admission = admit(&ingress, &resources, &options, &rules);
            millis.push(start.elapsed().as_secs_f64() * 1e3);
            ensure!(admission.is_allowed(), "{:?}", admission.errors);
        }
        let p99 = quantile(&millis, 0.99);
        Ok(self
            .rows()
            .into_iter()
            .map(|row| row.measured(p99, millis.len()))
            .collect())
    }
}
