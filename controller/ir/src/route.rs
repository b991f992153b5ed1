//! Virtual hosts and the locations under them.

use std::sync::Arc;

use serde::Serialize;

use crate::{
    BackendId, CanaryRules, ClientCertificates, ErrorContext, ErrorPages, HttpsRedirect, PathMatch,
    Policy, Redirect, ServerName, Template, is_default,
};

/// One virtual host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Server {
    /// Other names of it.
    #[serde(skip_serializing_if = "is_default")]
    pub aliases: Vec<ServerName>,
    /// Where a request for exactly `/` is sent, before anything else.
    #[serde(skip_serializing_if = "is_default")]
    pub app_root: Option<String>,
    /// What certificates of clients mean here; `None`: nobody is asked for one.
    #[serde(skip_serializing_if = "is_default")]
    pub client_certificates: Option<ClientCertificates>,
    /// Ciphers of TLS 1.2, as [`crate::ServerTls::ciphers`]; empty: those of all hosts.
    #[serde(skip_serializing_if = "is_default")]
    pub ciphers: Vec<String>,
    /// Whether its own order of ciphers counts and not the client's, where that is said.
    #[serde(skip_serializing_if = "is_default")]
    pub prefer_server_ciphers: Option<bool>,
    /// In the order they are tried: the first match wins. A request that matches none gets 404.
    pub routes: Vec<HttpRoute>,
}

impl Server {
    /// All names of it; its own is the first.
    pub fn names<'a>(&'a self, own: &'a ServerName) -> impl Iterator<Item = &'a ServerName> {
        std::iter::once(own).chain(&self.aliases)
    }
}

/// One path rule of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HttpRoute {
    /// The name that the data plane's route carries and the filter looks up.
    pub id: RouteId,
    /// Which paths it takes.
    pub path: PathMatch,
    /// What it does with them.
    pub action: Action,
    /// Where it is sent to when the client speaks https, if not where [`Action::Forward`] says.
    #[serde(skip_serializing_if = "is_default")]
    pub https_backend: Option<BackendId>,
    /// Second backends: the first whose rules say so gets the request.
    #[serde(skip_serializing_if = "is_default")]
    pub canaries: Vec<Canary>,
    /// Sessions with a pod may begin here: the path of their cookie, if that says no other. Elsewhere they only go on.
    #[serde(skip_serializing_if = "is_default")]
    pub session_path: Option<String>,
    /// Its pods are missing, so an error service is asked, and told this.
    #[serde(skip_serializing_if = "is_default")]
    pub error_request: Option<ErrorRequest>,
    /// Answers that clients do not get.
    #[serde(skip_serializing_if = "is_default")]
    pub error_pages: Option<ErrorPages>,
    /// What plain http is answered with instead.
    #[serde(skip_serializing_if = "is_default")]
    pub https_redirect: Option<HttpsRedirect>,
    /// What the path becomes before a pod sees it, with the groups of [`PathMatch::Regex`].
    #[serde(skip_serializing_if = "is_default")]
    pub rewrite: Option<Template>,
    /// What holds for them beside that. Locations of one Ingress share it.
    #[serde(skip_serializing_if = "is_default")]
    pub policy: Arc<Policy>,
}

impl HttpRoute {
    /// A location without anything special about it.
    #[must_use]
    pub fn new(server: &ServerName, path: PathMatch, action: Action, policy: Arc<Policy>) -> Self {
        let id = RouteId::new(server, &path);
        let canaries = Vec::new();
        HttpRoute {
            id,
            path,
            action,
            https_backend: None,
            canaries,
            session_path: None,
            error_request: None,
            error_pages: None,
            https_redirect: None,
            rewrite: None,
            policy,
        }
    }

    /// All backends that its requests, copies of them, or questions about them may be sent to.
    pub fn backends(&self) -> impl Iterator<Item = &BackendId> {
        let own = match &self.action {
            Action::Forward(id) => Some(id),
            Action::Denied | Action::Redirect(_) => None,
        };
        let errors = self
            .error_pages
            .as_ref()
            .and_then(|pages| pages.backend.as_ref());
        let mirror = self.policy.mirror.as_ref().map(|mirror| &mirror.backend);
        let question = self
            .policy
            .authentication
            .as_ref()
            .and_then(|guard| guard.external.as_ref());
        let question = question.and_then(|question| question.backend.as_ref());
        let canaries = self.canaries.iter().map(|canary| &canary.backend);
        let others = [own, self.https_backend.as_ref(), errors, mirror, question];
        others.into_iter().flatten().chain(canaries)
    }
}

/// A second backend of a location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Canary {
    /// Who gets the request.
    pub backend: BackendId,
    /// When.
    pub rules: CanaryRules,
    /// Sessions that the main backend keeps with a pod stay with this backend, too.
    pub sticky: bool,
}

/// What an error service is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorRequest {
    /// What the client would have got.
    pub status: u16,
    /// Where.
    pub place: ErrorContext,
}

/// Names a location: host, kind of match and path, which together are unique.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RouteId(String);

impl RouteId {
    /// A host name holds none of `=`, `~` and `/`, so the parts cannot run into each other.
    #[must_use]
    pub fn new(server: &ServerName, path: &PathMatch) -> Self {
        RouteId(match path {
            PathMatch::Exact(path) => format!("{server}={path}"),
            PathMatch::Prefix(path) => format!("{server}{path}"),
            PathMatch::Regex(regex) => format!("{server}~{}", regex.pattern),
        })
    }

    /// The id as the data plane and the filter see it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a location does with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Sends it to a backend of [`crate::Config::backends`].
    Forward(BackendId),
    /// Answers 503: something that guards access to this location cannot be honoured, so nothing gets through.
    Denied,
    /// Answers that it is elsewhere.
    Redirect(Redirect),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_and_an_exact_path_have_different_ids() {
        let host = ServerName::parse("a.b").unwrap();
        let exact = RouteId::new(&host, &PathMatch::Exact("/x".into()));
        let prefix = RouteId::new(&host, &PathMatch::Prefix("/x".into()));
        assert_ne!(exact, prefix);
    }
}
