//! Features of the model that nginx does not serve, or not as written.

use std::borrow::Cow;

use sluice_ir::{
    BackendId, ClientCertificates, Config, Destination, HttpRoute, Policy, Protocol,
    ResponseRewrite, SecretId, ServerName, UpstreamTls, VerifyClient,
};

use crate::conf::value;
use crate::context::{Host, RenderContext};
use crate::kong;
use crate::location::direct_response::{self, TextTypes};
use crate::location::module::Module;
use crate::location::{conditional_headers, errors, redirect, response_headers};
use crate::stream::passthrough;
use crate::tls::ClientTls;
use crate::unsupported::{Element, Unsupported};
use crate::upstream::transport;

/// nginx listens for http and for https only.
pub(crate) fn check_listeners(config: &Config) -> impl Iterator<Item = Unsupported> {
    config.listeners.keys().map(|name| Unsupported {
        element: Element::Listener(name.clone()),
        what: Cow::Borrowed("a port of its own"),
        closes: false,
    })
}

/// Unsupported features of one location of a host.
pub(crate) fn check_location(
    route: &HttpRoute,
    host: Host<'_>,
    context: RenderContext<'_>,
) -> Vec<Unsupported> {
    let mut all = Vec::new();
    let mut add = |what, closes| {
        all.push(Unsupported {
            element: Element::Route(route.id.clone()),
            what: Cow::Borrowed(what),
            closes,
        });
    };
    // Access control holds for redirects, too.
    let clients = host.server.client_certificates.as_ref();
    if let Some(what) = clients.and_then(|of| check_client_certificates(of, host, context)) {
        add(what, true);
    }
    if let Some(what) = check_passthrough(host, context) {
        add(what, true);
    }
    if !route.matches.is_path_only() {
        add(
            "matches on methods, headers or query parameters",
            route.has_access_control(),
        );
    }
    if let Some((what, closes)) = check_waf(route, context) {
        add(what, closes);
    }
    for (what, closes) in check_responses(route, context) {
        add(what, closes);
    }
    if let Some(main) = route.primary_backend() {
        check_backends(main, route, context)
            .into_iter()
            .for_each(|what| add(what, true));
        check_fastcgi(main, route, context)
            .into_iter()
            .for_each(|what| add(what, false));
        kong::unsupported(main, route, context)
            .into_iter()
            .for_each(|what| add(what, false));
        assert_handled(&route.policy);
    }
    let service = route
        .error_pages
        .as_ref()
        .and_then(|pages| pages.backend.as_ref());
    if service.is_some_and(|id| errors::is_unusual(id, context.config)) {
        add(
            "custom-http-errors: an error service that is not spoken to with plain http",
            false,
        );
    }
    all.sort();
    all.dedup();
    all
}

fn has_long_span_name(route: &HttpRoute) -> bool {
    let operation = route.policy.tracing.operation.as_ref();
    operation.is_some_and(|name| !value(name).0.fits())
}

/// Responses, headers and names of spans that nginx cannot give; `true` closes the location.
fn check_responses(
    route: &HttpRoute,
    context: RenderContext<'_>,
) -> impl Iterator<Item = (&'static str, bool)> {
    let replaces = "more_set_headers in an if: nginx cannot set `Refresh`, `ETag`, `Last-Modified`, or a header with characters other than letters, digits and `-`, for some \
                    responses only (with ngx_wasm_module: none)";
    let types = "texts of several default_type in snippets";
    let status = "redirects with captured groups and another status than 301 and 302";
    let filters = "header filters of one of several backends";
    let span_name = "opentelemetry-operation-name: a name that is longer than nginx reads";
    let server = "a Server header of a snippet: with ngx_wasm_module nginx names itself beside it";
    let word = "redirects with groups of a condition on $uri and another status than 301 and 302";
    let all = [
        (has_long_span_name(route), (span_name, false)),
        (
            TextTypes::of(&route.direct_responses).is_none(),
            (types, true),
        ),
        (redirect::has_no_word(route), (status, false)),
        (
            conditional_headers::is_unsupported(route, context),
            (replaces, false),
        ),
        (
            direct_response::has_no_word(&route.direct_responses),
            (word, true),
        ),
        (has_different_filters(route), (filters, false)),
        (
            context.settings.engine.is_kongs() && response_headers::names_server(route),
            (server, false),
        ),
    ];
    all.into_iter()
        .filter_map(|(is_so, what)| is_so.then_some(what))
}

/// Reason why the TLS of a host cannot end at its pods. Nobody else may read it, so the host is closed.
fn check_passthrough(host: Host<'_>, context: RenderContext<'_>) -> Option<&'static str> {
    let passes = matches!(host.name, ServerName::Exact(name) if context.shared().passthrough.contains_key(name));
    let served = passthrough::stream_module(context.passed(), context.settings);
    served.err().filter(|_| passes)
}

fn check_client_certificates(
    clients: &ClientCertificates,
    host: Host<'_>,
    context: RenderContext<'_>,
) -> Option<&'static str> {
    let asked = clients.verify != VerifyClient::Off;
    if asked && *host.name == ServerName::CatchAll {
        Some("auth-tls-secret without a host")
    } else if asked && ClientTls::new(clients, context.config, context.settings).is_none() {
        Some("auth-tls-secret: the Secret is not there")
    } else {
        None
    }
}

