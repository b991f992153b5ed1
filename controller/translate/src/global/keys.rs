//! Every key of ingress-nginx's ConfigMap, as data: its default, and its support in each data plane.
//!
//! The rows of keys that are honoured stand in the files of their groups, beside the code that reads them.

use std::sync::LazyLock;

use super::{
    access, access_log, blocked, buffering, compression, errors, ext_auth, headers, http, limits,
    redirects, response_rewrite, snippets, streams, tracing, trust, upstream, waf,
};
use crate::support::{NO_STREAM_SNIPPETS, Support, Supports};

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// As in the ConfigMap.
    pub name: &'static str,
    /// The default in ingress-nginx.
    pub default: &'static str,
    /// Support in each data plane.
    pub supports: Supports,
    /// The value is the name of another ConfigMap.
    pub names_config_map: bool,
}

const KNOB: &str = "internal to nginx";
const CHOSEN: &str = "chosen by Sluice";
const NO_SNIPPETS: &str = "no raw nginx configuration; use typed keys and annotations";
const NO_EFFECT: &str = "without effect in ingress-nginx too; use the annotation";

pub(super) const fn key(name: &'static str, default: &'static str) -> Key {
    Key {
        name,
        default,
        supports: Supports::both(Support::Unsupported("not served yet")),
        names_config_map: false,
    }
}

impl Key {
    pub(super) const fn names_config_map(mut self) -> Self {
        self.names_config_map = true;
        self
    }

    pub(super) const fn full(self) -> Self {
        self.everywhere(Support::Full)
    }

    pub(super) const fn partly(self, difference: &'static str) -> Self {
        self.everywhere(Support::Partly(difference))
    }

    pub(super) const fn differs(self, difference: &'static str) -> Self {
        self.everywhere(Support::Differs(difference))
    }

    /// Of nginx alone, where Sluice has made up its mind.
    pub(super) const fn needless(self) -> Self {
        self.everywhere(Support::NotNeeded(KNOB))
            .nginx(Support::NotNeeded(CHOSEN))
    }

    pub(super) const fn instead(self, advice: &'static str) -> Self {
        self.everywhere(Support::Unsupported(advice))
    }

    /// In nginx this becomes of it, whatever Envoy does.
    pub(super) const fn nginx(mut self, support: Support) -> Self {
        self.supports.nginx = support;
        self
    }

    pub(super) const fn supported(mut self, supports: Supports) -> Self {
        self.supports = supports;
        self
    }

    /// In nginx it is as in ingress-nginx, whatever Envoy does.
    pub(super) const fn native(self) -> Self {
        self.nginx(Support::Full)
    }

    pub(super) const fn everywhere(mut self, support: Support) -> Self {
        self.supports = Supports::both(support);
        self
    }
}

/// Every key, by name.
pub static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let groups = [
        access::KEYS,
        blocked::KEYS,
        buffering::KEYS,
        compression::KEYS,
        errors::KEYS,
        ext_auth::KEYS,
        headers::KEYS,
        http::KEYS,
        limits::KEYS,
        access_log::KEYS,
        redirects::KEYS,
        response_rewrite::KEYS,
        snippets::KEYS,
        streams::KEYS,
        tracing::KEYS,
        trust::KEYS,
        upstream::KEYS,
        waf::KEYS,
        UNREAD,
    ];
    let mut keys = groups.concat();
    keys.sort_by_key(|key| key.name);
    keys
});

