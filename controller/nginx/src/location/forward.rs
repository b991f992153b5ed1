//! Proxying of a request to upstreams.

use std::num::NonZeroU32;

use sluice_ir::{
    Action, BackendId, ClientTimeouts, GlobalConfig, HttpRoute, IpAccess, PathMatch, PathRewrite,
    Policy, Timeouts, Transport,
};

use crate::conf::{Text, Value, Word, word};
use crate::context::{Host, RenderContext};
use crate::expression::template;
use crate::kong::Retry;
use crate::location::auth_request::{AuthRequest, is_500_taken};
use crate::location::buffering::{self, Directive};
use crate::location::errors::{self, Page};
use crate::location::fastcgi::FastCgiConf;
use crate::location::headers::{self, Line};
use crate::location::joined_headers;
use crate::location::limits::{self, ConnectionLimit, Limit};
use crate::location::matching::pattern;
use crate::location::mirror;
use crate::location::module::Module;
use crate::location::plain_http;
use crate::location::redirect::{self, RedirectConf};
use crate::location::response_rewrite::{Replacing, replacing};
use crate::location::responses::Responses;
use crate::location::upstream_tls::Tls;
use crate::upstream;

/// The directives of a location that forwards.
pub(crate) struct Forward {
    pub(crate) access: IpAccess,
    pub(crate) auth_request: Option<AuthRequest>,
    pub(crate) limits: Vec<Limit>,
    pub(crate) limit_status: u16,
    pub(crate) connections: Option<ConnectionLimit>,
    /// KiB of one answer in a second.
    pub(crate) rate: Option<NonZeroU32>,
    /// KiB that come before that.
    pub(crate) rate_after: Option<NonZeroU32>,
    pub(crate) clients: ClientTimeouts,
    pub(crate) responses: Responses,
    pub(crate) https: Option<RedirectConf>,
    /// Scheme and host of what is redirected, where that depends on the host.
    pub(crate) plain: Option<Word>,
    pub(crate) rewrite: Option<(Word, Value)>,
    pub(crate) mirrors: Vec<Word>,
    /// Only heads of requests are copied.
    pub(crate) mirrors_heads: bool,
    /// Upstream responses that error pages replace.
    pub(crate) errors: Vec<Page>,
    /// They are for nginx's own responses alone.
    pub(crate) keeps_upstream_errors: bool,
    pub(crate) module: Module,
    pub(crate) connect: u32,
    pub(crate) timeouts: Timeouts,
    pub(crate) next: String,
    pub(crate) tries: u8,
    /// Seconds, where they are counted.
    pub(crate) tries_within: Option<NonZeroU32>,
    /// Pods are spoken to with this, where it is not HTTP/1.1.
    pub(crate) version: Option<&'static str>,
    pub(crate) buffering: Vec<Directive>,
    pub(crate) replacing: Vec<Replacing>,
    /// As [`own_body`] has it.
    pub(crate) body: Option<u64>,
    /// Request headers to pods. In FastCGI they are parameters.
    pub(crate) pods: Vec<Line>,
    pub(crate) fastcgi: Option<FastCgiConf>,
    pub(crate) tls: Option<Tls>,
    pub(crate) scheme: &'static str,
    /// Retries, where nginx itself does not do them.
    pub(crate) retry: Option<Retry>,
    /// Upstream of the request.
    pub(crate) target: Target,
}

/// Upstream of the request.
pub(crate) enum Target {
    /// The pods that the filter chooses.
    Pods(String),
    /// Pods that speak as the client does: those of plain http, and those of https.
    ByScheme(String, String),
    /// The candidate whose turn it is, in Kong's host.
    Candidate,
    /// The same, spoken to as the client does.
    CandidateByScheme,
    /// None: nginx answers with this status, after all policies. `return` would come before them.
    Nothing { status: u16, is_kongs: bool },
}

/// gRPC has no connection of its own to speak of.
const OF_CONNECTIONS: [&str; 2] = ["connection", "upgrade"];

