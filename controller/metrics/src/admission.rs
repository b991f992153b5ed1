//! Results and durations of admission reviews.

use std::sync::Arc;
use std::time::Duration;

use prometheus::{Gauge, IntCounterVec, Registry};
use sluice_translate as translate;

use super::cap::{Cap, OTHER};
use super::controller::{opts, register};

/// Ingresses that are counted by name: anybody who may create one can invent names.
const MOST_INGRESSES: usize = 10_000;
/// No name of an object is longer. Longer ones are not from the API server, and are not kept.
const LONGEST_NAME: usize = 253;

/// The handles are shared with the registry.
#[derive(Clone)]
pub struct Admission(Arc<Families>);

struct Families {
    success: IntCounterVec,
    errors: IntCounterVec,
    tested: Gauge,
    tested_duration: Gauge,
    rendered: Gauge,
    render_duration: Gauge,
    config_size: Gauge,
    roundtrip_duration: Gauge,
    names: Cap,
}

impl Admission {
    pub(super) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let gauge =
            |name: &str, help: &str| register(registry, Gauge::with_opts(opts(name, help))?);
        let counter = |name: &str, help: &str| {
            register(
                registry,
                IntCounterVec::new(opts(name, help), &["namespace", "ingress"])?,
            )
        };
        Ok(Admission(Arc::new(Families {
            success: counter("check_success", "Ingresses that admission let in")?,
            errors: counter("check_errors", "Ingresses that admission refused")?,
            tested: gauge(
                "admission_tested_ingresses",
                "Ingresses that the last question was judged with",
            )?,
            tested_duration: gauge(
                "admission_tested_duration",
                "Seconds that the last judgement took",
            )?,
            rendered: gauge(
                "admission_render_ingresses",
                "Ingresses that the last question translated",
            )?,
            render_duration: gauge(
                "admission_render_duration",
                "Seconds that the last question's translation took; judging is translating",
            )?,
            config_size: gauge(
                "admission_config_size",
                "Bytes of what the last question's Ingresses were translated to",
            )?,
            roundtrip_duration: gauge(
                "admission_roundtrip_duration",
                "Seconds from the last question to its answer",
            )?,
            names: Cap::new(MOST_INGRESSES),
        })))
    }

    /// An Ingress has been judged.
    pub fn checked(
        &self,
        namespace: &str,
        ingress: &str,
        admission: &translate::Admission,
        took: Duration,
    ) {
        let families = &self.0;
        let counter = if admission.is_allowed() {
            &families.success
        } else {
            &families.errors
        };
        let are_names = [namespace, ingress]
            .iter()
            .all(|name| name.len() <= LONGEST_NAME);
        let known = are_names && families.names.admits(&[namespace, ingress]);
        let labels = if known {
            [namespace, ingress]
        } else {
            [OTHER, OTHER]
        };
        counter.with_label_values(&labels).inc();
        let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
        for ingresses in [&families.tested, &families.rendered] {
            ingresses.set(count(admission.looked_at));
        }
        for duration in [&families.tested_duration, &families.render_duration] {
            duration.set(took.as_secs_f64());
        }
        families.config_size.set(count(admission.config_bytes));
    }

    /// A question has been answered.
    pub fn answered(&self, took: Duration) {
        self.0.roundtrip_duration.set(took.as_secs_f64());
    }
}
