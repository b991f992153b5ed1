//! What an Ingress asks for, path by path.

use std::sync::Arc;

use sluice_ir::{Action, HttpsRedirect, Location, PathMatch, ServerName};

use crate::ObjectRef;
use crate::annotations::Annotations;
use crate::global::Globals;
use crate::path::PathType;

/// An Ingress that asks.
#[derive(Clone, Debug)]
pub(super) struct Author {
    pub(super) object: ObjectRef,
    pub(super) annotations: Arc<Annotations>,
    /// Whether it has a `tls` section, whatever is in it.
    pub(super) has_tls: bool,
}

/// One path of one host.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) path: String,
    pub(super) kind: PathType,
    pub(super) action: Action,
    pub(super) annotations: Arc<Annotations>,
    pub(super) owner: ObjectRef,
    /// Where it is written.
    pub(super) field: String,
}

impl Claim {
    /// Everything below `/`.
    pub(super) fn root(action: Action, author: &Author, field: String) -> Self {
        Claim {
            path: "/".to_owned(),
            kind: PathType::Prefix,
            action,
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
        let policy = Arc::clone(&self.annotations.policy);
        Location { https: self.https(host), ..Location::new(server, path, self.action.clone(), policy) }
    }

    /// As ingress-nginx: a redirect of its own and a closed location come first.
    fn https(&self, host: &HostFacts<'_>) -> Option<HttpsRedirect> {
        /// Clients know the port that everybody knows, not the one that is listened on.
        const HTTPS: u16 = 443;
        let wish = self.annotations.to_https;
        let asked_for = wish.always || (wish.with_certificate && host.has_certificate);
        let excepted = host.globals.plain_http.iter().any(|prefix| self.path.starts_with(prefix.as_str()));
        let redirected = asked_for && !excepted && matches!(self.action, Action::Forward(_));
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
    pub(super) globals: &'a Globals,
}
