//! Path rules of Ingresses, and the context of the Ingress that they are from.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_ir::{
    Action, BackendId, ErrorPages, Filter, HeaderModification, HttpRoute, HttpsRedirect, PathMatch,
    Policy, Protocol, Redirect, RedirectTo, ServerName,
};
use sluice_syntax::path::PathType;
use sluice_translate_engine::{ObjectRef, RouteOwner, Seniority};

use super::certified_names::CertifiedNames;
use super::closing::Closing;
use super::tls_entries::TlsEntries;
use crate::annotations::Annotations;
use crate::global::Globals;
use crate::route_names::RouteNames;
use crate::snippet::ServerSnippet;

/// An Ingress as it is read: its annotations, TLS entries and place in the order.
#[derive(Clone, Debug)]
pub(super) struct IngressContext {
    pub(super) object: ObjectRef,
    /// In the order in which Ingresses are read.
    pub(super) seniority: Seniority,
    pub(super) annotations: Arc<Annotations>,
    /// The same for each of its Services, where snippets name them.
    pub(super) by_service: Arc<BTreeMap<(String, String), Arc<Annotations>>>,
    /// Its `tls` section.
    pub(super) tls: Arc<TlsEntries>,
}

impl IngressContext {
    /// The same, with nothing let through.
    pub(super) fn closed(&self) -> Self {
        let annotations = Annotations {
            denied: true,
            ..Annotations::clone(&self.annotations)
        };
        IngressContext {
            annotations: Arc::new(annotations),
            by_service: Arc::default(),
            ..self.clone()
        }
    }
}

/// Target of a route.
#[derive(Clone, Debug)]
pub(super) struct RouteTarget {
    pub(super) action: Action,
    pub(super) for_https: Option<BackendId>,
    /// Error service for when no endpoint is available.
    pub(super) error_service: Option<BackendId>,
    /// Names of the route, if it leads to a Service.
    pub(super) names: Option<RouteNames>,
}

impl RouteTarget {
    /// A target without an upstream.
    pub(super) fn from_action(action: Action) -> Self {
        RouteTarget {
            action,
            for_https: None,
            error_service: None,
            names: None,
        }
    }
}

/// A route, and the path rule that it comes from if it comes from one.
pub(super) type RuleRoute<'a> = (HttpRoute, Option<&'a PathRule>);

/// Text that a path rule is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The rules of an Ingress, or its default backend.
    Ingress,
    /// A `location` of its `server-snippet`.
    ServerSnippet,
    /// A `location` of the ConfigMap's, which every namespace has. No report is about it.
    ConfigMap,
}

/// One path of one host.
#[derive(Clone, Debug)]
pub(super) struct PathRule {
    pub(super) path: String,
    pub(super) kind: PathType,
    pub(super) target: RouteTarget,
    pub(super) annotations: Arc<Annotations>,
    pub(super) owner: ObjectRef,
    /// Field of the Ingress that it is from.
    pub(super) field: String,
    /// The text there, if it is more than the path.
    pub(super) written: Option<String>,
    pub(super) origin: Origin,
    /// It is no path of its Ingress: it closes everything below one that cannot be served.
    pub(super) closing: Option<Closing>,
    /// Its Ingress has as many patterns as may be measured.
    pub(super) beyond_pattern_budget: bool,
}

impl PathRule {
    /// Everything below `/`.
    pub(super) fn root(target: RouteTarget, context: &IngressContext, field: String) -> Self {
        PathRule {
            path: "/".to_owned(),
            kind: PathType::Prefix,
            target,
            annotations: Arc::clone(&context.annotations),
            owner: context.object.clone(),
            field,
            written: None,
            origin: Origin::Ingress,
            closing: None,
            beyond_pattern_budget: false,
        }
    }

    /// The Ingress that it is from, and the field.
    pub(super) fn owned(&self) -> (&ObjectRef, &str) {
        (&self.owner, &self.field)
    }

    /// The same, of a route that it has become: with the text that a reader finds there.
    pub(super) fn owner_of(&self, path: &PathMatch) -> RouteOwner {
        let written = self.written.as_ref().unwrap_or(&self.path);
        RouteOwner {
            object: self.owner.key.clone(),
            field: self.field.clone(),
            written: (written != path.text()).then(|| written.clone()),
        }
    }

