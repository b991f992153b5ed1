//! The ConfigMap of the controller: what holds where no annotation says otherwise.

mod blocked;
mod buffering;
mod compression;
mod ext_auth;
mod headers;
mod http;
mod keys;
mod log;
mod streams;
mod tracing;
mod values;
mod view;

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use sluice_ir::{
    Expression, ExternalAuth, GlobalConfig, HeaderName, IpAccess, Replacement, Retries, Timeouts,
    Transport,
};
use sluice_syntax::settings::body::max_body_size;
use sluice_syntax::settings::errors::configmap_error_statuses;
use sluice_syntax::settings::response_rewrite::{cookie_domain, cookie_path, redirect_part};
use sluice_syntax::settings::retries::{conditions, time_limit, tries};
use sluice_syntax::settings::upstream::{algorithm, is_http10};
use sluice_syntax::value;
use sluice_translate_engine::{
    AddressPolicy, Balance, Cluster, DependencyTracker, References, Report,
};

use crate::risk::Risk;
use crate::snippet::{Alternatives, Effective};
use crate::{Options, STREAM_CONNECTIONS};
use values::{error_status, limit_status, maybe_cidrs, owned, redirect_status};
use view::View;

pub(crate) use http::{CIPHERS, cipher_names};
pub use keys::{KEYS, Key};
pub(crate) use streams::StreamTimeouts;

/// The ConfigMap, typed, over ingress-nginx's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Globals {
    pub(crate) risk: Risk,
    pub(crate) blocked_words: Vec<String>,
    pub(crate) transport: Transport,
    pub(crate) timeouts: Timeouts,
    pub(crate) retries: Retries,
    pub(crate) https_redirects: HttpsRedirects,
    /// `http-redirect-code`: of redirects to https and from www.
    pub(crate) redirect_status: u16,
    /// `no-tls-redirect-locations`: prefixes of paths that are served over plain http.
    pub(crate) plain_http: Vec<String>,
    pub(crate) relative_redirects: bool,
    /// `allow-cross-namespace-resources`
    pub(crate) across_namespaces: bool,
    pub(crate) config: GlobalConfig,
    pub(crate) access: IpAccess,
    pub(crate) largest_body: Option<u64>,
    /// `global-allowed-response-headers`
    pub(crate) allowed_headers: Vec<String>,
    /// `limit-req-status-code`
    pub(crate) limit_status: u16,
    pub(crate) connections_status: u16,
    /// `limit-rate`
    pub(crate) rate: Option<NonZeroU32>,
    /// `limit-rate-after`
    pub(crate) rate_after: u32,
    /// `proxy-http-version`
    pub(crate) http10: bool,
    /// `proxy-redirect-from` and `proxy-redirect-to`
    pub(crate) redirects: (Option<Expression>, Option<Expression>),
    /// `proxy-cookie-domain` and `proxy-cookie-path`
    pub(crate) cookies: (Option<Replacement>, Option<Replacement>),
    /// `custom-http-errors`
    pub(crate) error_statuses: BTreeSet<u16>,
    /// `disable-proxy-intercept-errors`
    pub(crate) keeps_errors: bool,
    pub(crate) balance: Balance,
    /// `no-auth-locations`: prefixes of paths where nobody is asked who they are.
    pub(crate) unguarded: Vec<String>,
    pub(crate) streams: StreamTimeouts,
    /// `max-worker-connections`: of each Service behind ports without HTTP.
    pub(crate) connections: u32,
    /// `global-auth-url`: who is asked about clients, except where `enable-global-auth` is off.
    pub(crate) question: Option<ExternalAuth>,
    /// `global-auth-response-headers`
    pub(crate) auth_headers: Vec<HeaderName>,
    /// Something that guards access cannot be read, so nothing is open.
    pub(crate) closed: bool,
    pub(crate) admission: AdmissionSettings,
}

/// When plain http is answered with a redirect, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HttpsRedirects {
    /// When the host has a certificate.
    pub(crate) with_certificate: bool,
    /// Redirect even without TLS: it is terminated somewhere in front.
    pub(crate) always: bool,
    pub(crate) keep_trailing_slash: bool,
    pub(crate) port_in_url: bool,
}