/// Largest body in bytes, where the edge says something else; 0 is no limit.
pub(crate) fn own_body(policy: &Policy, global: &GlobalConfig) -> Option<u64> {
    let is_own = policy.max_body_size != global.max_body_size;
    is_own.then(|| policy.max_body_size.unwrap_or_default())
}

impl Forward {
    pub(crate) fn new(
        (route, at): (&HttpRoute, &str),
        host: Host<'_>,
        context: RenderContext<'_>,
    ) -> Self {
        let (policy, global) = (&route.policy, context.global());
        let (transport, for_https) = transports(route, context);
        let module = Module::of(transport.protocol);
        let https = route.https_redirect.as_ref();
        let mirrors = || mirror::of(route, context.config);
        Forward {
            access: access(policy),
            auth_request: auth_request(route, host),
            limits: policy.limits.as_ref().map_or_else(Vec::new, limits::limits),
            connections: policy.limits.as_ref().and_then(limits::connections),
            rate: policy.bandwidth_limit,
            clients: policy.client_timeouts,
            rate_after: policy
                .bandwidth_limit
                .and(NonZeroU32::new(policy.bandwidth_limit_after)),
            limit_status: policy.limits.as_ref().map_or(503, |limits| limits.status),
            responses: Responses::of_pods(route, context, module),
            https: https.map(|https| redirect::to_https(https, &global.forwarded)),
            plain: plain_http::but_at(&route.plain_http_at),
            rewrite: rewrite(route),
            mirrors: mirrors().map(|mirror| mirror.path()).collect(),
            mirrors_heads: mirrors().all(|mirror| mirror.bodiless),
            errors: errors::pages(route, context.config),
            keeps_upstream_errors: route
                .error_pages
                .as_ref()
                .is_some_and(|pages| pages.keeps_upstreams),
            module,
            connect: transport.connect_timeout,
            timeouts: policy.timeouts,
            next: module.next_upstream(&policy.retries.on),
            tries: policy.retries.attempts.get(),
            tries_within: policy.retries.timeout,
            version: (policy.http10 && module == Module::Proxy).then_some("1.0"),
            buffering: buffering::overrides(&policy.buffering, &global.buffering, module),
            replacing: replacing(&policy.response_rewrite, module),
            body: own_body(policy, global),
            pods: pods(route, host, context, module),
            fastcgi: fastcgi(route, host, context, module),
            tls: transport
                .tls
                .as_ref()
                .or(for_https.tls.as_ref())
                .map(|tls| Tls::new(tls, module, context)),
            scheme: module.scheme(transport.tls.is_some()),
            retry: Retry::of((route, at), host, context),
            target: match route.action {
                Action::Respond(status) => Target::nothing(status, context),
                _ => target(&transport, &for_https, context),
            },
        }
    }

    /// False if nginx answers by itself.
    pub(crate) fn asks_pods(&self) -> bool {
        !matches!(self.target, Target::Nothing { .. })
    }

    /// True if nginx can read it.
    pub(crate) fn fits(&self) -> bool {
        let rewrite = self.rewrite.iter().flat_map(|(from, to)| [from, to]);
        let params = self.fastcgi.iter().flat_map(FastCgiConf::lines);
        let lines = self
            .pods
            .iter()
            .chain(params)
            .flat_map(|(name, value)| [name, value]);
        let tls = self.tls.iter().filter_map(|tls| tls.name.as_ref());
        let replacing = self.replacing.iter().flat_map(|(_, from, to)| [from, to]);
        let headers = self
            .fastcgi
            .iter()
            .flat_map(|fastcgi| &fastcgi.unless_empty);
        let mut names = self
            .pods
            .iter()
            .chain(headers)
            .map(|(name, _)| name)
            .chain(self.responses.hidden());
        if !self.responses.fits() {
            return false;
        }
        if self.module.has_small_buckets() && !names.all(|name| name.0.fits_small_bucket()) {
            return false;
        }
        rewrite
            .chain(lines)
            .chain(tls)
            .chain(replacing)
            .all(|word| word.0.fits())
    }
}

