//! Hosts that an Ingress closes beyond its own paths: what an annotation was to keep out of all of a host, no other path of the host
//! lets in.

use sluice_translate_engine::Ingress;

use super::catalogue::{self, Annotation, Role, Scope};
use super::intake::catalogue_name;
use super::snippets;
use super::view;

/// The share of a host that an annotation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// All that the namespace of the Ingress has of it.
    Namespace,
    /// All of it, where the namespace owns it.
    Host,
}

/// The share of its hosts that an Ingress closes, and the field at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostClosing {
    pub(crate) reach: Reach,
    pub(crate) field: String,
}

/// The share of a host that an annotation guards; `None`: no more than the paths of its Ingress, or nothing.
pub(super) fn reach(annotation: &Annotation) -> Option<Reach> {
    match (annotation.role, annotation.scope) {
        (Role::AccessControl, Scope::Host) => Some(Reach::Host),
        (Role::Snippet, _) if snippets::is_of_server(annotation.name) => Some(Reach::Namespace),
        (Role::AccessControl | Role::Snippet | Role::Plain | Role::Paths | Role::Narrows(_), _) => {
            None
        }
    }
}

impl HostClosing {
    /// The larger of two shares; of the same, the first.
    pub(super) fn widen(known: &mut Option<HostClosing>, reach: Reach, field: String) {
        if known.as_ref().is_none_or(|known| known.reach < reach) {
            *known = Some(HostClosing { reach, field });
        }
    }

    /// Of an Ingress whose annotations are not read. Their names say which of them are for more than its paths.
    pub(crate) fn of_unread(ingress: &Ingress, prefix: &str) -> Option<HostClosing> {
        if view::is_canary(ingress, prefix) {
            return None;
        }
        let names = ingress.annotations.iter().map(|(key, _)| key);
        let known = names.filter_map(|key| catalogue::find(catalogue_name(key, prefix)?));
        let reach = known.filter_map(reach).max()?;
        let field = "metadata.annotations".to_owned();
        Some(HostClosing { reach, field })
    }
}
