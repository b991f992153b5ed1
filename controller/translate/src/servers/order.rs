//! Which Ingresses count, and in which order.

use std::cmp::Reverse;

use k8s_openapi::api::networking::v1::Ingress;

use crate::class::{Classes, Verdict};
use crate::report::Reporter;
use crate::{Kind, ObjectRef, Options, Report, Resources, Severity};

/// The Ingresses of our class and namespace, oldest first; of the same age by name, the last first.
pub(super) fn ours<'a>(
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
            Verdict::Ours => ours.push((ingress.metadata.creation_timestamp.as_ref(), Reverse(key), ingress)),
            Verdict::Foreign { field, reason } => {
                let object = ObjectRef { kind: Kind::Ingress, key: key.clone() };
                Reporter::new(object, reports).say(Severity::Note, field, reason, "left to its controller");
            }
        }
    }
    ours.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    ours.into_iter().map(|(_, _, ingress)| ingress.as_ref()).collect()
}
