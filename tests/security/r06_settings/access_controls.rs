//! Annotations that guard or narrow access, each with a good value and bad ones.

use sluice_tests::http::Response;

/// A guard, what it stands beside, and a value that can be honoured. With that, or with none, nobody without credentials
/// reaches the pod.
pub(super) struct AccessControl {
    pub(super) name: &'static str,
    pub(super) beside: &'static [(&'static str, &'static str)],
    pub(super) good: &'static str,
    /// Bad in its own way: half of it can be read, or it names what is not there.
    pub(super) bad: &'static [&'static str],
}

pub(super) const BASIC: &[(&str, &str)] = &[("auth-type", "basic"), ("auth-secret", "users")];
pub(super) const EXTERNAL: &[(&str, &str)] = &[("auth-url", "http://auth.owner.svc/")];
pub(super) const FIREWALL: &[(&str, &str)] = &[
    ("auth-url", "http://auth.owner.svc/"),
    ("enable-modsecurity", "true"),
];
pub(super) const ALLOWED: &[(&str, &str)] = &[
    ("auth-type", "basic"),
    ("auth-secret", "users"),
    ("allowlist-source-range", "127.0.0.0/8"),
];
pub(super) const CLIENTS: &[(&str, &str)] = &[("auth-tls-secret", "owner/ca")];
pub(super) const VERIFIED: &[(&str, &str)] = &[
    ("backend-protocol", "HTTPS"),
    ("proxy-ssl-secret", "owner/ca"),
    ("proxy-ssl-verify", "on"),
    ("proxy-ssl-name", "web.test"),
];

pub(super) const fn access_control(
    name: &'static str,
    beside: &'static [(&'static str, &'static str)],
    good: &'static str,
    bad: &'static [&'static str],
) -> AccessControl {
    AccessControl {
        name,
        beside,
        good,
        bad,
    }
}

#[rustfmt::skip]
pub(super) const ACCESS_CONTROLS: &[AccessControl] = &[
    access_control("allowlist-source-range", &[], "192.0.2.0/24", &["192.0.2.0/24,nonsense", "192.0.2.0/24,,/8", "0.0.0.0/0/0", ","]),
    access_control("whitelist-source-range", &[], "192.0.2.0/24", &["192.0.2.0/24,nonsense", "192.0.2.0/33", ","]),
    access_control("denylist-source-range", &[], "127.0.0.0/8", &["192.0.2.0/24,nonsense", "127.0.0.0/33", ","]),
    access_control("satisfy", ALLOWED, "all", &["Any", "any,all"]),
    access_control("auth-type", &[("auth-secret", "users")], "basic", &["xbasic", "xdigest", "Basic", "Digest"]),
    access_control("auth-secret", &[("auth-type", "basic")], "users", &["absent", "foreign/users", "a/b/c", "users,users"]),
    access_control("auth-secret-type", BASIC, "auth-file", &["auth-files"]),
    access_control("auth-realm", BASIC, "shop", &["a\"b", "$host"]),
    access_control("auth-url", &[], "http://auth.owner.svc/", &["http://auth.owner.svc/, http://b", "auth.owner.svc", "http://$arg_a/", "http://127.0.0.1/"]),
    access_control("auth-method", EXTERNAL, "GET", &["get", "GETS"]),
    access_control("auth-signin", EXTERNAL, "/start", &["javascript:alert(1)", "/start?$nonsense"]),
    access_control("auth-signin-redirect-param", EXTERNAL, "rd", &["a b", "a&b"]),
    access_control("auth-response-headers", EXTERNAL, "X-User", &["X-User,X Y", "Host"]),
    access_control("auth-proxy-set-headers", EXTERNAL, "owner/headers", &["owner/absent", "foreign/headers", "owner/unreadable"]),
    access_control("auth-request-redirect", EXTERNAL, "/a", &["$nonsense"]),
    access_control("auth-always-set-cookie", EXTERNAL, "true", &["yes"]),
    access_control("auth-cache-duration", EXTERNAL, "200 5m", &["200 5x", "200 5m, x"]),
    access_control("enable-global-auth", EXTERNAL, "true", &["yes"]),
    access_control("auth-tls-secret", &[], "owner/ca", &["ca", "owner/absent", "foreign/ca", "owner/users"]),
    access_control("auth-tls-verify-client", CLIENTS, "on", &["yes", "ON", "on,off"]),
    access_control("auth-tls-verify-depth", CLIENTS, "1", &["one", "1.5"]),
    access_control("auth-tls-error-page", CLIENTS, "/error", &["@named", "javascript:a"]),
    access_control("auth-tls-match-cn", CLIENTS, "CN=me", &["me", "CN=(", "CN=.*|"]),
    access_control("proxy-ssl-secret", VERIFIED, "owner/ca", &["ca", "owner/absent", "foreign/ca", "owner/users"]),
    access_control("proxy-ssl-verify", VERIFIED, "on", &["yes", "ON", "true"]),
    access_control("proxy-ssl-verify-depth", VERIFIED, "1", &["one"]),
    access_control("proxy-ssl-name", VERIFIED, "web.test", &["a b", "*"]),
    access_control("auth-snippet", EXTERNAL, "", &["deny all;"]),
    access_control("configuration-snippet", EXTERNAL, "", &["deny all;"]),
    access_control("server-snippet", EXTERNAL, "", &["deny all;"]),
    access_control("stream-snippet", EXTERNAL, "", &["deny all;"]),
    access_control("modsecurity-snippet", FIREWALL, "", &["SecRuleEngine On\nSecGeoLookupDb /tmp"]),
];

