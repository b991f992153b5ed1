//! Routes of a virtual host.

use std::sync::Arc;

use serde::Serialize;

use crate::{
    BackendId, CanaryRules, Destination, DirectResponse, ErrorPages, Filter, Header, HeaderVariant,
    HttpsRedirect, IpAccess, PathMatch, PathRewrite, Policy, Redirect, RegexScope, RouteMatch,
    ServerName, Template, is_default,
};

/// Requests of a server that are treated alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HttpRoute {
    /// The name that the data plane's route carries and the filter looks up.
    pub id: RouteId,
    /// Requests that it takes.
    #[serde(flatten)]
    pub matches: RouteMatch,
    /// Responses before the action.
    #[serde(skip_serializing_if = "is_default")]
    pub direct_responses: Vec<DirectResponse>,
    /// Action on these requests.
    pub action: Action,
    /// Backend of requests over https, if it is not that of [`Action::Forward`].
    #[serde(skip_serializing_if = "is_default")]
    pub https_backend: Option<BackendId>,
    /// Canaries: the first one whose rules select it gets the request.
    #[serde(skip_serializing_if = "is_default")]
    pub canaries: Vec<Canary>,
    /// Sessions with a pod may begin here: the path of their cookie, if that says no other. Elsewhere they only go on.
    #[serde(skip_serializing_if = "is_default")]
    pub session_path: Option<Box<str>>,
    /// Its pods are missing, so an error service is asked, and told this.
    #[serde(skip_serializing_if = "is_default")]
    pub error_request: Option<Box<ErrorRequest>>,
    /// Responses that an error service replaces.
    #[serde(skip_serializing_if = "is_default")]
    pub error_pages: Option<Box<ErrorPages>>,
    /// Redirect of plain http.
    #[serde(skip_serializing_if = "is_default")]
    pub https_redirect: Option<HttpsRedirect>,
    /// Names of the server at which plain http is served nevertheless: the redirect is for names with a certificate.
    #[serde(skip_serializing_if = "is_default")]
    pub plain_http_at: Box<[ServerName]>,
    /// Path that the upstream sees instead; the query stays.
    #[serde(skip_serializing_if = "is_default")]
    pub rewrite: Option<PathRewrite>,
    /// `X-Forwarded-Prefix` that the upstream hears of where the path is rewritten, with the groups of [`PathMatch::Regex`].
    #[serde(skip_serializing_if = "is_default")]
    pub forwarded_prefix: Option<Template>,
    /// Modifications of requests and responses, in order.
    #[serde(skip_serializing_if = "is_default")]
    pub filters: Vec<Filter>,
    /// Changes of response headers in place of those by `filters`, for some requests: of those whose conditions hold, the first.
    #[serde(skip_serializing_if = "is_default")]
    pub header_variants: Vec<HeaderVariant>,
    /// Policies, which routes of one owner share.
    #[serde(skip_serializing_if = "is_default")]
    pub policy: Arc<Policy>,
    /// The operator's, on every server alike.
    #[serde(skip_serializing_if = "is_default")]
    pub of_operator: bool,
}

impl HttpRoute {
    /// A route for requests with this path, identified by it: no other route of the server has the same path.
    #[must_use]
    pub fn new(server: &ServerName, path: PathMatch, action: Action, policy: Arc<Policy>) -> Self {
        let id = RouteId::from_path(server, &path);
        let canaries = Vec::new();
        HttpRoute {
            id,
            matches: RouteMatch::path(path),
            direct_responses: Vec::new(),
            action,
            https_backend: None,
            canaries,
            session_path: None,
            error_request: None,
            error_pages: None,
            https_redirect: None,
            plain_http_at: Box::default(),
            rewrite: None,
            forwarded_prefix: None,
            filters: Vec::new(),
            header_variants: Vec::new(),
            policy,
            of_operator: false,
        }
    }