    pub(super) fn is_pattern(&self) -> bool {
        self.annotations.paths.is_pattern(&self.path)
    }

    /// The route that it becomes, with the path that it has come to.
    pub(super) fn route(
        &self,
        server: &ServerName,
        path: PathMatch,
        host: &HostContext<'_>,
    ) -> HttpRoute {
        let policy = self.policy(server, host, &path);
        let https_redirect = self.https(host, &path);
        let RouteTarget {
            action,
            for_https,
            error_service,
            names,
        } = self.target.clone();
        let sticky = self.annotations.backend.balance.affinity.is_some();
        let session_path =
            (sticky && matches!(action, Action::Forward(_))).then(|| self.path.as_str().into());
        let errors = &self.annotations.errors;
        let replaces = !errors.statuses.is_empty() && action.has_policies();
        // ingress-nginx: `proxy_intercept_errors` is of pods of HTTP alone.
        let protocol = self.annotations.backend.transport.protocol;
        let keeps_upstreams = errors.keeps_upstreams || protocol != Protocol::Http1;
        let error_pages = replaces.then(|| {
            Box::new(ErrorPages {
                statuses: errors.statuses.clone(),
                keeps_upstreams,
                backend: error_service.or_else(|| host.error_service.cloned()),
                headers: names.iter().flat_map(RouteNames::headers).collect(),
            })
        });
        let is_served = action != Action::Denied;
        let is_redirect = matches!(action, Action::Redirect(_));
        let annotations = &self.annotations;
        let is_filtered = |filter: &&Filter| {
            is_served && !(is_redirect && matches!(filter, Filter::RequestHeaders(_)))
        };
        let filters = annotations.filters.iter().filter(is_filtered);
        let filters = filters.cloned().chain(self.route_headers());
        let header_variants = annotations.header_variants.iter();
        let header_variants = header_variants.filter(|_| is_served);
        let direct_responses = annotations.direct_responses.iter().filter(|_| is_served);
        let route = HttpRoute::new(server, path, action, policy);
        let route = HttpRoute {
            direct_responses: direct_responses.cloned().collect(),
            plain_http_at: self.plain_http_at(host, https_redirect.is_some()),
            https_redirect,
            https_backend: for_https,
            session_path,
            error_pages,
            filters: filters.collect(),
            header_variants: header_variants.cloned().collect(),
            of_operator: self.origin == Origin::ConfigMap,
            ..route
        };
        match host.snippets.get(&*self.owner.key.namespace) {
            Some(snippet) if is_served => snippet.inherited_by(route),
            _ => route,
        }
    }

    /// The bare form of its path, which leads to the path. nginx answers it when it has found the location: behind what the server
    /// answers, before what the location answers and before it asks who may come in. The response has the headers that the
    /// location's have. A body that is too large for the location is refused before, if its length is stated.
    pub(super) fn bare_form(
        &self,
        name: &ServerName,
        bare: &str,
        route: HttpRoute,
        to: RedirectTo,
    ) -> HttpRoute {
        let path = PathMatch::Exact(bare.to_owned());
        let action = match route.action {
            Action::Denied => Action::Denied,
            // To nginx it is `internal`, too.
            Action::Respond(status) if self.origin != Origin::Ingress => Action::Respond(status),
            _ => Action::Redirect(Redirect { status: 301, to }.into()),
        };
        let mut policy = Policy {
            access_log_off: route.policy.access_log_off,
            ..Policy::default()
        };
        if matches!(action, Action::Redirect(_)) {
            policy.max_body_size = route.policy.max_body_size;
        }
        let mut filters = route.filters;
        filters.retain(|filter| filter.response_headers().is_some());
        // Those of the server are in front (`inherited_by`).
        let mut direct_responses = route.direct_responses;
        let own = self.annotations.direct_responses.len();
        direct_responses.truncate(direct_responses.len().saturating_sub(own));
        HttpRoute {
            filters,
            direct_responses,
            of_operator: route.of_operator,
            ..HttpRoute::new(name, path, action, Arc::new(policy))
        }
    }

