//! Ingresses of our classes.
//!
//! The first of these decides, as in ingress-nginx: `spec.ingressClassName`, if IngressClasses can be read; the annotation
//! `kubernetes.io/ingress.class`, where an empty value is a value; `--watch-ingress-without-class`.

use std::collections::BTreeSet;

use sluice_syntax::shortened;
use sluice_translate_engine::Ingress;

use crate::{Options, Resources};

/// The annotation that named a class before `spec.ingressClassName` did.
const ANNOTATION: &str = "kubernetes.io/ingress.class";

/// True if an Ingress is this controller's, by its namespace and the IngressClasses in `resources`.
#[must_use]
pub fn is_ours(ingress: &Ingress, resources: &Resources, options: &Options) -> bool {
    let (name, annotation) = (name_of(ingress), annotation_of(ingress));
    is_ours_by(ingress.namespace(), name, annotation, resources, options)
}

/// The number of all Ingresses, if there are any and none is this controller's.
#[must_use]
pub fn left_to_others(resources: &Resources, options: &Options) -> Option<usize> {
    let classes = Classes::read(resources, options);
    let is_ours = |ingress: &Ingress| {
        is_watched(ingress.namespace(), options)
            && classes.judge(ingress, options) == ClassDecision::Ours
    };
    let all = resources.ingresses.values();
    let is_any_ours = all.clone().any(|ingress| is_ours(ingress));
    Some(all.count()).filter(|count| *count > 0 && !is_any_ours)
}

/// All of an Ingress, but for its namespace, that decides whether it is ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedClass {
    name: Option<Box<str>>,
    annotation: Option<Box<str>>,
}

impl RequestedClass {
    /// The class that an Ingress asks for.
    #[must_use]
    pub fn of(ingress: &Ingress) -> Self {
        RequestedClass {
            name: name_of(ingress).map(Box::from),
            annotation: annotation_of(ingress).map(Box::from),
        }
    }

    /// As [`is_ours`], of an Ingress in this namespace.
    #[must_use]
    pub fn is_ours(&self, namespace: &str, resources: &Resources, options: &Options) -> bool {
        let (name, annotation) = (self.name.as_deref(), self.annotation.as_deref());
        is_ours_by(namespace, name, annotation, resources, options)
    }
}

fn name_of(ingress: &Ingress) -> Option<&str> {
    ingress.spec.as_ref()?.ingress_class_name.as_deref()
}

fn annotation_of(ingress: &Ingress) -> Option<&str> {
    ingress.annotations.get(ANNOTATION)
}

fn is_ours_by(
    namespace: &str,
    name: Option<&str>,
    annotation: Option<&str>,
    resources: &Resources,
    options: &Options,
) -> bool {
    is_watched(namespace, options)
        && Classes::read(resources, options).decide(name, annotation, options)
            == ClassDecision::Ours
}

fn is_watched(namespace: &str, options: &Options) -> bool {
    let watched = options.watch_namespace.as_ref();
    watched.is_none_or(|watched| watched == namespace)
}

/// The answer for one Ingress.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ClassDecision {
    Ours,
    /// Of an IngressClass that another controller serves, and why, in a report's words.
    OtherClass {
        field: &'static str,
        reason: String,
    },
}

/// The IngressClasses that this controller serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Classes {
    /// `None`: they cannot be read.
    served: Option<BTreeSet<String>>,
}

impl Classes {
    pub(crate) fn read(resources: &Resources, options: &Options) -> Self {
        Classes {
            served: resources
                .ingress_classes_are_readable()
                .then(|| served(resources, options)),
        }
    }

    pub(crate) fn judge(&self, ingress: &Ingress, options: &Options) -> ClassDecision {
        self.decide(name_of(ingress), annotation_of(ingress), options)
    }

