//! ConfigMaps that are not among the manifests, and are expected in the cluster.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sluice_translate::{
    Kind, Object, ObjectKey, ObjectRef, Options, Report, Resources, Translation, translate,
};

/// The translation as if every ConfigMap that is named were there and empty, and the reports of those that are not.
///
/// Without them, one that the controller's ConfigMap names may close every Ingress, and nothing else could be said of any.
pub(crate) fn translate_as_if_there(
    resources: &Resources,
    options: &Options,
) -> (Translation, Vec<Report>) {
    let mut completed = resources.clone();
    let (mut added, mut absences) = (BTreeSet::new(), Vec::new());
    loop {
        let translation = translate(&completed, options);
        let reports = translation.reports();
        let new: Vec<Report> = reports
            .into_iter()
            .filter(|report| absent(report).is_some_and(|object| !added.contains(object)))
            .cloned()
            .collect();
        if new.is_empty() {
            return (translation, absences);
        }
        for object in new.iter().filter_map(absent) {
            added.insert(object.clone());
            // A name that no object can have stays without one.
            if let Ok(object) = Object::from_value(empty(&object.key)) {
                completed.apply(object);
            }
        }
        absences.extend(new);
    }
}

fn empty(ObjectKey { namespace, name }: &ObjectKey) -> Value {
    let metadata = json!({"namespace": namespace, "name": name});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
}

fn absent(report: &Report) -> Option<&ObjectRef> {
    let missing = report.missing.as_ref();
    missing.filter(|object| object.kind == Kind::ConfigMap)
}
