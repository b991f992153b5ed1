//! Settings that all Ingresses share. When they change, everything is translated again.

use sluice_ir::{BackendId, GlobalConfig, ReasonCode};
use sluice_translate_engine::{
    BackendRefs, Ingress, Kind, ObjectRef, PrecedenceTier, Report, Severity, SharedInputs,
};

use crate::annotations::CATALOGUES;
use crate::class::{ClassDecision, Classes};
use crate::global::Globals;
use crate::servers::default_backend;
use crate::{Options, Resources};

/// The ConfigMap, the classes and the default backend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub(crate) globals: Globals,
    classes: Classes,
    pub(crate) fallback: Option<BackendId>,
}

/// Match of an Ingress against what this controller serves.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "taken apart where it is made")]
pub(crate) enum ClassMatch {
    Ours,
    /// Of an IngressClass that another controller serves; its owner should know.
    OtherClass(Report),
    /// Of a namespace that is not watched.
    Unwatched,
}

impl Settings {
    /// Reads the settings, and what follows from them for every listener.
    pub(crate) fn read(resources: &Resources, options: &Options) -> SharedInputs<Settings> {
        let mut reports = Vec::new();
        let globals = Globals::read(&resources.cluster, options, CATALOGUES, &mut reports);
        let mut backend_refs = BackendRefs::new(&globals.upstream.transport);
        backend_refs.set_tier(PrecedenceTier::Flags);
        let fallback = default_backend(options, &globals, &mut backend_refs);
        let global = GlobalConfig {
            max_body_size: globals.limits.largest_body,
            ..globals.config.clone()
        };
        let settings = Settings {
            globals,
            classes: Classes::read(resources, options),
            fallback,
        };
        SharedInputs {
            settings,
            global,
            backend_refs: backend_refs.into_refs(),
            reports,
        }
    }

    /// Matches an Ingress against the classes and the namespace that are served.
    pub(crate) fn class_match(&self, ingress: &Ingress, options: &Options) -> ClassMatch {
        let key = ingress.key();
        if options
            .watch_namespace
            .as_ref()
            .is_some_and(|watched| **watched != *key.namespace)
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
                    ReasonCode::NoEffect,
                    Severity::Note,
                    field,
                    reason,
                    "left to its controller",
                ))
            }
        }
    }
}