/// Those with which a client comes in, and with a bad value none does.
#[rustfmt::skip]
pub(super) const LIMITS: &[AccessControl] = &[
    access_control("limit-connections", &[], "9", &["many", "9,9"]),
    access_control("limit-rps", &[], "900", &["many", "1.5"]),
    access_control("limit-rpm", &[], "900", &["many", "0x10"]),
    access_control("custom-headers", &[], "owner/nothing", &["nothing", "owner/absent", "foreign/nothing", "owner/headers"]),
];

/// Something that narrows, what it stands beside, bad values of its own, and what is right about the answer to a request from
/// another origin, the fourth of four.
pub(super) struct Restriction {
    pub(super) name: &'static str,
    pub(super) beside: &'static [(&'static str, &'static str)],
    pub(super) bad: &'static [&'static str],
    pub(super) is_right: fn(&Response) -> bool,
}

pub(super) const CORS: &[(&str, &str)] = &[("enable-cors", "true")];
pub(super) const COUNTED: &[(&str, &str)] = &[("limit-rpm", "1"), ("limit-burst-multiplier", "1")];

pub(super) fn names_no_origin(answer: &Response) -> bool {
    answer.status == 200 && answer.header("access-control-allow-origin").is_none()
}

pub(super) const fn restriction(
    name: &'static str,
    beside: &'static [(&'static str, &'static str)],
    bad: &'static [&'static str],
    is_right: fn(&Response) -> bool,
) -> Restriction {
    Restriction {
        name,
        beside,
        bad,
        is_right,
    }
}

#[rustfmt::skip]
pub(super) const RESTRICTIONS: &[Restriction] = &[
    restriction("ssl-redirect", &[], &["yes", "on"], |answer| answer.status == 308),
    restriction("force-ssl-redirect", &[("ssl-redirect", "false")], &["yes", "on"], |answer| answer.status == 308),
    restriction("enable-cors", &[], &["yes", "on"], names_no_origin),
    restriction("cors-allow-origin", CORS, &["shop.example", "https://*", "https://a b"], names_no_origin),
    restriction("cors-allow-methods", CORS, &["GET;POST", "*"], names_no_origin),
    restriction("cors-allow-headers", CORS, &["X-A;X-B", "*"], names_no_origin),
    restriction("cors-allow-credentials", CORS, &["yes"], |answer| answer.header("access-control-allow-credentials").is_none()),
    restriction("cors-expose-headers", CORS, &["X-A;X-B"], |answer| answer.header("access-control-expose-headers").is_none()),
    restriction("cors-max-age", CORS, &["a day"], |answer| !["1728000"].contains(&answer.header("access-control-max-age").unwrap_or_default())),
    restriction("limit-burst-multiplier", &[("limit-rpm", "1")], &["many"], |answer| answer.status == 503),
    restriction("limit-allowlist", COUNTED, &["127.0.0.0/8,nonsense", "all"], |answer| answer.status == 503),
    restriction("limit-whitelist", COUNTED, &["127.0.0.0/8,nonsense", "all"], |answer| answer.status == 503),
];