    /// Headers that name the route, of one that leads to a Service.
    fn route_headers(&self) -> Option<Filter> {
        let names = self.target.names.as_ref()?;
        let headers = self.annotations.route_headers.iter();
        let set: Vec<_> = headers.filter_map(|header| header.on(names)).collect();
        (!set.is_empty()).then(|| {
            Filter::RequestHeaders(HeaderModification {
                set,
                ..HeaderModification::default()
            })
        })
    }

    /// True if all of a path begins with this text. A dot of it is any character in a pattern, as in ingress-nginx: the paths of ACME
    /// solvers become patterns on hosts that have some.
    fn begins_with(&self, path: &PathMatch, prefix: &str) -> bool {
        let Some(rest) = self.path.strip_prefix(prefix) else {
            return false;
        };
        match path {
            PathMatch::Regex(regex) => {
                !sluice_pattern::has_alternatives(regex.anchored())
                    && !rest.starts_with(['*', '?', '{'])
            }
            PathMatch::Exact(_) | PathMatch::Prefix(_) => true,
        }
    }

    fn policy(&self, server: &ServerName, host: &HostContext<'_>, path: &PathMatch) -> Arc<Policy> {
        let mut policy = Arc::clone(&self.annotations.policy);
        if let (Some(host), Some(names)) = (&self.annotations.route_host, &self.target.names) {
            Arc::make_mut(&mut policy).host = host.on(names, server);
        }
        if let Some(urls) = &self.annotations.route_auth {
            let authentication = Arc::make_mut(&mut policy).authentication.as_mut();
            if let Some(service) = authentication.and_then(|it| it.external.as_mut()) {
                urls.write(self.target.names.as_ref(), service);
            }
        }
        let is_unguarded = |prefix: &String| self.begins_with(path, prefix);
        if policy.authentication.is_none()
            || !host.globals.access.unguarded.iter().any(is_unguarded)
        {
            return policy;
        }
        Arc::new(Policy {
            authentication: None,
            ..Policy::clone(&policy)
        })
    }

    /// As ingress-nginx: a redirect of its own and a closed route come first.
    fn https(&self, host: &HostContext<'_>, path: &PathMatch) -> Option<HttpsRedirect> {
        /// Clients know the port that everybody knows, not the one that is listened on.
        const HTTPS: u16 = 443;
        let wish = self.annotations.https_redirects;
        let asked_for = wish.always || (wish.with_certificate && host.certified.is_any());
        let excepted = host
            .globals
            .redirects
            .plain_http
            .iter()
            .any(|prefix| self.begins_with(path, prefix));
        let redirected = asked_for && !excepted && self.target.action.has_policies();
        redirected.then(|| HttpsRedirect {
            status: host.globals.redirects.status,
            keep_trailing_slash: wish.keep_trailing_slash,
            port: wish.port_in_url.then_some(HTTPS),
        })
    }

    /// The names of the host that the redirect is not for.
    fn plain_http_at(&self, host: &HostContext<'_>, is_redirected: bool) -> Box<[ServerName]> {
        let by_certificate = is_redirected && !self.annotations.https_redirects.always;
        let plain = host.certified.plain.iter().filter(|_| by_certificate);
        plain.cloned().collect()
    }
}

/// Reason why something is not the claimant's.
pub(super) fn already_claimed(what: &str, owner: &ObjectRef, claimant: &ObjectRef) -> String {
    if owner == claimant {
        format!("{what} already claimed earlier in the same Ingress")
    } else {
        format!("{what} already claimed by {owner}, which is older")
    }
}

/// Reason why a setting of a host is not that of another Ingress.
pub(super) fn already_set(what: &str, name: &ServerName, owner: &ObjectRef) -> String {
    format!("{what} of host {name} already set by {owner}, which is older")
}

/// Reason why another namespace decides nothing about a host as a whole.
pub(super) fn belongs_to(name: &ServerName, namespace: &str) -> String {
    format!("host {name} belongs to namespace {namespace}, which named it first")
}

/// Facts about the host that its path rules need.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostContext<'a> {
    pub(super) certified: &'a CertifiedNames,
    /// Error service where no annotation names one.
    pub(super) error_service: Option<&'a BackendId>,
    pub(super) globals: &'a Globals,
    /// `server-snippet` of each namespace that has one.
    pub(super) snippets: &'a BTreeMap<&'a str, Arc<ServerSnippet>>,
}
