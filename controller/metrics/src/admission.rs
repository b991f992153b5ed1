//! Results and durations of admission reviews.

use std::sync::Arc;
use std::time::Duration;

use prometheus::Gauge;
use sluice_translate as translate;

use super::budget;
use super::label::Label;
use super::registry::Registry;
use super::series::{Family, Limit, Series};

/// No name of an object is longer. Longer ones are not from the API server, and are not kept.
const LONGEST_NAME: usize = 253;

/// The handles are shared with the registry.
#[derive(Clone)]
pub struct Admission(Arc<Inner>);

struct Inner {
    /// Limited: anybody who may create an Ingress can invent names.
    checks: Series<2, Checks>,
    tested: Gauge,
    tested_duration: Gauge,
    rendered: Gauge,
    render_duration: Gauge,
    config_size: Gauge,
    roundtrip_duration: Gauge,
}

/// Results for one Ingress.
#[derive(Clone, Default)]
struct Checks {
    success: u64,
    errors: u64,
}

/// One that did not happen is no series.
fn if_any(count: u64) -> Option<u64> {
    (count > 0).then_some(count)
}

impl Admission {
    pub(super) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let success = "Ingresses that admission let in";
        let errors = "Ingresses that admission refused";
        let checks = vec![
            Family::counter("check_success", success, |row: &Checks| if_any(row.success)),
            Family::counter("check_errors", errors, |row: &Checks| if_any(row.errors)),
        ];
        Ok(Admission(Arc::new(Inner {
            checks: Series::register(registry, ["namespace", "ingress"], checks)?
                .limited(Limit::by_namespace(budget::ADMISSION)),
            tested: registry.gauge(
                "admission_tested_ingresses",
                "Ingresses that the last question was judged with",
            )?,
            tested_duration: registry.gauge(
                "admission_tested_duration",
                "Seconds that the last judgement took",
            )?,
            rendered: registry.gauge(
                "admission_render_ingresses",
                "Ingresses that the last question translated",
            )?,
            render_duration: registry.gauge(
                "admission_render_duration",
                "Seconds that the last question's translation took; judging is translating",
            )?,
            config_size: registry.gauge(
                "admission_config_size",
                "Bytes of what the last question's Ingresses were translated to",
            )?,
            roundtrip_duration: registry.gauge(
                "admission_roundtrip_duration",
                "Seconds from the last question to its answer",
            )?,
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
        let inner = &self.0;
        let are_names = [namespace, ingress]
            .iter()
            .all(|name| name.len() <= LONGEST_NAME);
        let labels = if are_names {
            [Label::of(namespace), Label::of(ingress)]
        } else {
            Label::others()
        };
        inner.checks.change(labels, |row| {
            if admission.is_allowed() {
                row.success += 1;
            } else {
                row.errors += 1;
            }
        });
        let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
        for ingresses in [&inner.tested, &inner.rendered] {
            ingresses.set(count(admission.looked_at));
        }
        for duration in [&inner.tested_duration, &inner.render_duration] {
            duration.set(took.as_secs_f64());
        }
        inner.config_size.set(count(admission.config_bytes));
    }

    /// A question has been answered.
    pub fn answered(&self, took: Duration) {
        self.0.roundtrip_duration.set(took.as_secs_f64());
    }
}
