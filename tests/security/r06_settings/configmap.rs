//! Keys of the ConfigMap. They hold for all Ingresses, so what a bad value comes to is looked at in what is translated.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sluice_translate::global::KEYS;
use sluice_translate::{Object, ObjectKey, Options, Resources, translate};

/// A guard: every path is closed with each of these values. A blank one is the default of a key, and means none.
#[rustfmt::skip]
const ACCESS_CONTROLS: &[(&str, &[&str])] = &[
    ("whitelist-source-range", &["10.0.0.0/8,nonsense", "nonsense", ",", "10.0.0.0/33", "[]"]),
    ("denylist-source-range", &["10.0.0.0/8,nonsense", "nonsense", ",", "10.0.0.0/33", "[]"]),
    ("block-cidrs", &["10.0.0.0/8,nonsense", "nonsense", ",", "{}"]),
    ("block-user-agents", &["~*(?!x)y", "good,~("]),
    ("block-referers", &["~*(?!x)y", "good,~("]),
    ("global-auth-url", &["nonsense", "ftp://a", "http://$arg_a/", "http://127.0.0.1/"]),
    ("global-auth-method", &["get", "GETS"]),
    ("global-auth-signin", &["javascript:a", "/a?$nonsense"]),
    ("global-auth-signin-redirect-param", &["a b", "a&b"]),
    ("global-auth-response-headers", &["X-User,X Y", "Host"]),
    ("global-auth-request-redirect", &["$nonsense"]),
    ("global-auth-always-set-cookie", &["yes", ""]),
    ("global-auth-cache-key", &["$nonsense", "${a"]),
    ("global-auth-cache-duration", &["", "200 5x", "x 5m"]),
    ("proxy-set-headers", &["absent", "absent/absent", "a/b/c", "sluice/unreadable-name"]),
    ("global-auth-snippet", &["proxy_set_header X-User $remote_user;"]),
    ("http-snippet", &["server { listen 80; }"]),
    ("location-snippet", &["satisfy any;", "deny nonsense;", "deny all; limit_req zone=a;", "if ($http_a ~ (?!b)) { return 403; }", "return 403; }", "rewrite ^/a /b break;"]),
    ("main-snippet", &["include a;"]),
    ("modsecurity-snippet", &["SecRuleEngine On\nSecGeoLookupDb /tmp", "SecRuleEngine"]),
    ("server-snippet", &["satisfy any;", "deny nonsense;", "deny all; limit_req zone=a;", "if ($http_a ~ (?!b)) { return 403; }", "return 403; }"]),
    ("stream-snippet", &["deny all;"]),
];

/// The effect of a value: a pointer into the translation, and the value there.
type Restriction = (
    &'static str,
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
    &'static str,
    fn() -> Value,
);

const REDIRECTED: &str = "/servers/a.example/routes/0/https_redirect/status";
const CLIENT: &str = "/global/forwarded/client_header";
const TRUST_FORWARDED: &[(&str, &str)] = &[
    ("use-forwarded-headers", "true"),
    ("enable-real-ip", "true"),
];