/// Keys that no data plane honours.
#[rustfmt::skip]
const UNREAD: &[Key] = &[
    key("access-log-params", "").instead("the log is written unbuffered and uncompressed; leave it out").nginx(Support::Unsupported("the log is flushed within seconds; leave it out")),
    key("app-root", "").instead(NO_EFFECT),
    key("bind-address", "").instead("use --bind-address"),
    key("client-header-buffer-size", "1k").needless(),
    key("debug-connections", "").instead("use the admin interface of Envoy, and its log").nginx(Support::Unsupported("use the log of nginx")),
    key("default-type", "text/html").needless(),
    key("disable-ipv6", "false").instead("use --bind-address"),
    key("disable-ipv6-dns", "").instead("IPv6 addresses of names are used where there are no IPv4 addresses"),
    key("enable-access-log-for-default-backend", "false").instead("--access-log logs every request, also those without an Ingress"),
    key("enable-aio-write", "true").needless(),
    key("enable-auth-access-log", "false").needless(),
    key("enable-multi-accept", "true").needless(),
    key("enable-ocsp", "false").instead("use short-lived certificates"),
    key("enable-serial-reloads", "false").needless(),
    key("enable-syslog", "false").instead("logs go to standard output; use a log collector"),
    key("error-log-level", "notice").instead("errors of every level go to standard error"),
    key("error-log-path", "/var/log/nginx/error.log").instead("errors go to standard error"),
    key("forwarded-for-proxy-protocol-header", "X-Forwarded-For-Proxy-Protocol").needless(),
    key("forwarded-host-header", "X-Forwarded-Host").instead("X-Forwarded-Host is read"),
    key("geoip2-autoreload-in-minutes", "0").instead("look up X-Real-IP in the upstreams"),
    key("global-auth-snippet", "").instead(NO_SNIPPETS),
    key("grpc-buffer-size-kb", "0").needless(),
    key("http-snippet", "").instead(NO_SNIPPETS),
    key("http2-max-field-size", "").instead("use large-client-header-buffers"),
    key("http2-max-header-size", "").instead("use large-client-header-buffers"),
    key("http2-max-requests", "0").instead("use keep-alive-requests"),
    key("limit-conn-zone-variable", "").instead("clients are identified by address"),
    key("lua-shared-dicts", "").needless(),
    key("main-snippet", "").instead(NO_SNIPPETS),
    key("map-hash-bucket-size", "64").needless(),
    key("max-worker-open-files", "").needless(),
    key("nginx-status-ipv4-whitelist", "127.0.0.1").instead("/nginx_status is not there; /metrics on port 10254 is"),
    key("nginx-status-ipv6-whitelist", "::1").instead("/nginx_status is not there; /metrics on port 10254 is"),
    key("proxy-headers-hash-bucket-size", "64").needless(),
    key("proxy-headers-hash-max-size", "512").needless(),
    key("reuse-port", "true").instead("workers always share their ports"),
    key("server-name-hash-bucket-size", "").needless(),
    key("server-name-hash-max-size", "").needless(),
    key("server-tokens", "false").instead("no Server header names Sluice"),
    key("ssl-buffer-size", "4k").needless(),
    key("ssl-dh-param", "").instead("keys are exchanged on curves: ssl-ecdh-curve"),
    key("ssl-early-data", "false").instead("early data can be replayed, so nobody may send it"),
    key("ssl-session-cache", "true").instead("sessions are resumed, by tickets whose key only one Envoy knows").nginx(Support::Unsupported("sessions are resumed from a cache that all workers share, without tickets")),
    key("ssl-session-cache-size", "10m").needless(),
    key("ssl-session-ticket-key", "").instead("sessions are resumed, by tickets whose key only one Envoy knows").nginx(Support::Unsupported("sessions are resumed from a cache that all workers share, without tickets")),
    key("ssl-session-tickets", "false").instead("sessions are resumed, by tickets whose key only one Envoy knows").nginx(Support::Unsupported("sessions are resumed from a cache that all workers share, without tickets")),
    key("stream-snippet", "").instead(NO_STREAM_SNIPPETS),
    key("syslog-host", "").instead("logs go to standard output; use a log collector"),
    key("syslog-port", "514").instead("logs go to standard output; use a log collector"),
    key("upstream-hash-by", "").instead(NO_EFFECT),
    key("upstream-hash-by-subset", "false").instead(NO_EFFECT),
    key("upstream-hash-by-subset-size", "0").instead(NO_EFFECT),
    key("use-geoip2", "false").instead("look up X-Real-IP in the upstreams"),
    key("variables-hash-bucket-size", "256").needless(),
    key("variables-hash-max-size", "2048").needless(),
    key("worker-cpu-affinity", "").needless(),
    key("worker-processes", "").instead("use --envoy-concurrency").nginx(Support::Unsupported("use --nginx-workers")),
    key("worker-shutdown-timeout", "240s").instead("use --drain-timeout"),
];
