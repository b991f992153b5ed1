//! Every key of ingress-nginx's ConfigMap, as data: its default, and what Sluice makes of it.

use crate::annotations::Support;

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// As in the ConfigMap.
    pub name: &'static str,
    /// What ingress-nginx has when it is not set.
    pub default: &'static str,
    /// What becomes of it in Envoy.
    pub envoy: Support,
}

const NGINX_ONLY: &str = "a knob of nginx's own";
const NO_SNIPPETS: &str = "no raw nginx configuration; use typed keys and annotations";
const NO_EFFECT: &str = "without effect in ingress-nginx, too; use the annotation";

const fn key(name: &'static str, default: &'static str) -> Key {
    Key { name, default, envoy: Support::Reported("not served yet") }
}

impl Key {
    const fn full(mut self) -> Self {
        self.envoy = Support::Full;
        self
    }

    const fn partly(mut self, difference: &'static str) -> Self {
        self.envoy = Support::Partly(difference);
        self
    }

    const fn differs(mut self, difference: &'static str) -> Self {
        self.envoy = Support::Differs(difference);
        self
    }

    const fn needless(mut self) -> Self {
        self.envoy = Support::Needless(NGINX_ONLY);
        self
    }

    const fn instead(mut self, advice: &'static str) -> Self {
        self.envoy = Support::Reported(advice);
        self
    }
}