    fn decide(
        &self,
        name: Option<&str>,
        annotation: Option<&str>,
        options: &Options,
    ) -> ClassDecision {
        if let (Some(name), Some(served)) = (name, &self.served) {
            return if served.contains(name) {
                ClassDecision::Ours
            } else {
                unknown_class(name, options)
            };
        }
        match annotation {
            Some(value) if value == options.ingress_class => ClassDecision::Ours,
            Some(value) => ClassDecision::OtherClass {
                field: "annotation kubernetes.io/ingress.class",
                reason: format!(
                    "expected {:?}, got {:?}",
                    options.ingress_class,
                    shortened(value)
                ),
            },
            None if options.watch_ingress_without_class => ClassDecision::Ours,
            None => ClassDecision::OtherClass {
                field: "spec.ingressClassName",
                reason: "expected a class, got none (and --watch-ingress-without-class is off)"
                    .to_owned(),
            },
        }
    }
}

fn unknown_class(name: &str, options: &Options) -> ClassDecision {
    let wanted = &options.controller_class;
    ClassDecision::OtherClass {
        field: "spec.ingressClassName",
        reason: format!(
            "expected an IngressClass with controller {wanted:?}, got {:?}",
            shortened(name)
        ),
    }
}

fn served(resources: &Resources, options: &Options) -> BTreeSet<String> {
    if resources.ingress_classes.is_empty() && options.class_is_implied {
        return BTreeSet::from([options.ingress_class.clone()]);
    }
    let ours = |name: &str, controller: Option<&str>| {
        controller == Some(options.controller_class.as_str())
            || (options.ingress_class_by_name && name == options.ingress_class)
    };
    let classes = resources.ingress_classes.iter();
    classes
        .filter(|(key, class)| {
            ours(
                &key.name,
                class
                    .spec
                    .as_ref()
                    .and_then(|spec| spec.controller.as_deref()),
            )
        })
        .map(|(key, _)| key.name.to_string())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use sluice_translate_engine::Object;

    use super::*;

    fn ingress(class_name: Option<&str>, annotation: Option<&str>) -> Ingress {
        let annotations = annotation.map(|value| json!({ ANNOTATION: value }));
        let object = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": "a", "annotations": annotations},
            "spec": {"ingressClassName": class_name},
        });
        match Object::from_value(object).unwrap() {
            Object::Ingress(ingress) => Arc::unwrap_or_clone(ingress),
            other => panic!("{other:?}"),
        }
    }

    fn accepts(
        without_class: bool,
        forbidden: bool,
        class_name: Option<&str>,
        annotation: Option<&str>,
    ) -> bool {
        let mut resources = Resources::default();
        resources.apply(
            Object::from_value(json!({
                "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "known"},
                "spec": {"controller": "k8s.io/ingress-nginx"},
            }))
            .unwrap(),
        );
        if forbidden {
            resources.forbid_ingress_classes();
        }
        let options = Options {
            watch_ingress_without_class: without_class,
            ..Options::default()
        };
        Classes::read(&resources, &options).judge(&ingress(class_name, annotation), &options)
            == ClassDecision::Ours
    }

    #[test]
    fn ingresses_that_are_all_of_others_are_counted() {
        let mut resources = Resources::default();
        let count = |resources: &Resources, class: &str, watched: Option<&str>| {
            let options = Options {
                ingress_class: class.to_owned(),
                class_is_implied: true,
                watch_namespace: watched.map(str::to_owned),
                ..Options::default()
            };
            left_to_others(resources, &options)
        };
        assert_eq!(count(&resources, "zzz", None), None);
        resources.apply(Object::Ingress(Arc::new(ingress(Some("known"), None))));
        assert_eq!(count(&resources, "zzz", None), Some(1));
        assert_eq!(count(&resources, "known", None), None);
        assert_eq!(count(&resources, "known", Some("other")), Some(1));
    }

    /// ingress-nginx's order: field, annotation, flag.
    #[test]
    fn the_first_of_field_annotation_and_flag_decides() {
        assert!(accepts(false, false, Some("known"), None));
        assert!(!accepts(true, false, Some("unknown"), Some("nginx")));
        assert!(accepts(false, false, None, Some("nginx")));
        assert!(!accepts(true, false, None, Some("")));
        assert!(!accepts(true, false, None, Some("other")));
        assert!(accepts(true, false, None, None));
        assert!(!accepts(false, false, None, None));
        assert!(!accepts(false, true, Some("known"), None));
        assert!(accepts(false, true, Some("known"), Some("nginx")));
    }
}