    /// True if not everybody may get through: what is behind it must not take its requests.
    #[must_use]
    pub fn has_access_control(&self) -> bool {
        self.action == Action::Denied
            || self.policy.authentication.is_some()
            || self.policy.ip_access != IpAccess::default()
            || !self.direct_responses.is_empty()
            || self.policy.rejects_attacks()
    }

    /// True if everything that keeps requests from this other route keeps them from this one, in the same way.
    #[must_use]
    pub fn is_guarded_as(&self, other: &HttpRoute) -> bool {
        let (own, asked) = (&*self.policy, &*other.policy);
        let blocks = other.policy.rejects_attacks();
        (other.action != Action::Denied || self.action == Action::Denied)
            && (asked.authentication.is_none() || own.authentication == asked.authentication)
            && (asked.ip_access == IpAccess::default() || own.ip_access == asked.ip_access)
            && (other.direct_responses.is_empty()
                || self.direct_responses == other.direct_responses)
            && (!blocks || own.waf == asked.waf)
    }

    /// True if a client whom an upstream answers 401 is sent to the sign-in page of `auth-signin`, as one whom the authentication
    /// service refuses: ingress-nginx does so where `custom-http-errors` has it look at responses of upstreams, for whatever statuses.
    #[must_use]
    pub fn signs_in_again(&self) -> bool {
        let authentication = self.policy.authentication.as_ref();
        let external = authentication.and_then(|authentication| authentication.external.as_ref());
        let pages = self.error_pages.as_ref();
        external.is_some_and(|external| external.signin_url.is_some())
            && pages.is_some_and(|pages| !pages.keeps_upstreams)
    }

    /// Backends of a route that forwards.
    #[must_use]
    pub fn destination(&self) -> Option<&Destination> {
        self.action.destination()
    }

    /// The primary backend of a route that forwards.
    #[must_use]
    pub fn primary_backend(&self) -> Option<&BackendId> {
        self.destination().map(Destination::primary)
    }

    /// All backends that its requests, copies of them, or questions about them may be sent to.
    pub fn backends(&self) -> impl Iterator<Item = &BackendId> {
        let own = self
            .destination()
            .map_or(&[][..], Destination::backends)
            .iter()
            .map(|weighted| &weighted.backend);
        let errors = self
            .error_pages
            .as_ref()
            .and_then(|pages| pages.backend.as_ref());
        let mirrors = self.policy.mirrors.iter().map(|mirror| &mirror.backend);
        let external = self
            .policy
            .authentication
            .as_ref()
            .and_then(|authentication| authentication.external.as_ref());
        let external = external.and_then(|external| external.backend.as_ref());
        let canaries = self.canaries.iter().flat_map(Canary::backends);
        let others = [self.https_backend.as_ref(), errors, external];
        own.chain(others.into_iter().flatten())
            .chain(mirrors)
            .chain(canaries)
    }
}

/// A second backend of a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Canary {
    /// Backend of the canary, with the transport that the primary backend of the route has.
    pub backend: BackendId,
    /// Backend of its requests over https, with the transport of [`HttpRoute::https_backend`] where the route has that.
    #[serde(skip_serializing_if = "is_default")]
    pub https_backend: Option<BackendId>,
    /// Rules that select it.
    pub rules: CanaryRules,
    /// Sessions that the main backend keeps with a pod stay with this backend, too.
    pub sticky: bool,
}

impl Canary {
    /// Its backend, and that of its requests over https if it has one of its own.
    pub fn backends(&self) -> impl Iterator<Item = &BackendId> {
        std::iter::once(&self.backend).chain(&self.https_backend)
    }
}

/// Request for an error service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorRequest {
    /// Status that the client would have got.
    pub status: u16,
    /// Request headers that describe the route.
    #[serde(skip_serializing_if = "is_default")]
    pub headers: Vec<Header>,
}

/// Id of a route, unique in a configuration. Data planes carry it; the filter and metrics look it up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RouteId(Arc<str>);

/// Routes of our own, to error services and mirrors, begin with it.
const INTERNAL_ROUTE: char = '!';

