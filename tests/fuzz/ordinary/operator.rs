//! The operator's objects: the ConfigMap of the controller, the headers that it names, and the ports of streams.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};
use sluice_translate::global::KEYS;

use super::texts::{any_text, header_map};
use super::values::{INTEGERS, SIZES, TIMES, cidrs, header_names, list, one_of, url};
use crate::patterns;

const NAMESPACE: &str = "sluice";
/// The controller's own ConfigMap.
pub(crate) const CONFIGMAP: &str = "settings";
pub(crate) const TCP: &str = "tcp";
pub(crate) const UDP: &str = "udp";

/// All of it; `ports` are free.
pub(crate) fn operator(ports: [u16; 2]) -> impl Strategy<Value = Vec<Value>> {
    (settings(), header_map(), streams(ports[0]), streams(ports[1])).prop_map(
        |(settings, headers, tcp, udp)| {
            let maps = [(CONFIGMAP, settings), ("headers", headers), (TCP, tcp), (UDP, udp)];
            let maps = maps.map(|(name, data)| {
                let metadata = json!({ "namespace": NAMESPACE, "name": name });
                json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data })
            });
            maps.into()
        },
    )
}

fn settings() -> impl Strategy<Value = Map<String, Value>> {
    let keys: Vec<usize> = (0..KEYS.len()).collect();
    subsequence(keys, 0..30).prop_flat_map(|keys| {
        let one = |key: usize| {
            let name = KEYS[key].name;
            value(name, KEYS[key].default).prop_map(move |value| (name.to_owned(), json!(value)))
        };
        let all: Vec<_> = keys.into_iter().map(one).collect();
        all.prop_map(|all| all.into_iter().collect())
    })
}

fn value(name: &'static str, default: &'static str) -> BoxedStrategy<String> {
    let usual = by_name(name).unwrap_or_else(|| like(default));
    prop_oneof![10 => usual, 1 => any_text()].boxed()
}

/// Of the kind that the default is.
fn like(default: &'static str) -> BoxedStrategy<String> {
    let is_size = default.ends_with(['k', 'm'])
        && default.starts_with(|letter: char| letter.is_ascii_digit());
    match default {
        "true" | "false" => one_of(&["true", "false"]).boxed(),
        "on" | "off" => one_of(&["on", "off"]).boxed(),
        _ if default.parse::<i64>().is_ok() => prop_oneof![one_of(INTEGERS), one_of(TIMES)].boxed(),
        _ if is_size => prop_oneof![one_of(SIZES), one_of(TIMES)].boxed(),
        _ => prop_oneof![Just(default.to_owned()), any_text()].boxed(),
    }
}

const FORMATS: &[&str] = &[
    "$remote_addr - $remote_user [$time_local] \"$request\" $status",
    "{\"a\": \"$host\", \"b\": {\"c\": $status}}",
    "$http_x_a$sent_http_b",
    "$cookie_a $arg_b $ssl_client_s_dn",
    "100% $nonsense",
    "{\"a\": [1]}",
    "%REQ(:path)%",
];

const CLIENT_HEADERS: &[&str] = &[
    "X-Forwarded-For",
    "CF-Connecting-IP",
    "host",
    "x_y",
    ":path",
    "X-Envoy-External-Address",
];
const EXPRESSIONS: &[&str] = &[
    "off",
    "$host",
    "http://a/",
    "~^http://([^/]+)/(.*)$",
    "/$1/$uri",
    "HTTP $request_method $uri",
    "$cookie_a",
    "$nonsense",
];

fn by_name(name: &str) -> Option<BoxedStrategy<String>> {
    Some(match name {
        "proxy-set-headers" | "add-headers" => {
            one_of(&["sluice/headers", "tenant/headers", "headers", "missing"]).boxed()
        }
        "hide-headers" | "global-auth-response-headers" | "global-allowed-response-headers" => {
            header_names().boxed()
        }
        "forwarded-for-header" => one_of(CLIENT_HEADERS).boxed(),
        "block-user-agents" | "block-referers" => blocked().boxed(),
        "block-cidrs"
        | "proxy-real-ip-cidr"
        | "whitelist-source-range"
        | "denylist-source-range" => cidrs().boxed(),
        "log-format-upstream" | "log-format-stream" => one_of(FORMATS).boxed(),
        "custom-http-errors" => list(one_of(&["404", "503", "499", "x"]), 4).boxed(),
        "gzip-disable" => one_of(&[
            "msie6",
            "old|^Legacy/[1-4]",
            "MSIE [4-6]\\.",
            "(?!x)y",
            "\"$;",
        ])
        .boxed(),
        "gzip-types" | "brotli-types" => list(
            one_of(&["text/html", "*", "application/json", "text/plain text/css"]),
            4,
        )
        .boxed(),
        "global-auth-url" | "global-auth-signin" => url().boxed(),
        "large-client-header-buffers" => {
            one_of(&["4 8k", "1 1k", "1024 8m", "1 1", "0 8k"]).boxed()
        }
        "otlp-collector-host" => {
            one_of(&["otel.example", "10.0.0.9", "svc.tenant.svc", "a b", ""]).boxed()
        }
        "annotations-risk-level" => one_of(&["Critical", "High", "Low"]).boxed(),
        "otel-sampler" => one_of(&["AlwaysOn", "AlwaysOff", "TraceIdRatioBased", "x"]).boxed(),
        "otel-sampler-ratio" => one_of(&["0", "0.01", "1", "1.5", "nan"]).boxed(),
        "ssl-ecdh-curve" => one_of(&[
            "auto",
            "X25519",
            "X25519:prime256v1:secp384r1",
            "X25519MLKEM768",
            "x",
        ])
        .boxed(),
        "ssl-protocols" => one_of(&["TLSv1.2 TLSv1.3", "TLSv1.3", "TLSv1.2", "SSLv3"]).boxed(),
        "load-balance" => one_of(&["round_robin", "ewma", "least_conn"]).boxed(),
        "skip-access-log-urls" => list(one_of(&["/health", "/a\"b", "/$x", "/a b"]), 4).boxed(),
        "proxy-redirect-from"
        | "proxy-redirect-to"
        | "opentelemetry-operation-name"
        | "global-auth-cache-key" => one_of(EXPRESSIONS).boxed(),
        _ => return None,
    })
}

/// Texts, and patterns with and without regard to case.
fn blocked() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        one_of(&[
            "curl",
            "",
            "bad bot",
            "\"",
            "default",
            "hostnames",
            "volatile",
            "~*bot",
            "~^$"
        ]),
        patterns::pattern().prop_map(|pattern| format!("~{}", pattern.replace(',', "."))),
        patterns::pattern().prop_map(|pattern| format!("~*{}", pattern.replace(',', "."))),
        (300..500usize).prop_map(|length| "a".repeat(length)),
    ];
    list(one, 4)
}

fn streams(port: u16) -> impl Strategy<Value = Map<String, Value>> {
    let target = select(
        &[
            "tenant/svc:80",
            "tenant/svc:http",
            "other/svc:81:PROXY:PROXY",
            "tenant/missing:80",
            "tenant/svc:80::PROXY",
            "x",
            "a/b:c:d:e:f",
        ][..],
    );
    prop::option::of(target).prop_map(move |target| {
        target
            .map(|target| (port.to_string(), json!(target)))
            .into_iter()
            .collect()
    })
}