/// Read in the code alone: no request shows them from outside.
pub(super) const UNTESTED_RESTRICTIONS: &[&str] = &[
    "auth-tls-pass-certificate-to-upstream",
    "proxy-ssl-protocols",
];

/// Settings that deny nobody: destinations, rewriting of requests and responses, timeouts, logs. `limit-rate` slows responses
/// down, and too large a body meets the default of `proxy-body-size`.
#[rustfmt::skip]
pub(super) const NOT_ACCESS_CONTROL: &[&str] = &[
    "auth-cache-key",
    "affinity", "affinity-canary-behavior", "affinity-mode", "app-root", "auth-keepalive", "auth-keepalive-requests",
    "auth-keepalive-share-vars", "auth-keepalive-timeout", "backend-protocol", "canary", "canary-by-cookie",
    "canary-by-header", "canary-by-header-pattern", "canary-by-header-value", "canary-weight", "canary-weight-total",
    "client-body-buffer-size", "connection-proxy-header", "custom-http-errors", "default-backend",
    "disable-proxy-intercept-errors", "enable-access-log", "enable-modsecurity", "enable-opentelemetry",
    "enable-owasp-core-rules", "enable-rewrite-log", "fastcgi-index", "fastcgi-params-configmap",
    "from-to-www-redirect", "http2-push-preload", "limit-rate", "limit-rate-after", "load-balance", "mirror-host",
    "mirror-request-body", "mirror-target", "modsecurity-transaction-id", "opentelemetry-operation-name",
    "opentelemetry-trust-incoming-span", "permanent-redirect", "permanent-redirect-code", "preserve-trailing-slash",
    "proxy-body-size", "proxy-buffer-size", "proxy-buffering", "proxy-buffers-number", "proxy-busy-buffers-size",
    "proxy-connect-timeout", "proxy-cookie-domain", "proxy-cookie-path", "proxy-http-version",
    "proxy-max-temp-file-size", "proxy-next-upstream", "proxy-next-upstream-timeout", "proxy-next-upstream-tries",
    "proxy-read-timeout", "proxy-redirect-from", "proxy-redirect-to", "proxy-request-buffering", "proxy-send-timeout",
    "proxy-ssl-ciphers", "proxy-ssl-server-name", "relative-redirects", "rewrite-target", "server-alias",
    "service-upstream", "session-cookie-change-on-failure", "session-cookie-conditional-samesite-none",
    "session-cookie-domain", "session-cookie-expires", "session-cookie-max-age", "session-cookie-name",
    "session-cookie-path", "session-cookie-samesite", "session-cookie-secure", "sluice.dev/eject-after",
    "sluice.dev/ejection-seconds", "sluice.dev/hash-load-factor",
    "sluice.dev/health-check-healthy-threshold", "sluice.dev/health-check-host", "sluice.dev/health-check-interval",
    "sluice.dev/health-check-path", "sluice.dev/health-check-port", "sluice.dev/health-check-status",
    "sluice.dev/health-check-timeout", "sluice.dev/health-check-unhealthy-threshold", "sluice.dev/max-ejected",
    "sluice.dev/panic-threshold", "sluice.dev/slow-start", "sluice.dev/zone-preference", "ssl-ciphers", "ssl-passthrough",
    "ssl-prefer-server-ciphers", "temporal-redirect", "temporal-redirect-code", "upstream-hash-by",
    "upstream-hash-by-subset", "upstream-hash-by-subset-size", "upstream-vhost", "use-port-in-redirects", "use-regex",
    "x-forwarded-prefix",
];
