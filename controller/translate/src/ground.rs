//! What all islands stand on. When it changes, everything is translated again.

use k8s_openapi::api::networking::v1::Ingress;
use sluice_ir::{BackendId, Edge};

use crate::backends::{Named, Rank, Turn, Uses};
use crate::class::{Classes, Verdict};
use crate::global::Globals;
use crate::object::key_of;
use crate::servers::default_backend;
use crate::{Kind, ObjectRef, Options, Report, Resources, Severity};

/// The ConfigMap, the classes and the default backend.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ground {
    pub(crate) globals: Globals,
    classes: Classes,
    pub(crate) fallback: Option<BackendId>,
    pub(crate) named: Vec<(Rank, Named)>,
    pub(crate) reports: Vec<Report>,
}

/// Who serves an Ingress.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "taken apart where it is made")]
pub(crate) enum Whose {
    Ours,
    /// Somebody else's; its owner should know.
    Theirs(Report),
    /// Of a namespace that is not looked at.
    Unwatched,
}

impl Ground {
    pub(crate) fn of(resources: &Resources, options: &Options) -> Self {
        let mut reports = Vec::new();
        let globals = Globals::of(resources, options, &mut reports);
        let mut uses = Uses::new(&globals.transport);
        uses.turn(Turn::Flags);
        let fallback = default_backend(options, &globals, &mut uses);
        Ground { globals, classes: Classes::of(resources, options), fallback, named: uses.named, reports }
    }

    pub(crate) fn edge(&self) -> Edge {
        Edge { largest_body: self.globals.largest_body, ..self.globals.edge.clone() }
    }

    /// Whose an Ingress is.
    pub(crate) fn judge(&self, ingress: &Ingress, options: &Options) -> Whose {
        let key = key_of(&ingress.metadata);
        if options.watch_namespace.as_ref().is_some_and(|watched| *watched != key.namespace) {
            return Whose::Unwatched;
        }
        match self.classes.judge(ingress, options) {
            Verdict::Ours => Whose::Ours,
            Verdict::Foreign { field, reason } => {
                let object = ObjectRef { kind: Kind::Ingress, key };
                Whose::Theirs(Report::new(object, Severity::Note, field, reason, "left to its controller"))
            }
        }
    }
}
