//! Results and durations of admission reviews.

use std::sync::Arc;
use std::time::Duration;

use prometheus::Gauge;
use sluice_translate as translate;

use super::controller::{opts, register};
use super::label::Label;
use super::registry::Registry;
use super::series::{Family, Limit, Series};

/// No name of an object is longer. Longer ones are not from the API server, and are not kept.
const LONGEST_NAME: usize = 253;

/// Bytes of the page for results by name: those of some 3,000 Ingresses.
const ROOM: usize = 1_500_000;

/// The handles are shared with the registry.
#[derive(Clone)]
pub struct Admission(Arc<Families>);

struct Families {
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
fn some(count: u64) -> Option<u64> {
    (count > 0).then_some(count)
}

/// Labels of all Ingresses that have no row of their own.
fn others() -> [Label; 2] {
    [Label::other(), Label::other()]
}

impl Admission {
    pub(super) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let gauge =
            |name: &str, help: &str| register(registry, Gauge::with_opts(opts(name, help))?);
        let success = "Ingresses that admission let in";
        let errors = "Ingresses that admission refused";
        let checks = vec![
            Family::counter("check_success", success, |row: &Checks| some(row.success)),
            Family::counter("check_errors", errors, |row: &Checks| some(row.errors)),
        ];
        Ok(Admission(Arc::new(Families {
            checks: Series::register(registry, ["namespace", "ingress"], checks)?
                .limited(Limit::new(ROOM, |[namespace, _]| namespace, |_| others())),
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
        let are_names = [namespace, ingress]
            .iter()
            .all(|name| name.len() <= LONGEST_NAME);
        let labels = if are_names {
            [Label::of(namespace), Label::of(ingress)]
        } else {
            others()
        };
        families.checks.change(labels, |row| {
            if admission.is_allowed() {
                row.success += 1;
            } else {
                row.errors += 1;
            }
        });
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
