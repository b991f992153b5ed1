//! Annotations of Ingresses: one file for each group, with its rows of the catalogue and the code that reads it.
//!
//! Nothing is ever ignored in silence. An annotation that guards access and cannot be honoured closes the locations of
//! its Ingress; any other one that cannot be honoured is reported by name.
//!
//! To support an annotation: say so in its row, read it in its group, and put the value into a field of the IR.

mod admission_denied;
mod affinity;
mod alternatives;
mod auth_external;
mod auth_password;
mod auth_tls;
mod authentication;
mod backend;
mod body;
mod canary;
mod catalogue;
mod cors;
mod errors;
mod former;
mod hash;
mod headers;
mod health_check;
mod host_closing;
mod intake;
mod ip_access;
mod limits;
mod load_balance;
mod mirror;
mod observability;
mod outlier_detection;
mod proxy;
mod proxy_ssl;
mod redirect;
mod requirements;
mod response_rewrite;
mod rewrite;
mod route_auth;
mod server;
mod snippet_obstacle;
mod snippets;
mod tls_redirect;
mod upstream_host;
mod view;
mod waf;
mod zone;

use std::sync::Arc;

use sluice_ir::{
    CanaryRules, ClientCertificates, ClientTimeouts, DirectResponse, Expression, Filter,
    HeaderVariant, IpAccess, Policy, Protocol, Redirect, Transport, UpstreamTls,
};
use sluice_translate_engine::{Balance, DependencyTracker, Ingress, References, Reporter, Secrets};

use crate::Options;
use crate::global::{Globals, HttpsRedirects};
use crate::support::DataPlane;
use view::{Rules, View};

pub use crate::risk::Risk;
use crate::route_names::RouteHeader;
use crate::snippet::{PathChange, ServerSnippet, SharedVariables, SnippetShare};
pub(crate) use alternatives::CATALOGUES;
#[cfg(test)]
pub(crate) use alternatives::alternatives;
pub(crate) use backend::MAX_PARAMS_BYTES;
pub use catalogue::{Annotation, GROUPS, Group, Role, Scope, Value, referenced_kind};
pub(crate) use catalogue::{canonical, find};
pub(crate) use cors::MAX_ORIGINS;
pub(crate) use errors::Errors;
pub(crate) use health_check::{PATH as HEALTH_CHECK_PATH, unusable_with};
pub(crate) use host_closing::{HostClosing, Reach};
pub(crate) use intake::OWN;
pub(crate) use mirror::MirrorTarget;
pub(crate) use proxy_ssl::ProxySslSecret;
pub use requirements::{REQUIREMENTS, Requirement};
pub(crate) use rewrite::Paths;
pub(crate) use route_auth::RouteAuth;
pub(crate) use server::{Alias, MAX_ALIASES};
pub(crate) use upstream_host::{RouteHost, longest_host_value};
pub(crate) use view::is_canary;

/// Context in which annotations are read.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) tracker: &'a DependencyTracker<'a>,
    pub(crate) options: &'a Options,
    pub(crate) globals: &'a Globals,
}

/// Parsed annotations of one Ingress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Annotations {
    /// Nothing of the Ingress is served: the operator does not want to see what is in it.
    pub(crate) refused: bool,
    /// Something that guards access cannot be honoured: nothing gets through.
    pub(crate) denied: bool,
    /// The paths mean something that cannot be expressed: they are not served.
    pub(crate) paths_unreadable: bool,
    /// Matching and rewriting of its paths.
    pub(crate) paths: Paths,
    /// Redirect of all requests, whatever the backend.
    pub(crate) redirect: Option<Redirect>,
    /// Redirects name no host where they can do without.
    pub(crate) relative_redirects: bool,
    /// When plain http is redirected.
    pub(crate) https_redirects: HttpsRedirects,
    /// Of its hosts.
    pub(crate) host: Host,
    /// Of its backends.
    pub(crate) backend: UpstreamSettings,
    /// Verification of client certificates for its hosts.
    pub(crate) clients: Option<ClientCertificates>,
    /// It is no Ingress of its own, but a second backend of another one.
    pub(crate) canary: Option<CanaryRules>,
    /// Error service and the statuses that it replaces.
    pub(crate) errors: Errors,
    /// Mirror that gets a copy of each request, and the `Host` of the copy.
    pub(crate) mirror: Option<MirrorTarget>,
    /// Policy of every location of the Ingress.
    pub(crate) policy: Arc<Policy>,
    /// `Host` for upstreams that names the route, in place of the policy's.
    pub(crate) route_host: Option<RouteHost>,
    /// URLs of external authentication that name the route, in place of the policy's.
    pub(crate) route_auth: Option<RouteAuth>,
    /// Filters of every route of the Ingress.
    pub(crate) filters: Vec<Filter>,
    /// Headers of requests to pods that name the route.
    pub(crate) route_headers: Vec<RouteHeader>,
    /// Responses of its routes before authentication, address lists and redirects to https.
    pub(crate) direct_responses: Vec<DirectResponse>,
    /// Headers of its responses under conditions.
    pub(crate) header_variants: Vec<HeaderVariant>,
    /// Paths that pods see in place of those that clients asked for.
    pub(crate) path_changes: Vec<PathChange>,
    /// Variables that a snippet of their server may have set before.
    pub(crate) variables: SharedVariables,
    /// The share of the ConfigMap's `location-snippet` in them.
    pub(crate) location_snippet: SnippetShare,
}

