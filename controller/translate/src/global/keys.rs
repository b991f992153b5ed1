//! Every key of ingress-nginx's ConfigMap, as data: its default, and what Sluice makes of it.

use sluice_syntax::settings::body::{BUFFER_COUNTS, BUFFER_SIZES};

use crate::support::{NO_SPANS, Support, Supports, VARIABLES_NO_PATTERNS};

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

const WHERE_ASKED: &str = "with --access-log";
const LOG_PATH: &str =
    "with --access-log; /dev/stdout (and nginx's usual path, which is the same) or /dev/stderr";
const LOG_FORMAT: &str =
    "with --access-log; without it JSON. Unsupported variables are reported and logged as -";
const KNOB: &str = "internal to nginx";
const CHOSEN: &str = "chosen by Sluice";
const NO_SNIPPETS: &str = "no raw nginx configuration; use typed keys and annotations";
const WAF: &str = "put a web application firewall in front of Sluice";
const NO_TRACES: Support = Support::Unsupported(NO_SPANS);
const BATCHES: &str = "Envoy exports batches of 512 spans, or every 5 seconds";
const NO_BROTLI: &str = "this nginx has no Brotli; use gzip (use-gzip)";
const NO_EFFECT: &str = "without effect in ingress-nginx too; use the annotation";

const fn key(name: &'static str, default: &'static str) -> Key {
    Key {
        name,
        default,
        supports: Supports::both(Support::Unsupported("not served yet")),
        names_config_map: false,
    }
}

impl Key {
    const fn names_config_map(mut self) -> Self {
        self.names_config_map = true;
        self
    }

    const fn full(self) -> Self {
        self.everywhere(Support::Full)
    }

    const fn partly(self, difference: &'static str) -> Self {
        self.everywhere(Support::Partly(difference))
    }

    const fn differs(self, difference: &'static str) -> Self {
        self.everywhere(Support::Differs(difference))
    }

    /// Of nginx alone, where Sluice has made up its mind.
    const fn needless(self) -> Self {
        self.everywhere(Support::NotNeeded(KNOB))
            .nginx(Support::NotNeeded(CHOSEN))
    }

    const fn instead(self, advice: &'static str) -> Self {
        self.everywhere(Support::Unsupported(advice))
    }

    /// In nginx this becomes of it, whatever Envoy does.
    const fn nginx(mut self, support: Support) -> Self {
        self.supports.nginx = support;
        self
    }

    /// In nginx it is as in ingress-nginx, whatever Envoy does.
    const fn native(self) -> Self {
        self.nginx(Support::Full)
    }

    const fn everywhere(mut self, support: Support) -> Self {
        self.supports = Supports::both(support);
        self
    }
}