/// The strictest value takes the place of a bad one.
#[rustfmt::skip]
const RESTRICTIONS: &[Restriction] = &[
    ("ssl-redirect", &["yes", ""], &[], REDIRECTED, || json!(308)),
    ("force-ssl-redirect", &["yes", ""], &[("ssl-redirect", "false")], REDIRECTED, || json!(308)),
    ("proxy-real-ip-cidr", &["", " ", ",", "nonsense", "10.0.0.0/33", "0.0.0.0/0/0"], TRUST_FORWARDED, CLIENT, || Value::Null),
    ("proxy-real-ip-cidr", &["nonsense", ""], TRUST_FORWARDED, "/global/forwarded/trust_forwarded", || Value::Null),
    ("proxy-real-ip-cidr", &["10.0.0.0/8,nonsense", "nonsense,10.0.0.0/8,::/129"], TRUST_FORWARDED, "/global/forwarded/trusted_proxies", || json!(["10.0.0.0/8"])),
    ("forwarded-for-header", &["", "X Y", "\u{e9}"], TRUST_FORWARDED, CLIENT, || Value::Null),
    ("use-forwarded-headers", &["yes", ""], &[], CLIENT, || Value::Null),
    ("enable-real-ip", &["yes", ""], &[], CLIENT, || Value::Null),
    ("compute-full-forwarded-for", &["true", "yes", ""], &[], "/global/forwarded/append_forwarded_for", || Value::Null),
    ("compute-full-forwarded-for", &["true"], &[("enable-real-ip", "true")], "/global/forwarded/append_forwarded_for", || Value::Null),
    ("hide-headers", &["X-Secret,X Y", "X Y,X-Secret"], &[], "/global/hidden_headers", || json!(["server", "x-secret"])),
    ("ssl-protocols", &["TLSv1.3 TLSv9", "nonsense", ""], &[], "/global/tls/versions", || json!({"v1_2": false, "v1_3": true})),
    ("ssl-reject-handshake", &["yes", ""], &[], "/global/tls/reject_unknown_names", || json!(true)),
    ("proxy-set-headers", &["sluice/unreadable-value"], &[], "/global/request_headers", || json!([{"name": "X-User", "value": ""}])),
    ("enable-underscores-in-headers", &["yes", ""], &[], "/global/underscores_in_headers", || Value::Null),
    ("allow-backend-server-header", &["yes", ""], &[], "/global/hidden_headers", || Value::Null),
    ("hsts", &["yes", ""], &[], "/global/hsts", || Value::Null),
    ("hsts-max-age", &["a year", "", "-1"], &[], "/global/hsts", || Value::Null),
    ("hsts-include-subdomains", &["yes", ""], &[], "/global/hsts", || Value::Null),
];

/// Their defaults are the strictest values, and are what a bad value comes to. They are seen elsewhere: what may be named, what
/// may be written, who is asked where.
#[rustfmt::skip]
const STRICT_BY_DEFAULT: &[&str] = &[
    "allow-cross-namespace-resources", "allow-snippet-annotations", "annotation-value-word-blocklist",
    "annotations-risk-level", "global-allowed-response-headers", "hsts-preload", "no-auth-locations",
    "no-tls-redirect-locations", "strict-validate-path-type", "use-proxy-protocol",
];

