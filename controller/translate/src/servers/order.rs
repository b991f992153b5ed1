//! Which Ingresses count, and in which order.

use k8s_openapi::api::networking::v1::Ingress;

use crate::claims::age;
use crate::class::{Classes, Verdict};
use crate::report::Reporter;
use crate::{Kind, ObjectRef, Options, Report, Resources, Severity};

/// The Ingresses of our class and namespace, oldest first; of the same age by name, the last first.
pub(crate) fn ours<'a>(
    resources: &'a Resources,
    options: &Options,
    reports: &mut Vec<Report>,
) -> Vec<&'a Ingress> {
    let classes = Classes::of(resources, options);
    let mut ours = Vec::new();
    for (key, ingress) in &resources.ingresses {
        if options.watch_namespace.as_ref().is_some_and(|watched| *watched != key.namespace) {
            continue;
        }
        match classes.judge(ingress) {
            Verdict::Ours => ours.push(ingress.as_ref()),
            Verdict::Foreign { field, reason } => {
                let object = ObjectRef { kind: Kind::Ingress, key: key.clone() };
                Reporter::new(object, reports).say(Severity::Note, field, reason, "left to its controller");
            }
        }
    }
    ours.sort_by_cached_key(|ingress| age(ingress));
    ours
}
