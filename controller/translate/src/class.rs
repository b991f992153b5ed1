//! Which Ingresses are ours.
//!
//! The first of these decides, as in ingress-nginx: `spec.ingressClassName`, if IngressClasses can be read; the
//! annotation `kubernetes.io/ingress.class`, where an empty value is a value; `--watch-ingress-without-class`.

use std::collections::BTreeSet;

use k8s_openapi::api::networking::v1::Ingress;

use crate::object::shortened;
use crate::{Options, Resources};

/// The annotation that named a class before `spec.ingressClassName` did.
pub const ANNOTATION: &str = "kubernetes.io/ingress.class";

/// Whether this controller serves an Ingress, by the IngressClasses that `resources` holds.
#[must_use]
pub fn is_ours(ingress: &Ingress, resources: &Resources, options: &Options) -> bool {
    Classes::of(resources, options).judge(ingress) == Verdict::Ours
}

/// The answer for one Ingress.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ours,
    /// Somebody else's, and why, in a report's words.
    Foreign {
        field: &'static str,
        reason: String,
    },
}

/// The IngressClasses that this controller serves.
pub(crate) struct Classes<'a> {
    /// `None`: they cannot be read.
    served: Option<BTreeSet<&'a str>>,
    options: &'a Options,
}

impl<'a> Classes<'a> {
    pub(crate) fn of(resources: &'a Resources, options: &'a Options) -> Self {
        let served = resources.ingress_classes_are_readable().then(|| served(resources, options));
        Classes { served, options }
    }

    pub(crate) fn judge(&self, ingress: &Ingress) -> Verdict {
        let class_name = ingress.spec.as_ref().and_then(|spec| spec.ingress_class_name.as_deref());
        if let (Some(name), Some(served)) = (class_name, &self.served) {
            return if served.contains(name) { Verdict::Ours } else { self.unknown_class(name) };
        }
        let annotation = ingress.metadata.annotations.as_ref().and_then(|all| all.get(ANNOTATION));
        match annotation {
            Some(value) if *value == self.options.ingress_class => Verdict::Ours,
            Some(value) => Verdict::Foreign {
                field: "annotation kubernetes.io/ingress.class",
                reason: format!("expected {:?}, got {:?}", self.options.ingress_class, shortened(value)),
            },
            None if self.options.watch_ingress_without_class => Verdict::Ours,
            None => Verdict::Foreign {
                field: "spec.ingressClassName",
                reason: "expected a class, got none (and --watch-ingress-without-class is off)".to_owned(),
            },
        }
    }

    fn unknown_class(&self, name: &str) -> Verdict {
        let wanted = &self.options.controller_class;
        Verdict::Foreign {
            field: "spec.ingressClassName",
            reason: format!("expected an IngressClass with controller {wanted:?}, got {:?}", shortened(name)),
        }
    }
}

fn served<'a>(resources: &'a Resources, options: &'a Options) -> BTreeSet<&'a str> {
    if resources.ingress_classes.is_empty() && options.class_is_implied {
        return BTreeSet::from([options.ingress_class.as_str()]);
    }
    let ours = |name: &str, controller: Option<&str>| {
        controller == Some(options.controller_class.as_str())
            || (options.ingress_class_by_name && name == options.ingress_class)
    };
    let classes = resources.ingress_classes.iter();
    classes
        .filter(|(key, class)| {
            ours(&key.name, class.spec.as_ref().and_then(|spec| spec.controller.as_deref()))
        })
        .map(|(key, _)| key.name.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Object;
    use serde_json::json;

    fn ingress(class_name: Option<&str>, annotation: Option<&str>) -> Ingress {
        let annotations = annotation.map(|value| json!({ ANNOTATION: value }));
        let object = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": "a", "annotations": annotations},
            "spec": {"ingressClassName": class_name},
        });
        match Object::from_value(object).unwrap() {
            Object::Ingress(ingress) => *ingress,
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
        let options = Options { watch_ingress_without_class: without_class, ..Options::default() };
        Classes::of(&resources, &options).judge(&ingress(class_name, annotation)) == Verdict::Ours
    }

    /// The table of `controller.md` section 2.
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