/// Transport to the backend of plain http, and to that of https.
fn transports(route: &HttpRoute, context: RenderContext<'_>) -> (Transport, Transport) {
    let of = |id: Option<&BackendId>| {
        id.map(|id| upstream::transport(id, context.config))
            .unwrap_or_default()
    };
    let id = route.primary_backend();
    (of(id), of(route.https_backend.as_ref().or(id)))
}

impl Target {
    fn nothing(status: u16, context: RenderContext<'_>) -> Self {
        Target::Nothing {
            status,
            is_kongs: context.settings.engine.is_kongs(),
        }
    }
}

fn auth_request(route: &HttpRoute, host: Host<'_>) -> Option<AuthRequest> {
    let authentication = route.policy.authentication.as_ref()?;
    Some(AuthRequest::new(authentication, is_500_taken(route), host))
}

/// IP lists of a route. With `satisfy any` the controller checks addresses, too.
fn access(policy: &Policy) -> IpAccess {
    let any = policy
        .authentication
        .as_ref()
        .is_some_and(|authentication| authentication.satisfy_any);
    if any {
        IpAccess::default()
    } else {
        policy.ip_access.clone()
    }
}

fn rewrite(route: &HttpRoute) -> Option<(Word, Value)> {
    let text = |text: &str| Text::default().then(text);
    let (from, to) = match (&route.matches.path, route.rewrite.as_ref()?) {
        (PathMatch::Regex(regex), PathRewrite::Template(to)) => {
            (pattern(regex), template(Text::default(), to))
        }
        (_, PathRewrite::Full { full }) => ("(?s)^".to_owned(), text(full)),
        (PathMatch::Prefix(old), PathRewrite::Prefix { prefix }) => {
            let old = sluice_pattern::escape(old.trim_end_matches('/'));
            match prefix.as_str() {
                "/" => (format!("(?s)^{old}/?(.*)$"), text("/").group(1)),
                prefix => (format!("(?s)^{old}(/.*)?$"), text(prefix).group(1)),
            }
        }
        // Without a pattern there is nothing to take groups from, without a prefix none to replace.
        (_, PathRewrite::Template(_) | PathRewrite::Prefix { .. }) => return None,
    };
    Some((word(from), to.quoted()))
}

/// Empty if `http {}` has the same directive.
fn pods(
    route: &HttpRoute,
    host: Host<'_>,
    context: RenderContext<'_>,
    module: Module,
) -> Vec<Line> {
    let own = headers::for_location(route, host.server.client_certificates.as_ref());
    match module {
        Module::FastCgi => Vec::new(),
        Module::Proxy if own.is_empty() => Vec::new(),
        Module::Proxy => joined_headers::for_pods(context.global(), own, context.settings),
        Module::Grpc => {
            let mut lines = headers::for_upstream(context.global(), own);
            lines.retain(|(name, _)| !OF_CONNECTIONS.iter().any(|of| name.0.is(of)));
            lines
        }
    }
}

fn fastcgi(
    route: &HttpRoute,
    host: Host<'_>,
    context: RenderContext<'_>,
    module: Module,
) -> Option<FastCgiConf> {
    let own = || headers::for_location(route, host.server.client_certificates.as_ref());
    let headers = || headers::texts_for_upstream(context.global(), own());
    (module == Module::FastCgi).then(|| FastCgiConf::new(route, headers(), context.by_table))
}

fn target(transport: &Transport, for_https: &Transport, context: RenderContext<'_>) -> Target {
    let upstream = |transport| upstream::name(transport, context.config);
    match (context.settings.engine.is_kongs(), transport == for_https) {
        (true, true) => Target::Candidate,
        (true, false) => Target::CandidateByScheme,
        (false, true) => Target::Pods(upstream(transport)),
        (false, false) => Target::ByScheme(upstream(transport), upstream(for_https)),
    }
}