/// By name.
#[rustfmt::skip]
pub static KEYS: &[Key] = &[
    key("access-log-params", "").instead("the log is written unbuffered and uncompressed; leave it out").nginx(Support::Unsupported("the log is flushed within seconds; leave it out")),
    key("access-log-path", "/var/log/nginx/access.log").partly(LOG_PATH),
    key("add-headers", "").names_config_map().partly("nginx variables that Sluice supports"),
    key("allow-backend-server-header", "false").full(),
    key("allow-cross-namespace-resources", "false").full(),
    key("allow-snippet-annotations", "false").partly("they are admitted, but never served"),
    key("annotation-value-word-blocklist", "").full(),
    key("annotations-risk-level", "High").full(),
    key("app-root", "").instead(NO_EFFECT),
    key("bind-address", "").instead("use --bind-address"),
    key("block-cidrs", "").full(),
    key("block-referers", "").partly("patterns that RE2 and PCRE share; with any other, all paths answer 503"),
    key("block-user-agents", "").partly("patterns that RE2 and PCRE share; with any other, all paths answer 503"),
    key("brotli-level", "4").full().nginx(Support::Unsupported(NO_BROTLI)),
    key("brotli-min-length", "20").full().nginx(Support::Unsupported(NO_BROTLI)),
    key("brotli-types", "").full().nginx(Support::Unsupported(NO_BROTLI)),
    key("client-body-buffer-size", "8k").needless().native(),
    key("client-body-timeout", "60").full(),
    key("client-header-buffer-size", "1k").needless(),
    key("client-header-timeout", "60").full(),
    key("compute-full-forwarded-for", "false").full(),
    key("custom-http-errors", "").partly("the error service gets a GET; responses before the end of the request body are not replaced").native(),
    key("debug-connections", "").instead("use the admin interface of Envoy, and its log").nginx(Support::Unsupported("use the log of nginx")),
    key("default-type", "text/html").needless(),
    key("denylist-source-range", "").full(),
    key("disable-access-log", "false").partly(WHERE_ASKED),
    key("disable-http-access-log", "false").partly(WHERE_ASKED),
    key("disable-ipv6", "false").instead("use --bind-address"),
    key("disable-ipv6-dns", "").instead("IPv6 addresses of names are used where there are no IPv4 addresses"),
    key("disable-proxy-intercept-errors", "false").partly("errors of the data plane itself are not replaced either"),
    key("disable-stream-access-log", "false").partly(WHERE_ASKED),
    key("enable-access-log-for-default-backend", "false").instead("--access-log logs every request, also those without an Ingress"),
    key("enable-aio-write", "true").needless(),
    key("enable-auth-access-log", "false").needless(),
    key("enable-brotli", "false").full().nginx(Support::Unsupported(NO_BROTLI)),
    key("enable-modsecurity", "false").instead(WAF),
    key("enable-multi-accept", "true").needless(),
    key("enable-ocsp", "false").instead("use short-lived certificates"),
    key("enable-opentelemetry", "false").full().nginx(NO_TRACES),
    key("enable-owasp-modsecurity-crs", "false").instead(WAF),
    key("enable-real-ip", "false").full(),
    key("enable-serial-reloads", "false").needless(),
    key("enable-syslog", "false").instead("logs go to standard output; use a log collector"),
    key("enable-underscores-in-headers", "false").full(),
    key("error-log-level", "notice").instead("errors of every level go to standard error"),
    key("error-log-path", "/var/log/nginx/error.log").instead("errors go to standard error"),
    key("force-ssl-redirect", "false").full(),
    key("forwarded-for-header", "X-Forwarded-For").full(),
    key("forwarded-for-proxy-protocol-header", "X-Forwarded-For-Proxy-Protocol").needless(),
    key("forwarded-host-header", "X-Forwarded-Host").instead("X-Forwarded-Host is read"),
    key("generate-request-id", "true").full(),
    key("geoip2-autoreload-in-minutes", "0").instead("look up X-Real-IP in the upstreams"),
    key("global-allowed-response-headers", "").full(),
    key("global-auth-always-set-cookie", "false").full(),
    key("global-auth-cache-duration", "200 202 401 5m").full(),
    key("global-auth-cache-key", "").full(),
    key("global-auth-method", "").full(),
    key("global-auth-request-redirect", "").full(),
    key("global-auth-response-headers", "").full(),
    key("global-auth-signin", "").full(),
    key("global-auth-signin-redirect-param", "rd").full(),
    key("global-auth-snippet", "").instead(NO_SNIPPETS),
    key("global-auth-url", "").partly("a literal host or $host; the service gets no ssl-client-* headers"),
    key("grpc-buffer-size-kb", "0").needless(),
    key("gzip-disable", "").instead("clients without gzip do not accept it"),
    key("gzip-level", "1").full(),
    key("gzip-min-length", "256").full(),
    key("gzip-types", "").full().nginx(Support::Partly("names of up to 46 characters; longer ones are reported")),
    key("hide-headers", "").full(),
    key("hsts", "true").full(),
    key("hsts-include-subdomains", "true").full(),
    key("hsts-max-age", "31536000").full(),
    key("hsts-preload", "false").full(),
    key("http-access-log-path", "").partly(LOG_PATH),
    key("http-redirect-code", "308").full(),
    key("http-snippet", "").instead(NO_SNIPPETS),
    key("http2-max-concurrent-streams", "128").full(),
    key("http2-max-field-size", "").instead("use large-client-header-buffers"),
    key("http2-max-header-size", "").instead("use large-client-header-buffers"),
    key("http2-max-requests", "0").instead("use keep-alive-requests"),
    key("ignore-invalid-headers", "true").instead("requests with invalid headers are answered with 400").nginx(Support::Unsupported("invalid headers are dropped")),
    key("keep-alive", "75").full(),
    key("keep-alive-requests", "1000").full(),
    key("large-client-header-buffers", "4 8k").partly("the product limits all request headers together; the default is 60 KiB").nginx(Support::Partly("up to 1024 buffers, of 1k to 8m each")),
    key("limit-conn-status-code", "503").full(),
    key("limit-conn-zone-variable", "").instead("clients are identified by address"),
    key("limit-rate", "0").full(),
    key("limit-rate-after", "0").instead("limit-rate applies from the first byte").native(),
    key("limit-req-status-code", "503").partly("statuses that have a name (not 444, 499)").nginx(Support::Full),
    key("load-balance", "").full(),
    key("location-snippet", "").instead(NO_SNIPPETS),
    key("log-format-escape-json", "false").partly(WHERE_ASKED),
    key("log-format-escape-none", "false").partly(WHERE_ASKED),
    key("log-format-stream", "").partly(LOG_FORMAT),
    key("log-format-upstream", "").partly(LOG_FORMAT),
    key("lua-shared-dicts", "").needless(),
    key("main-snippet", "").instead(NO_SNIPPETS),
    key("map-hash-bucket-size", "64").needless(),
    key("max-worker-connections", "16384").partly("of each Service behind ports without HTTP or ssl-passthrough, up to 131072; other connections are not limited").nginx(Support::Partly("each worker has as many, from 16384 to 131072, and each port without HTTP a quarter of it")),
    key("max-worker-open-files", "").needless(),
    key("modsecurity-snippet", "").instead(NO_SNIPPETS),
    key("nginx-status-ipv4-whitelist", "127.0.0.1").instead("/nginx_status is not there; /metrics on port 10254 is"),
    key("nginx-status-ipv6-whitelist", "::1").instead("/nginx_status is not there; /metrics on port 10254 is"),
    key("no-auth-locations", "/.well-known/acme-challenge").full(),
    key("no-tls-redirect-locations", "/.well-known/acme-challenge").full(),
    key("opentelemetry-config", "/etc/ingress-controller/telemetry/opentelemetry.toml").needless(),
    key("opentelemetry-operation-name", "").partly("nginx variables that Sluice supports").nginx(NO_TRACES),
    key("opentelemetry-trust-incoming-span", "true").full().nginx(NO_TRACES),
    key("otel-max-export-batch-size", "512").instead(BATCHES).nginx(NO_TRACES),
    key("otel-max-queuesize", "2048").full().nginx(NO_TRACES),
    key("otel-sampler", "AlwaysOn").full().nginx(NO_TRACES),
    key("otel-sampler-parent-based", "true").full().nginx(NO_TRACES),
    key("otel-sampler-ratio", "0.01").full().nginx(NO_TRACES),
    key("otel-schedule-delay-millis", "5000").instead(BATCHES).nginx(NO_TRACES),
    key("otel-service-name", "nginx").full().nginx(NO_TRACES),
    key("otlp-collector-host", "").full().nginx(NO_TRACES),
    key("otlp-collector-port", "4317").full().nginx(NO_TRACES),
    key("preserve-trailing-slash", "false").full(),
    key("proxy-add-original-uri-header", "false").full(),
    key("proxy-body-size", "1m").full(),
    key("proxy-buffer-size", "4k").instead("response headers may have 60 KiB in total").nginx(Support::Partly(BUFFER_SIZES)),
    key("proxy-buffering", "off").needless().native(),
    key("proxy-buffers-number", "4").needless().nginx(Support::Partly(BUFFER_COUNTS)),
    key("proxy-busy-buffers-size", "").needless().native(),
    key("proxy-connect-timeout", "5").full(),
    key("proxy-cookie-domain", "off").partly(VARIABLES_NO_PATTERNS),
    key("proxy-cookie-path", "off").partly(VARIABLES_NO_PATTERNS),
    key("proxy-headers-hash-bucket-size", "64").needless(),
    key("proxy-headers-hash-max-size", "512").needless(),
    key("proxy-http-version", "1.1").instead("upstreams are reached over HTTP/1.1").native(),
    key("proxy-max-temp-file-size", "1024m").needless().native(),
    key("proxy-next-upstream", "error timeout").full(),
    key("proxy-next-upstream-timeout", "0").instead("bound retries by proxy-next-upstream-tries and proxy-read-timeout").native(),
    key("proxy-next-upstream-tries", "3").full(),
    key("proxy-protocol-header-timeout", "5s").partly("together with the first message of TLS").nginx(Support::Unsupported("the PROXY header has the time of client-header-timeout")),
    key("proxy-read-timeout", "60").full(),
    key("proxy-real-ip-cidr", "0.0.0.0/0").full(),
    key("proxy-redirect-from", "off").partly(VARIABLES_NO_PATTERNS),
    key("proxy-redirect-to", "off").partly(VARIABLES_NO_PATTERNS),
    key("proxy-request-buffering", "on").instead("upstreams receive bodies as they arrive; set proxy-body-size, and timeouts in the upstreams").native(),
    key("proxy-send-timeout", "60").differs("one timeout for both directions: the longer of this and proxy-read-timeout").native(),
    key("proxy-set-headers", "").names_config_map().partly("nginx variables that Sluice supports"),
    key("proxy-ssl-location-only", "false").instead("proxy-ssl-* hold for the paths of their Ingress"),
    key("proxy-stream-next-upstream", "true").full(),
    key("proxy-stream-next-upstream-timeout", "600s").instead("use proxy-stream-next-upstream-tries and proxy-connect-timeout").native(),
    key("proxy-stream-next-upstream-tries", "3").partly("0 (no limit) and more than 16 are 16"),
    key("proxy-stream-responses", "1").instead("a client's datagrams go to one pod until proxy-stream-timeout of silence").native(),
    key("proxy-stream-timeout", "600s").full(),
    key("relative-redirects", "false").full(),
    key("retry-non-idempotent", "false").full(),
    key("reuse-port", "true").instead("workers always share their ports"),
    key("server-name-hash-bucket-size", "").needless(),
    key("server-name-hash-max-size", "").needless(),
    key("server-snippet", "").instead(NO_SNIPPETS),
    key("server-tokens", "false").instead("no Server header names Sluice"),
    key("service-upstream", "false").full(),
    key("skip-access-log-urls", "").partly("with --access-log; paths in their own case, not patterns").nginx(Support::Partly("with --access-log; not patterns")),
    key("ssl-buffer-size", "4k").needless(),
    key("ssl-ciphers", "").partly("ciphers with ephemeral ECDH or AES that BoringSSL has; TLS 1.3 has its own").nginx(Support::Partly("ciphers with ephemeral ECDH or AES; TLS 1.3 has its own")),
    key("ssl-dh-param", "").instead("keys are exchanged on curves: ssl-ecdh-curve"),
    key("ssl-early-data", "false").instead("early data can be replayed, so nobody may send it"),
    key("ssl-ecdh-curve", "auto").partly("curves that BoringSSL has").nginx(Support::Partly("of X25519, prime256v1, secp384r1, secp521r1 and X25519MLKEM768 those that its OpenSSL has; others are reported")),
    key("ssl-protocols", "TLSv1.2 TLSv1.3").partly("TLSv1.2 and TLSv1.3"),
    key("ssl-redirect", "true").full(),
    key("ssl-reject-handshake", "false").full(),
    key("ssl-session-cache", "true").instead("sessions are resumed, by tickets whose key only one Envoy knows").nginx(Support::Unsupported("sessions are resumed from a cache that all workers share, without tickets")),
    key("ssl-session-cache-size", "10m").needless(),
    key("ssl-session-ticket-key", "").instead("sessions are resumed, by tickets whose key only one Envoy knows").nginx(Support::Unsupported("sessions are resumed from a cache that all workers share, without tickets")),
    key("ssl-session-tickets", "false").instead("sessions are resumed, by tickets whose key only one Envoy knows").nginx(Support::Unsupported("sessions are resumed from a cache that all workers share, without tickets")),
    key("ssl-session-timeout", "10m").full(),
    key("stream-access-log-path", "").partly(LOG_PATH),
    key("stream-snippet", "").instead(NO_SNIPPETS),
    key("strict-validate-path-type", "true").full(),
    key("syslog-host", "").instead("logs go to standard output; use a log collector"),
    key("syslog-port", "514").instead("logs go to standard output; use a log collector"),
    key("upstream-hash-by", "").instead(NO_EFFECT),
    key("upstream-hash-by-subset", "false").instead(NO_EFFECT),
    key("upstream-hash-by-subset-size", "0").instead(NO_EFFECT),
    key("upstream-keepalive-connections", "320").instead("connections are kept for upstream-keepalive-timeout, however many").nginx(Support::Unsupported("each worker keeps 320 for each way in which pods are spoken to")),
    key("upstream-keepalive-requests", "10000").full(),
    key("upstream-keepalive-time", "1h").full(),
    key("upstream-keepalive-timeout", "60").full(),
    key("use-forwarded-headers", "false").full(),
    key("use-geoip2", "false").instead("look up X-Real-IP in the upstreams"),
    key("use-gzip", "false").full(),
    key("use-http2", "true").full(),
    key("use-port-in-redirects", "false").full(),
    key("use-proxy-protocol", "false").differs("a PROXY header that names port 443 does not make the request https"),
    key("variables-hash-bucket-size", "256").needless(),
    key("variables-hash-max-size", "2048").needless(),
    key("whitelist-source-range", "").full(),
    key("worker-cpu-affinity", "").needless(),
    key("worker-processes", "").instead("use --envoy-concurrency").nginx(Support::Unsupported("use --nginx-workers")),
    key("worker-shutdown-timeout", "240s").instead("use --drain-timeout"),
];