/// Settings of admission alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AdmissionSettings {
    /// `strict-validate-path-type`: refuse what is no plain path in an Exact or Prefix path; otherwise warn.
    pub(crate) path_types: bool,
    /// `allow-snippet-annotations`: warn of snippets instead of refusing them. They are never served.
    pub(crate) allow_snippets: bool,
}

impl Default for Globals {
    fn default() -> Self {
        Globals {
            risk: Risk::High,
            blocked_words: Vec::new(),
            transport: Transport::default(),
            timeouts: Timeouts::default(),
            retries: Retries::default(),
            https_redirects: HttpsRedirects {
                with_certificate: true,
                ..HttpsRedirects::default()
            },
            redirect_status: 308,
            plain_http: vec!["/.well-known/acme-challenge".to_owned()],
            relative_redirects: false,
            across_namespaces: false,
            config: GlobalConfig::default(),
            access: IpAccess::default(),
            largest_body: Some(1 << 20),
            allowed_headers: Vec::new(),
            limit_status: 503,
            connections_status: 503,
            rate: None,
            rate_after: 0,
            http10: false,
            redirects: (None, None),
            cookies: (None, None),
            error_statuses: BTreeSet::new(),
            keeps_errors: false,
            balance: Balance::default(),
            unguarded: vec!["/.well-known/acme-challenge".to_owned()],
            streams: StreamTimeouts::default(),
            connections: STREAM_CONNECTIONS,
            question: None,
            auth_headers: Vec::new(),
            closed: false,
            admission: AdmissionSettings {
                path_types: true,
                allow_snippets: false,
            },
        }
    }
}

impl Globals {
    /// Reads the ConfigMap that `--configmap` names. Without one, or where it is silent, the defaults hold.
    pub(crate) fn read(
        cluster: &Cluster,
        options: &Options,
        alternatives: Alternatives,
        reports: &mut Vec<Report>,
    ) -> Self {
        let mut globals = Globals::default();
        globals.config.cdn_id.clone_from(&options.cdn_id);
        globals.connections = options.stream_connections;
        if let Some(mut view) = View::read(cluster, options, reports) {
            let tracker = DependencyTracker::new(cluster, &options.addresses);
            globals.take(
                &mut view,
                References {
                    tracker: &tracker,
                    across_namespaces: true,
                },
                alternatives,
            );
        }
        globals
    }

    fn take(
        &mut self,
        view: &mut View<'_, '_>,
        references: References<'_>,
        alternatives: Alternatives,
    ) {
        // Anything unknown is the lowest, as in ingress-nginx.
        view.set(&mut self.risk, "annotations-risk-level", |text| {
            Ok(Risk::parse(text).unwrap_or(Risk::Low))
        });
        view.set(
            &mut self.blocked_words,
            "annotation-value-word-blocklist",
            |text| Ok(owned(text)),
        );
        view.set(
            &mut self.transport.connect_timeout,
            "proxy-connect-timeout",
            value::seconds,
        );
        self.take_keep_alive(view);
        self.take_timeouts_and_retries(view);
        view.set(
            &mut self.across_namespaces,
            "allow-cross-namespace-resources",
            value::bool,
        );
        view.set(
            &mut self.admission.path_types,
            "strict-validate-path-type",
            value::bool,
        );
        view.set(
            &mut self.admission.allow_snippets,
            "allow-snippet-annotations",
            value::bool,
        );
        view.set(&mut self.http10, "proxy-http-version", is_http10);
        self.take_redirects(view);
        self.take_streams(view);
        self.take_response_rewrites(view);
        self.take_policies(view, references.tracker.addresses);
        self.closed |= !http::take(&mut self.config, view, references);
        compression::take(&mut self.config.compression, view);
        log::take(&mut self.config.log, view);
        self.config.tracing = tracing::tracing(view);
        self.closed |= !blocked::take(&mut self.config.blocked, view);
        let effective = Effective {
            largest_body: self.largest_body,
        };
        self.closed |= !view.judge_snippets(effective, alternatives);
    }