/// By name.
#[rustfmt::skip]
pub static KEYS: &[Key] = &[
    key("access-log-params", ""),
    key("access-log-path", "/var/log/nginx/access.log"),
    key("add-headers", "").partly("of nginx's variables those that Sluice has"),
    key("allow-backend-server-header", "false").full(),
    key("allow-cross-namespace-resources", "false").full(),
    key("allow-snippet-annotations", "false"),
    key("annotation-value-word-blocklist", "").full(),
    key("annotations-risk-level", "High").full(),
    key("app-root", "").instead(NO_EFFECT),
    key("bind-address", ""),
    key("block-cidrs", "").full(),
    key("block-referers", "").partly("patterns that RE2 and PCRE share; another one closes all paths"),
    key("block-user-agents", "").partly("patterns that RE2 and PCRE share; another one closes all paths"),
    key("brotli-level", "4"),
    key("brotli-min-length", "20"),
    key("brotli-types", ""),
    key("client-body-buffer-size", "8k"),
    key("client-body-timeout", "60").full(),
    key("client-header-buffer-size", "1k"),
    key("client-header-timeout", "60").full(),
    key("compute-full-forwarded-for", "false").full(),
    key("custom-http-errors", ""),
    key("debug-connections", ""),
    key("default-type", "text/html").needless(),
    key("denylist-source-range", "").full(),
    key("disable-access-log", "false"),
    key("disable-http-access-log", "false"),
    key("disable-ipv6", "false"),
    key("disable-ipv6-dns", ""),
    key("disable-proxy-intercept-errors", "false"),
    key("disable-stream-access-log", "false"),
    key("enable-access-log-for-default-backend", "false"),
    key("enable-aio-write", "true").needless(),
    key("enable-auth-access-log", "false").needless(),
    key("enable-brotli", "false"),
    key("enable-modsecurity", "false"),
    key("enable-multi-accept", "true").needless(),
    key("enable-ocsp", "false"),
    key("enable-opentelemetry", "false"),
    key("enable-owasp-modsecurity-crs", "false"),
    key("enable-real-ip", "false").full(),
    key("enable-serial-reloads", "false").needless(),
    key("enable-syslog", "false"),
    key("enable-underscores-in-headers", "false").full(),
    key("error-log-level", "notice"),
    key("error-log-path", "/var/log/nginx/error.log"),
    key("force-ssl-redirect", "false").full(),
    key("forwarded-for-header", "X-Forwarded-For").full(),
    key("forwarded-for-proxy-protocol-header", "X-Forwarded-For-Proxy-Protocol").needless(),
    key("forwarded-host-header", "X-Forwarded-Host"),
    key("generate-request-id", "true").full(),
    key("geoip2-autoreload-in-minutes", "0"),
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
    key("global-auth-url", "").partly("a written host or $host; the service sees no ssl-client-* headers"),
    key("grpc-buffer-size-kb", "0").needless(),
    key("gzip-disable", ""),
    key("gzip-level", "1"),
    key("gzip-min-length", "256"),
    key("gzip-types", ""),
    key("hide-headers", "").full(),
    key("hsts", "true").full(),
    key("hsts-include-subdomains", "true").full(),
    key("hsts-max-age", "31536000").full(),
    key("hsts-preload", "false").full(),
    key("http-access-log-path", ""),
    key("http-redirect-code", "308").full(),
    key("http-snippet", "").instead(NO_SNIPPETS),
    key("http2-max-concurrent-streams", "128").full(),
    key("http2-max-field-size", ""),
    key("http2-max-header-size", ""),
    key("http2-max-requests", "0"),
    key("ignore-invalid-headers", "true"),
    key("keep-alive", "75").full(),
    key("keep-alive-requests", "1000").full(),
    key("large-client-header-buffers", "4 8k"),
    key("limit-conn-status-code", "503"),
    key("limit-conn-zone-variable", ""),
    key("limit-rate", "0"),
    key("limit-rate-after", "0"),
    key("limit-req-status-code", "503").full(),
    key("load-balance", "").full(),
    key("location-snippet", "").instead(NO_SNIPPETS),
    key("log-format-escape-json", "false"),
    key("log-format-escape-none", "false"),
    key("log-format-stream", ""),
    key("log-format-upstream", ""),
    key("lua-shared-dicts", ""),
    key("main-snippet", "").instead(NO_SNIPPETS),
    key("map-hash-bucket-size", "64").needless(),
    key("max-worker-connections", "16384"),
    key("max-worker-open-files", "").needless(),
    key("modsecurity-snippet", "").instead(NO_SNIPPETS),
    key("nginx-status-ipv4-whitelist", "127.0.0.1"),
    key("nginx-status-ipv6-whitelist", "::1"),
    key("no-auth-locations", "/.well-known/acme-challenge").full(),
    key("no-tls-redirect-locations", "/.well-known/acme-challenge").full(),
    key("opentelemetry-config", "/etc/ingress-controller/telemetry/opentelemetry.toml").needless(),
    key("opentelemetry-operation-name", ""),
    key("opentelemetry-trust-incoming-span", "true"),
    key("otel-max-export-batch-size", "512"),
    key("otel-max-queuesize", "2048"),
    key("otel-sampler", "AlwaysOn"),
    key("otel-sampler-parent-based", "true"),
    key("otel-sampler-ratio", "0.01"),
    key("otel-schedule-delay-millis", "5000"),
    key("otel-service-name", "nginx"),
    key("otlp-collector-host", ""),
    key("otlp-collector-port", "4317"),
    key("preserve-trailing-slash", "false").full(),
    key("proxy-add-original-uri-header", "false").full(),
    key("proxy-body-size", "1m").full(),
    key("proxy-buffer-size", "4k"),
    key("proxy-buffering", "off").needless(),
    key("proxy-buffers-number", "4").needless(),
    key("proxy-busy-buffers-size", "").needless(),
    key("proxy-connect-timeout", "5").full(),
    key("proxy-cookie-domain", "off"),
    key("proxy-cookie-path", "off"),
    key("proxy-headers-hash-bucket-size", "64").needless(),
    key("proxy-headers-hash-max-size", "512").needless(),
    key("proxy-http-version", "1.1"),
    key("proxy-max-temp-file-size", "1024m").needless(),
    key("proxy-next-upstream", "error timeout").full(),
    key("proxy-next-upstream-timeout", "0").instead("bound retries by proxy-next-upstream-tries and proxy-read-timeout"),
    key("proxy-next-upstream-tries", "3").full(),
    key("proxy-protocol-header-timeout", "5s"),
    key("proxy-read-timeout", "60").full(),
    key("proxy-real-ip-cidr", "0.0.0.0/0").full(),
    key("proxy-redirect-from", "off"),
    key("proxy-redirect-to", "off"),
    key("proxy-request-buffering", "on"),
    key("proxy-send-timeout", "60").differs("one timeout for both directions: the longer of this and proxy-read-timeout"),
    key("proxy-set-headers", "").partly("of nginx's variables those that Sluice has"),
    key("proxy-ssl-location-only", "false"),
    key("proxy-stream-next-upstream", "true"),
    key("proxy-stream-next-upstream-timeout", "600s"),
    key("proxy-stream-next-upstream-tries", "3"),
    key("proxy-stream-responses", "1"),
    key("proxy-stream-timeout", "600s"),
    key("relative-redirects", "false").full(),
    key("retry-non-idempotent", "false").full(),
    key("reuse-port", "true"),
    key("server-name-hash-bucket-size", "").needless(),
    key("server-name-hash-max-size", "").needless(),
    key("server-snippet", "").instead(NO_SNIPPETS),
    key("server-tokens", "false"),
    key("service-upstream", "false").full(),
    key("skip-access-log-urls", ""),
    key("ssl-buffer-size", "4k"),
    key("ssl-ciphers", "").partly("ciphers with ephemeral ECDH or AES that BoringSSL has; TLS 1.3 has its own"),
    key("ssl-dh-param", ""),
    key("ssl-early-data", "false"),
    key("ssl-ecdh-curve", "auto"),
    key("ssl-protocols", "TLSv1.2 TLSv1.3").partly("TLSv1.2 and TLSv1.3"),
    key("ssl-redirect", "true").full(),
    key("ssl-reject-handshake", "false"),
    key("ssl-session-cache", "true"),
    key("ssl-session-cache-size", "10m"),
    key("ssl-session-ticket-key", ""),
    key("ssl-session-tickets", "false"),
    key("ssl-session-timeout", "10m"),
    key("stream-access-log-path", ""),
    key("stream-snippet", "").instead(NO_SNIPPETS),
    key("strict-validate-path-type", "true"),
    key("syslog-host", ""),
    key("syslog-port", "514"),
    key("upstream-hash-by", "").instead(NO_EFFECT),
    key("upstream-hash-by-subset", "false").instead(NO_EFFECT),
    key("upstream-hash-by-subset-size", "0").instead(NO_EFFECT),
    key("upstream-keepalive-connections", "320"),
    key("upstream-keepalive-requests", "10000"),
    key("upstream-keepalive-time", "1h"),
    key("upstream-keepalive-timeout", "60"),
    key("use-forwarded-headers", "false").full(),
    key("use-geoip2", "false"),
    key("use-gzip", "false"),
    key("use-http2", "true").full(),
    key("use-port-in-redirects", "false").full(),
    key("use-proxy-protocol", "false").differs("a PROXY header that names port 443 does not make the request https"),
    key("variables-hash-bucket-size", "256").needless(),
    key("variables-hash-max-size", "2048").needless(),
    key("whitelist-source-range", "").full(),
    key("worker-cpu-affinity", "").needless(),
    key("worker-processes", ""),
    key("worker-shutdown-timeout", "240s"),
];