/// Keys that deny nobody: timeouts, responses, logs, and keys that are not honoured at all.
#[rustfmt::skip]
const NOT_ACCESS_CONTROL: &[&str] = &[
    "access-log-params", "access-log-path", "add-headers", "app-root", "bind-address", "brotli-level",
    "brotli-min-length", "brotli-types", "client-body-buffer-size", "client-body-timeout",
    "client-header-buffer-size", "client-header-timeout", "custom-http-errors", "debug-connections", "default-type",
    "disable-access-log", "disable-http-access-log", "disable-ipv6", "disable-ipv6-dns",
    "disable-proxy-intercept-errors", "disable-stream-access-log", "enable-access-log-for-default-backend",
    "enable-aio-write", "enable-auth-access-log", "enable-brotli", "enable-modsecurity", "enable-multi-accept",
    "enable-ocsp", "enable-opentelemetry", "enable-owasp-modsecurity-crs", "enable-serial-reloads", "enable-syslog",
    "error-log-level", "error-log-path", "forwarded-for-proxy-protocol-header", "forwarded-host-header",
    "generate-request-id", "geoip2-autoreload-in-minutes", "grpc-buffer-size-kb", "gzip-disable", "gzip-level",
    "gzip-min-length", "gzip-types", "http-access-log-path", "http-redirect-code", "http2-max-concurrent-streams",
    "http2-max-field-size", "http2-max-header-size", "http2-max-requests", "ignore-invalid-headers", "keep-alive",
    "keep-alive-requests", "large-client-header-buffers", "limit-conn-status-code", "limit-conn-zone-variable",
    "limit-rate", "limit-rate-after", "limit-req-status-code", "load-balance", "log-format-escape-json",
    "log-format-escape-none", "log-format-stream", "log-format-upstream", "lua-shared-dicts", "map-hash-bucket-size",
    "max-worker-connections", "max-worker-open-files", "nginx-status-ipv4-whitelist", "nginx-status-ipv6-whitelist",
    "opentelemetry-config", "opentelemetry-operation-name", "opentelemetry-trust-incoming-span",
    "otel-max-export-batch-size", "otel-max-queuesize", "otel-sampler", "otel-sampler-parent-based",
    "otel-sampler-ratio", "otel-schedule-delay-millis", "otel-service-name", "otlp-collector-host",
    "otlp-collector-port", "preserve-trailing-slash", "proxy-add-original-uri-header", "proxy-body-size",
    "proxy-buffer-size", "proxy-buffering", "proxy-buffers-number", "proxy-busy-buffers-size",
    "proxy-connect-timeout", "proxy-cookie-domain", "proxy-cookie-path", "proxy-headers-hash-bucket-size",
    "proxy-headers-hash-max-size", "proxy-http-version", "proxy-max-temp-file-size", "proxy-next-upstream",
    "proxy-next-upstream-timeout", "proxy-next-upstream-tries", "proxy-protocol-header-timeout", "proxy-read-timeout",
    "proxy-redirect-from", "proxy-redirect-to", "proxy-request-buffering", "proxy-send-timeout",
    "proxy-ssl-location-only", "proxy-stream-next-upstream", "proxy-stream-next-upstream-timeout",
    "proxy-stream-next-upstream-tries", "proxy-stream-responses", "proxy-stream-timeout", "relative-redirects",
    "retry-non-idempotent", "reuse-port", "server-name-hash-bucket-size", "server-name-hash-max-size",
    "server-tokens", "service-upstream", "skip-access-log-urls", "ssl-buffer-size", "ssl-ciphers", "ssl-dh-param",
    "ssl-early-data", "ssl-ecdh-curve", "ssl-session-cache", "ssl-session-cache-size", "ssl-session-ticket-key",
    "ssl-session-tickets", "ssl-session-timeout", "stream-access-log-path", "syslog-host", "syslog-port",
    "upstream-hash-by", "upstream-hash-by-subset", "upstream-hash-by-subset-size", "upstream-keepalive-connections",
    "upstream-keepalive-requests", "upstream-keepalive-time", "upstream-keepalive-timeout", "use-geoip2", "use-gzip",
    "use-http2", "use-port-in-redirects", "variables-hash-bucket-size", "variables-hash-max-size",
    "worker-cpu-affinity", "worker-processes", "worker-shutdown-timeout",
];

fn object(kind: &str, name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"namespace": "sluice", "name": name}, "data": data})
}

/// The translation with these keys, by default and with each difference from it.
fn translated(data: &Value) -> Value {
    let mut resources = Resources::default();
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let ingress = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"namespace": "default", "name": "a"},
        "spec": {
            "ingressClassName": "nginx", "tls": [{"hosts": ["a.example"]}],
            "rules": [{"host": "a.example", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}],
        },
    });
    let class = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"},
        "spec": {"controller": "k8s.io/ingress-nginx"},
    });
    let objects = [
        ingress,
        class,
        object("ConfigMap", "sluice", data),
        object(
            "ConfigMap",
            "unreadable-value",
            &json!({"X-User": "$nonsense"}),
        ),
        object(
            "ConfigMap",
            "unreadable-name",
            &json!({"X User": "a", "X.User": "a"}),
        ),
    ];
    for object in objects {
        resources.apply(Object::from_value(object).expect("an object"));
    }
    let options = Options {
        configmap: Some(ObjectKey::new("sluice", "sluice")),
        ..Options::default()
    };
    serde_json::to_value(translate(&resources, &options).config()).expect("JSON")
}

fn data(beside: &[(&str, &str)], key: &str, value: &str) -> Value {
    let mut data: serde_json::Map<String, Value> = beside
        .iter()
        .map(|(name, value)| ((*name).to_owned(), json!(value)))
        .collect();
    data.insert(key.to_owned(), json!(value));
    Value::Object(data)
}