/// A firewall that nginx cannot load. `true`: it may reject requests.
fn check_waf(route: &HttpRoute, context: RenderContext<'_>) -> Option<(&'static str, bool)> {
    let waf = route.policy.waf.as_ref()?;
    let all = context.global().waf.as_ref();
    let needs_core_rules = waf.core_rules || all.is_some_and(|all| all.core_rules);
    let what = match &context.settings.modsecurity {
        None if context.settings.engine.is_kongs() => {
            "enable-modsecurity: not with ngx_wasm_module"
        }
        None => {
            "enable-modsecurity, without nginx's module for ModSecurity (Debian: libnginx-mod-http-modsecurity)"
        }
        Some(module) if needs_core_rules && module.core_rules.is_empty() => {
            "enable-owasp-core-rules, without the OWASP Core Rule Set (Debian: modsecurity-crs)"
        }
        Some(_) => return None,
    };
    Some((what, waf.may_block(all)))
}

/// nginx chooses headers before the filter chooses a backend.
fn has_different_filters(route: &HttpRoute) -> bool {
    let backends = route.destination().map_or(&[][..], Destination::backends);
    backends.len() > 1 && backends.iter().any(|backend| !backend.filters.is_empty())
}

/// Backend settings that would be served differently from what was written; the location is closed. Canaries have the transport of
/// the primary backend.
fn check_backends(
    main: &BackendId,
    route: &HttpRoute,
    context: RenderContext<'_>,
) -> Vec<&'static str> {
    let config = context.config;
    let weighted = route
        .destination()
        .map_or(&[][..], Destination::alternatives);
    let weighted = weighted.iter().map(|weighted| &weighted.backend);
    let first = transport(main, config);
    let mut all = Vec::new();
    for id in std::iter::once(main).chain(weighted) {
        let transport = transport(id, config);
        all.extend(
            transport
                .tls
                .as_ref()
                .and_then(|tls| check_upstream_tls(tls, context)),
        );
        if (transport.protocol, &transport.tls) != (first.protocol, &first.tls) {
            all.push("backend-protocol: another one for a part of the requests");
        }
    }
    all.extend(
        route
            .https_backend
            .as_ref()
            .and_then(|id| check_https_backend(main, id, context)),
    );
    all
}

/// The same pods can be spoken to as the client speaks; the filter does not know of others.
fn check_https_backend(
    main: &BackendId,
    id: &BackendId,
    context: RenderContext<'_>,
) -> Option<&'static str> {
    let (plain, secure) = (
        transport(main, context.config),
        transport(id, context.config),
    );
    let config = context.config;
    let same_pods = config.without_variant(id) == config.without_variant(main);
    let as_the_client = plain.tls.is_none() && secure.tls.is_some();
    let is_http = plain.protocol == Protocol::Http1 && secure.protocol == Protocol::Http1;
    if !(id == main || same_pods && as_the_client && is_http) {
        return Some("another Service for https");
    }
    secure
        .tls
        .as_ref()
        .and_then(|tls| check_upstream_tls(tls, context))
}

fn check_upstream_tls(tls: &UpstreamTls, context: RenderContext<'_>) -> Option<&'static str> {
    let is_missing = |id: &SecretId| context.config.secret(id).is_none();
    let verify = tls.verify.as_ref();
    let sent = tls.server_name.as_ref();
    if tls.certificate.as_ref().is_some_and(is_missing) {
        Some("proxy-ssl-secret: the Secret is not there")
    } else if verify.is_some_and(|verify| is_missing(&verify.ca)) {
        Some("proxy-ssl-verify: the Secret is not there")
    } else if verify.is_some_and(|verify| sent.is_some_and(|sent| *sent != verify.name)) {
        Some("proxy-ssl-name: another name in the certificate than the one that is sent")
    } else {
        None
    }
}

/// Policies that nginx's module for FastCGI does not have.
fn check_fastcgi(
    main: &BackendId,
    route: &HttpRoute,
    context: RenderContext<'_>,
) -> Vec<&'static str> {
    let module = Module::of(transport(main, context.config).protocol);
    if module != Module::FastCgi {
        return Vec::new();
    }
    let policy = &route.policy;
    let mut statuses = policy.retries.on.statuses.iter();
    let missing = [
        (
            policy.response_rewrite != ResponseRewrite::default(),
            "proxy-redirect-from, proxy-cookie-domain, proxy-cookie-path: with FastCGI responses are not rewritten",
        ),
        (
            statuses.any(|status| module.lacks(*status)),
            "proxy-next-upstream: with FastCGI http_502 and http_504 are not tried again",
        ),
        (policy.http10, "proxy-http-version: FastCGI is not HTTP"),
    ];
    missing
        .into_iter()
        .filter_map(|(is_so, what)| is_so.then_some(what))
        .collect()
}

/// Every field is named, so that a new one cannot be forgotten here: each is handled in `forward.rs` or in [`check_location`].
fn assert_handled(policy: &Policy) {
    let Policy {
        timeouts: _,
        retries: _,
        host: _,
        connection: _,
        response_headers: _,
        max_body_size: _,
        ip_access: _,
        authentication: _,
        auth_headers: _,
        cors: _,
        limits: _,
        bandwidth_limit: _,
        client_timeouts: _,
        bandwidth_limit_after: _,
        http10: _,
        buffering: _,
        response_rewrite: _,
        mirrors: _,
        // In `location.rs`.
        access_log_off: _,
        // In `fastcgi.rs`.
        fastcgi: _,
        // In `waf/`, and in `check_waf`.
        waf: _,
        // In `traces.rs`, and in `check_span_name`.
        tracing: _,
    } = policy;
}