impl RouteId {
    /// An id as an input chooses it; different texts give different ids. A leading `!` is escaped: such are internal routes.
    #[must_use]
    pub fn new(text: &str) -> Self {
        RouteId(match text.chars().next() {
            Some(INTERNAL_ROUTE) => format!("%21{}", &text[1..]).into(),
            Some('%') => format!("%25{}", &text[1..]).into(),
            _ => text.into(),
        })
    }

    /// Requests to an error service.
    #[must_use]
    pub fn error_service(service: &BackendId) -> Self {
        RouteId(format!("{INTERNAL_ROUTE}errors {service}").into())
    }

    /// Copies of requests.
    #[must_use]
    pub fn mirror(backend: &BackendId) -> Self {
        RouteId(format!("{INTERNAL_ROUTE}copies {backend}").into())
    }

    /// The only route of a server with this path. A host name holds none of `=`, `~` and `/`, so the parts cannot run into each
    /// other.
    #[must_use]
    pub fn from_path(server: &ServerName, path: &PathMatch) -> Self {
        let text = match path {
            PathMatch::Exact(path) => format!("{server}={path}"),
            PathMatch::Prefix(path) => format!("{server}{path}"),
            PathMatch::Regex(regex) => {
                let sign = match regex.scope {
                    RegexScope::Beginning => "~",
                    RegexScope::Anywhere => "=~",
                    RegexScope::AnywhereInAnyCase => "=~*",
                };
                let conditions = regex.conditions.iter().map(ToString::to_string);
                let conditions: String = conditions.collect();
                format!("{server}{sign}{conditions}{}", regex.pattern)
            }
        };
        RouteId(text.into())
    }

    /// The id as the data plane and the filter see it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Action of a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Sends it to a backend.
    Forward(Destination),
    /// Answers 503: something that guards access to this route cannot be honoured, so nothing gets through.
    Denied,
    /// Answers that it is elsewhere.
    Redirect(Box<Redirect>),
    /// Answers with this status once all policies of the route have let the request through: the data plane answers
    /// in the place of a backend.
    Respond(u16),
}

impl Action {
    /// Sends all requests to one backend.
    #[must_use]
    pub fn to(backend: BackendId) -> Self {
        Action::Forward(backend.into())
    }

    /// Backends that it forwards to.
    #[must_use]
    pub fn destination(&self) -> Option<&Destination> {
        match self {
            Action::Forward(destination) => Some(destination),
            Action::Denied | Action::Redirect(_) | Action::Respond(_) => None,
        }
    }

    /// True if policies of the route apply: access control, limits, CORS, error pages.
    #[must_use]
    pub fn has_policies(&self) -> bool {
        matches!(self, Action::Forward(_) | Action::Respond(_))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_prefix_and_an_exact_path_have_different_ids() {
        let host = ServerName::parse("a.b").unwrap();
        let exact = RouteId::from_path(&host, &PathMatch::Exact("/x".into()));
        let prefix = RouteId::from_path(&host, &PathMatch::Prefix("/x".into()));
        assert_ne!(exact, prefix);
    }

    #[test]
    fn different_texts_are_different_ids_and_none_is_an_internal_route() {
        let texts = ["!a", "%21a", "%2521a", "%25!a", "a!", "a%21", "%", "!", ""];
        let ids: BTreeSet<RouteId> = texts.iter().map(|text| RouteId::new(text)).collect();
        assert_eq!(ids.len(), texts.len());
        let backend = BackendId::new("a");
        for internal in [RouteId::error_service(&backend), RouteId::mirror(&backend)] {
            assert!(internal.as_str().starts_with(INTERNAL_ROUTE));
            assert!(!ids.contains(&internal));
        }
        let other = BackendId::new("copies a");
        assert_ne!(RouteId::error_service(&other), RouteId::mirror(&backend));
        assert!(
            ids.iter()
                .all(|id| !id.as_str().starts_with(INTERNAL_ROUTE))
        );
    }
}