fn action(translated: &Value) -> &Value {
    &translated["servers"]["a.example"]["routes"][0]["action"]
}

#[test]
fn every_access_control_key_is_classified() {
    let classes: BTreeSet<&str> = ACCESS_CONTROLS
        .iter()
        .map(|(key, _)| *key)
        .chain(RESTRICTIONS.iter().map(|(key, ..)| *key))
        .chain(STRICT_BY_DEFAULT.iter().copied())
        .chain(NOT_ACCESS_CONTROL.iter().copied())
        .collect();
    let without: Vec<&str> = KEYS
        .iter()
        .map(|key| key.name)
        .filter(|name| !classes.contains(name))
        .collect();
    assert!(without.is_empty(), "keys without a class: {without:?}");
    let unknown: Vec<_> = classes
        .iter()
        .filter(|name| !KEYS.iter().any(|key| key.name == **name))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let is_access_control = |name: &&str| {
        ACCESS_CONTROLS.iter().any(|(key, _)| key == name)
            || RESTRICTIONS.iter().any(|(key, ..)| key == name)
    };
    assert!(
        !NOT_ACCESS_CONTROL
            .iter()
            .chain(STRICT_BY_DEFAULT)
            .any(is_access_control)
    );
}

#[test]
fn invalid_access_control_key_closes_every_path() {
    assert_ne!(
        *action(&translated(&data(&[], "enable-modsecurity", "true"))),
        json!("denied")
    );
    // Rules without a firewall have no effect.
    let beside = [("enable-modsecurity", "true")];
    for (key, values) in ACCESS_CONTROLS {
        for value in *values {
            let translated = translated(&data(&beside, key, value));
            assert_eq!(*action(&translated), json!("denied"), "{key}: {value:?}");
        }
    }
}

#[test]
fn invalid_restriction_takes_its_strictest_value() {
    for (key, values, beside, place, expected) in RESTRICTIONS {
        for value in *values {
            let translated = translated(&data(beside, key, value));
            // What is as by default is left out.
            let found = translated.pointer(place).cloned().unwrap_or_default();
            assert_eq!(found, expected(), "{key}: {value:?}");
            assert_ne!(*action(&translated), json!("denied"), "{key}: {value:?}");
        }
    }
}

/// Good values, and fields that they set: a name that no field has would be null above, whatever the value.
#[rustfmt::skip]
const EFFECTIVE: &[(&[(&str, &str)], &str)] = &[
    (&[("force-ssl-redirect", "true")], REDIRECTED),
    (TRUST_FORWARDED, CLIENT),
    (TRUST_FORWARDED, "/global/forwarded/trust_forwarded"),
    (TRUST_FORWARDED, "/global/forwarded/trusted_proxies"),
    (&[("compute-full-forwarded-for", "true"), ("use-forwarded-headers", "true"), ("enable-real-ip", "true")], "/global/forwarded/append_forwarded_for"),
    (&[("hide-headers", "X-Secret")], "/global/hidden_headers"),
    (&[("ssl-protocols", "TLSv1.3")], "/global/tls/versions"),
    (&[("ssl-reject-handshake", "true")], "/global/tls/reject_unknown_names"),
    (&[("enable-underscores-in-headers", "true")], "/global/underscores_in_headers"),
    (&[("hsts-max-age", "1")], "/global/hsts"),
];

#[test]
fn every_compared_field_exists_in_the_model() {
    for (settings, place) in EFFECTIVE {
        let settings: serde_json::Map<String, Value> = settings
            .iter()
            .map(|(key, value)| ((*key).to_owned(), json!(value)))
            .collect();
        let translated = translated(&Value::Object(settings));
        assert!(translated.pointer(place).is_some(), "{place}: {translated}");
    }
    for (.., place, _) in RESTRICTIONS {
        let is_set = EFFECTIVE.iter().any(|(_, known)| known == place);
        assert!(is_set || *place == "/global/request_headers", "{place}");
    }
}
