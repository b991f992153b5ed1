//! What an Ingress asks for, path by path.

use std::sync::Arc;

use k8s_openapi::api::networking::v1::IngressTLS;
use sluice_ir::{
    Action, BackendId, ErrorPages, HttpsRedirect, Location, PathMatch, Place, Policy, ServerName,
};

use crate::ObjectRef;
use crate::annotations::Annotations;
use crate::global::Globals;
use crate::path::PathType;

/// An Ingress that asks.
#[derive(Clone, Debug)]
pub(super) struct Author {
    pub(super) object: ObjectRef,
    pub(super) annotations: Arc<Annotations>,
    /// Its `tls` section.
    pub(super) tls: Arc<[IngressTLS]>,
}

impl Author {
    /// The same, with nothing let through.
    pub(super) fn closed(&self) -> Self {
        let annotations = Annotations { denied: true, ..Annotations::clone(&self.annotations) };
        Author { annotations: Arc::new(annotations), ..self.clone() }
    }
}

/// Where a location leads.
#[derive(Clone, Debug)]
pub(super) struct Lead {
    pub(super) action: Action,
    pub(super) for_https: Option<BackendId>,
    /// Who is asked when the pods are missing.
    pub(super) error_service: Option<BackendId>,
    pub(super) place: Place,
}

impl Lead {
    /// To no pods.
    pub(super) fn to(action: Action) -> Self {
        Lead { action, for_https: None, error_service: None, place: Place::default() }
    }
}

/// One path of one host.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) path: String,
    pub(super) kind: PathType,
    pub(super) lead: Lead,
    pub(super) annotations: Arc<Annotations>,
    pub(super) owner: ObjectRef,
    /// Where it is written.
    pub(super) field: String,
}

impl Claim {
    /// Everything below `/`.
    pub(super) fn root(lead: Lead, author: &Author, field: String) -> Self {
        Claim {
            path: "/".to_owned(),
            kind: PathType::Prefix,
            lead,
            annotations: Arc::clone(&author.annotations),
            owner: author.object.clone(),
            field,
        }
    }

    pub(super) fn is_pattern(&self) -> bool {
        self.annotations.paths.is_pattern(&self.path)
    }

    /// The location that it becomes, with the path that it has come to.
    pub(super) fn location(&self, server: &ServerName, path: PathMatch, host: &HostFacts<'_>) -> Location {
        let policy = self.policy(host);
        let Lead { action, for_https, error_service, place } = self.lead.clone();
        let sticky = self.annotations.backend.balance.affinity.is_some();
        let session_path = (sticky && matches!(action, Action::Forward(_))).then(|| self.path.clone());
        let statuses = &self.annotations.errors.statuses;
        let replaces = !statuses.is_empty() && matches!(action, Action::Forward(_));
        let error_pages = replaces.then(|| ErrorPages {
            statuses: statuses.clone(),
            backend: error_service.or_else(|| host.error_service.cloned()),
            place,
        });
        let location = Location::new(server, path, action, policy);
        Location { https: self.https(host), for_https, session_path, error_pages, ..location }
    }

    fn policy(&self, host: &HostFacts<'_>) -> Arc<Policy> {
        let policy = Arc::clone(&self.annotations.policy);
        let is_unguarded = |prefix: &String| self.path.starts_with(prefix.as_str());
        if policy.guard.is_none() || !host.globals.unguarded.iter().any(is_unguarded) {
            return policy;
        }
        Arc::new(Policy { guard: None, ..Policy::clone(&policy) })
    }

    /// As ingress-nginx: a redirect of its own and a closed location come first.
    fn https(&self, host: &HostFacts<'_>) -> Option<HttpsRedirect> {
        /// Clients know the port that everybody knows, not the one that is listened on.
        const HTTPS: u16 = 443;
        let wish = self.annotations.to_https;
        let asked_for = wish.always || (wish.with_certificate && host.has_certificate);
        let excepted = host.globals.plain_http.iter().any(|prefix| self.path.starts_with(prefix.as_str()));
        let redirected = asked_for && !excepted && matches!(self.lead.action, Action::Forward(_));
        redirected.then(|| HttpsRedirect {
            status: host.globals.redirect_status,
            keep_slash: wish.keep_slash,
            port: wish.name_port.then_some(HTTPS),
        })
    }
}

/// What claims need to know about their host.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostFacts<'a> {
    pub(super) has_certificate: bool,
    /// Who tells about errors where no annotation names somebody.
    pub(super) error_service: Option<&'a BackendId>,
    pub(super) globals: &'a Globals,
}
