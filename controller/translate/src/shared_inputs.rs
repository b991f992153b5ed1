//! Inputs that all route groups share. When they change, everything is translated again.

use k8s_openapi::api::networking::v1::Ingress;
use sluice_ir::{BackendId, GlobalConfig};

use crate::backends::{BackendRef, Precedence, PrecedenceTier, Uses};
use crate::class::{ClassDecision, Classes};
use crate::global::Globals;
use crate::object_ref::key_of;
use crate::servers::default_backend;
use crate::{Kind, ObjectRef, Options, Report, Resources, Severity};

/// The ConfigMap, the classes and the default backend.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SharedInputs {
    pub(crate) globals: Globals,
    classes: Classes,
    pub(crate) fallback: Option<BackendId>,
    pub(crate) backend_refs: Vec<(Precedence, BackendRef)>,
    pub(crate) reports: Vec<Report>,
}

/// Match of an Ingress against what this controller serves.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "taken apart where it is made")]
pub(crate) enum ClassMatch {
    Ours,
    /// Of an IngressClass that another controller serves; its owner should know.
    OtherClass(Report),
    /// Of a namespace that is not looked at.
    Unwatched,
}

impl SharedInputs {
    pub(crate) fn new(resources: &Resources, options: &Options) -> Self {
        let mut reports = Vec::new();
        let globals = Globals::of(resources, options, &mut reports);
        let mut uses = Uses::new(&globals.transport);
        uses.set_tier(PrecedenceTier::Flags);
        let fallback = default_backend(options, &globals, &mut uses);
        SharedInputs {
            globals,
            classes: Classes::of(resources, options),
            fallback,
            backend_refs: uses.backend_refs,
            reports,
        }
    }

    pub(crate) fn global(&self) -> GlobalConfig {
        GlobalConfig {
            max_body_size: self.globals.largest_body,
            ..self.globals.config.clone()
        }
    }

    /// ClassMatch an Ingress is.
    pub(crate) fn class_match(&self, ingress: &Ingress, options: &Options) -> ClassMatch {
        let key = key_of(&ingress.metadata);
        if options
            .watch_namespace
            .as_ref()
            .is_some_and(|watched| *watched != key.namespace)
        {
            return ClassMatch::Unwatched;
        }
        match self.classes.judge(ingress, options) {
            ClassDecision::Ours => ClassMatch::Ours,
            ClassDecision::OtherClass { field, reason } => {
                let object = ObjectRef {
                    kind: Kind::Ingress,
                    key,
                };
                ClassMatch::OtherClass(Report::new(
                    object,
                    Severity::Note,
                    field,
                    reason,
                    "left to its controller",
                ))
            }
        }
    }
}