/// Settings of an Ingress for its hosts as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) aliases: Vec<server::Alias>,
    pub(crate) app_root: Option<Expression>,
    /// True if `www.` and the name without it redirect to the host.
    pub(crate) from_to_www: bool,
    pub(crate) ciphers: Vec<String>,
    pub(crate) prefer_server_ciphers: Option<bool>,
    /// Its TLS is to end at the pods.
    pub(crate) passthrough: bool,
    /// Nothing is let through to more of the host than the paths of the Ingress.
    pub(crate) closed: Option<HostClosing>,
    /// Policies of all that the namespace has of the host.
    pub(crate) snippet: Option<Arc<ServerSnippet>>,
}

/// Settings of an Ingress for its backends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UpstreamSettings {
    /// Transport to the upstream.
    pub(crate) transport: Transport,
    /// How they are spoken to for clients with https, when that is not the same.
    pub(crate) for_https: Option<Transport>,
    /// Paths that ingress-nginx would apply its `proxy-ssl-secret` to.
    pub(crate) proxy_ssl_secret: ProxySslSecret,
    pub(crate) balance: Balance,
    /// Of a canary: sessions that its main backend keeps with a pod stay with it, too.
    pub(crate) canary_is_sticky: bool,
}

impl Host {
    fn read(view: &mut View<'_, '_>, options: &Options) -> Self {
        Host {
            aliases: server::aliases(view),
            app_root: rewrite::app_root(view),
            from_to_www: redirect::from_to_www(view),
            ciphers: server::known_ciphers(view, "ssl-ciphers"),
            prefer_server_ciphers: server::prefer_server_ciphers(view),
            passthrough: server::passthrough(view, options),
            closed: None,
            snippet: None,
        }
    }
}

impl Annotations {
    /// True if some clients are to be kept out.
    pub(crate) fn restricts_access(&self) -> bool {
        self.denied
            || self.policy.authentication.is_some()
            || self.policy.ip_access != IpAccess::default()
            || !self.direct_responses.is_empty()
            || self.host.snippet.is_some()
            || self.policy.rejects_attacks()
    }

    /// The same, or whether the host asks clients for certificates because of it.
    pub(crate) fn restricts_clients(&self) -> bool {
        self.restricts_access() || self.clients.is_some()
    }

    /// The share of its hosts that clients are to be kept out of.
    pub(crate) fn reach(&self) -> Reach {
        match &self.host.closed {
            _ if self.clients.is_some() => Reach::Host,
            Some(closed) => closed.reach,
            None => Reach::Namespace,
        }
    }

    pub(crate) fn read(
        ingress: &Ingress,
        context: Context<'_>,
        secrets: &mut Secrets,
        reporter: Reporter<'_>,
    ) -> Self {
        let Context {
            tracker,
            options,
            globals,
        } = context;
        let rules = Rules {
            prefix: &options.annotations_prefix,
            risk: globals.trust.risk,
            blocked: &globals.trust.blocked_words,
            data_plane: options.data_plane,
        };
        let references = References {
            tracker,
            across_namespaces: globals.trust.across_namespaces,
        };
        let mut view = View::new(ingress, &rules, references, secrets, reporter);
        let read = Annotations::gather(&mut view, globals, options);
        view.note_without_effect();
        read
    }