    fn take_timeouts_and_retries(&mut self, view: &mut View<'_, '_>) {
        let Timeouts { send, read } = &mut self.timeouts;
        view.set(send, "proxy-send-timeout", value::seconds);
        view.set(read, "proxy-read-timeout", value::seconds);
        let Retries {
            on,
            attempts,
            timeout,
        } = &mut self.retries;
        view.set(on, "proxy-next-upstream", conditions);
        view.set(&mut on.non_idempotent, "retry-non-idempotent", value::bool);
        view.set(attempts, "proxy-next-upstream-tries", tries);
        view.set(timeout, "proxy-next-upstream-timeout", time_limit);
    }

    fn take_keep_alive(&mut self, view: &mut View<'_, '_>) {
        let keep = &mut self.transport.keep_alive;
        view.set(
            &mut keep.idle_timeout,
            "upstream-keepalive-timeout",
            value::seconds,
        );
        view.set(
            &mut keep.max_requests,
            "upstream-keepalive-requests",
            |text| Ok(NonZeroU32::new(value::count(text)?)),
        );
        view.set(&mut keep.max_lifetime, "upstream-keepalive-time", |text| {
            Ok(NonZeroU32::new(value::span(text)? / 1000))
        });
    }

    fn take_policies(&mut self, view: &mut View<'_, '_>, addresses: &AddressPolicy) {
        self.closed |= !ext_auth::take(&mut self.question, &mut self.auth_headers, view, addresses);
        view.set(&mut self.unguarded, "no-auth-locations", |text| {
            Ok(owned(text))
        });
        self.closed |= !view.guard(
            &mut self.access.allow,
            "whitelist-source-range",
            maybe_cidrs,
        );
        self.closed |= !view.guard(&mut self.access.deny, "denylist-source-range", maybe_cidrs);
        view.set(&mut self.largest_body, "proxy-body-size", max_body_size);
        view.set(
            &mut self.allowed_headers,
            "global-allowed-response-headers",
            |text| Ok(owned(text)),
        );
        let served_by = view.served_by();
        view.set(&mut self.limit_status, "limit-req-status-code", |text| {
            limit_status(text, served_by)
        });
        view.set(
            &mut self.connections_status,
            "limit-conn-status-code",
            error_status,
        );
        view.set(&mut self.rate, "limit-rate", |text| {
            Ok(NonZeroU32::new(value::count(text)?))
        });
        view.set(&mut self.rate_after, "limit-rate-after", value::count);
        view.set(
            &mut self.error_statuses,
            "custom-http-errors",
            configmap_error_statuses,
        );
        view.set(
            &mut self.keeps_errors,
            "disable-proxy-intercept-errors",
            value::bool,
        );
        view.set(&mut self.balance.load_balance, "load-balance", algorithm);
        view.set(
            &mut self.balance.service_upstream,
            "service-upstream",
            value::bool,
        );
    }

    fn take_response_rewrites(&mut self, view: &mut View<'_, '_>) {
        view.set(&mut self.redirects.0, "proxy-redirect-from", redirect_part);
        view.set(&mut self.redirects.1, "proxy-redirect-to", redirect_part);
        view.set(&mut self.cookies.0, "proxy-cookie-domain", cookie_domain);
        view.set(&mut self.cookies.1, "proxy-cookie-path", cookie_path);
        buffering::take(&mut self.config.buffering, view);
    }

    fn take_redirects(&mut self, view: &mut View<'_, '_>) {
        let redirected = || (true, "plain http is redirected");
        view.strict(
            &mut self.https_redirects.with_certificate,
            "ssl-redirect",
            value::bool,
            redirected(),
        );
        view.strict(
            &mut self.https_redirects.always,
            "force-ssl-redirect",
            value::bool,
            redirected(),
        );
        view.set(
            &mut self.https_redirects.keep_trailing_slash,
            "preserve-trailing-slash",
            value::bool,
        );
        view.set(
            &mut self.https_redirects.port_in_url,
            "use-port-in-redirects",
            value::bool,
        );
        view.set(
            &mut self.redirect_status,
            "http-redirect-code",
            redirect_status,
        );
        view.set(&mut self.plain_http, "no-tls-redirect-locations", |text| {
            Ok(owned(text))
        });
        view.set(
            &mut self.relative_redirects,
            "relative-redirects",
            value::bool,
        );
    }
}

#[cfg(test)]
mod tests;