    fn gather(view: &mut View<'_, '_>, globals: &Globals, options: &Options) -> Self {
        let mut host = Host::read(view, options);
        let (paths, relative_redirects) = (rewrite::paths(view), redirect::relative(view, globals));
        let redirect = redirect::redirect(view, relative_redirects);
        let https_redirects = tls_redirect::https_redirects(view, globals);
        let mut backend = upstream_settings(view, globals, options);
        let (canary, errors) = (canary::canary(view), errors::errors(view, globals));
        let (clients, mirror) = (
            auth_tls::clients(view, options.data_plane),
            mirror::mirror(view, options.data_plane),
        );
        let (upstream_host, route_host) = upstream_host::upstream_host(view);
        let policy = Policy {
            host: upstream_host,
            ..policy(view, globals, options.data_plane)
        };
        let settings = snippets::Settings {
            policy: &policy,
            is_redirect: redirect.is_some(),
            has_forwarded_prefix: paths.forwarded_prefix.is_some(),
            has_upstream_tls: view.text("proxy-ssl-secret").is_some(),
            has_auth_service: view.text("auth-url").is_some(),
            is_canary: canary.is_some(),
            speaks_grpc: backend.transport.protocol == Protocol::Http2,
            globals,
            data_plane: options.data_plane,
        };
        let mut snippets = apply(view, settings, &mut host, &mut backend);
        let clients = clients.map(|it| it.with_locations(&snippets.named, view));
        host.closed = view.closes.take();
        Annotations {
            refused: view.blocked,
            denied: view.denied || globals.closed,
            paths_unreadable: view.paths_unreadable,
            paths,
            redirect,
            relative_redirects,
            https_redirects,
            host,
            backend,
            canary,
            clients,
            errors,
            mirror,
            policy: Arc::new(snippets.policy(policy, globals)),
            route_host,
            route_auth: RouteAuth::read(view),
            filters: snippets.filters,
            route_headers: snippets.route_headers,
            direct_responses: snippets.direct_responses,
            header_variants: snippets.header_variants,
            path_changes: snippets.path_changes,
            variables: snippets.variables,
            location_snippet: snippets.configmap_share,
        }
    }
}

/// Applies snippets, with their effect on hosts and backends.
fn apply(
    view: &mut View<'_, '_>,
    settings: snippets::Settings<'_>,
    host: &mut Host,
    backend: &mut UpstreamSettings,
) -> snippets::Effect {
    let mut snippets = snippets::apply(view, settings);
    host.snippet = snippets.server.take();
    backend.speak_tls(&mut snippets.upstream, view);
    snippets
}

fn policy(view: &mut View<'_, '_>, globals: &Globals, data_plane: Option<DataPlane>) -> Policy {
    Policy {
        timeouts: proxy::timeouts(view, globals, data_plane),
        retries: proxy::retries(view, globals),
        host: None,
        connection: headers::connection(view),
        response_headers: headers::custom(view, globals),
        max_body_size: body::largest(view, globals),
        ip_access: ip_access::ip_access(view, globals),
        authentication: authentication::authentication(view, globals),
        auth_headers: auth_external::auth_headers(view, globals),
        cors: cors::cors(view),
        limits: limits::limits(view, globals),
        client_timeouts: ClientTimeouts::default(),
        bandwidth_limit: limits::rate(view, globals),
        bandwidth_limit_after: limits::rate_after(view, globals),
        http10: backend::http10(view, globals),
        fastcgi: backend::fastcgi(view),
        waf: waf::waf(view, globals),
        buffering: body::buffering(view, globals),
        response_rewrite: response_rewrite::response_rewrite(view, globals),
        mirrors: Vec::new(),
        access_log_off: observability::unlogged(view),
        tracing: observability::traced(view, globals),
    }
}

fn upstream_settings(
    view: &mut View<'_, '_>,
    globals: &Globals,
    options: &Options,
) -> UpstreamSettings {
    let spoken = backend::spoken(view, options.data_plane);
    let (tls, proxy_ssl_secret) = proxy_ssl::tls(
        view,
        !matches!(spoken.tls, backend::Tls::Never),
        options.data_plane,
    );
    let with_certificate = tls.certificate.is_some() && !matches!(spoken.tls, backend::Tls::Never);
    let transport = |tls: Option<UpstreamTls>, connect_timeout| Transport {
        connect_timeout,
        protocol: spoken.protocol,
        tls,
        proxy_protocol: false,
        keep_alive: globals.upstream.transport.keep_alive.clone(),
        max_connections: None,
        copies: None,
    };
    let connect_timeout = proxy::connect_timeout(view, globals);
    let (always, for_https) = match spoken.tls {
        backend::Tls::Never => (None, None),
        backend::Tls::Always => (Some(tls), None),
        backend::Tls::LikeClients => (None, Some(transport(Some(tls), connect_timeout))),
    };
    let named = load_balance::load_balance(view, globals);
    let load_balance = hash::hash(view).unwrap_or(named);
    let affinity = affinity::affinity(view);
    let canary_is_sticky = !affinity::is_legacy(view);
    let prefer_zone = zone::prefer_zone(view, options.topology_aware_routing);
    let service_upstream = load_balance::service_upstream(view, globals);
    let reached = health_check::Reached {
        protocol: spoken.protocol,
        with_certificate,
        service_upstream,
    };
    UpstreamSettings {
        transport: transport(always, connect_timeout),
        for_https,
        proxy_ssl_secret,
        balance: Balance {
            load_balance,
            affinity: affinity.map(Box::new),
            health: outlier_detection::outlier_detection(view, reached),
            prefer_zone,
            service_upstream,
        },
        canary_is_sticky,
    }
}

#[cfg(test)]
mod tests;
