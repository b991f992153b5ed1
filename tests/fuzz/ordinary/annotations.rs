//! Annotations: a few groups of them, most of the annotations of each, so that they are about something.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};
use sluice_translate::annotations::{Annotation, GROUPS};

use super::texts::{any_text, long};
use super::values::{INTEGERS, TIMES, header_names, list, of_kind, one_of};
use crate::patterns;

const PREFIX: &str = "nginx.ingress.kubernetes.io";

/// Annotations without which the others of their group have no effect.
const SWITCHES: &[(&str, &str)] = &[
    ("affinity", "cookie"),
    ("auth-secret", "auth"),
    ("auth-tls-secret", "ca"),
    ("auth-type", "basic"),
    ("auth-url", "https://auth.example/verify"),
    ("canary", "true"),
    ("default-backend", "svc"),
    ("enable-cors", "true"),
    ("mirror-target", "http://copy.example$request_uri"),
    ("proxy-ssl-secret", "ca"),
    ("sluice.dev/health-check-path", "/healthz"),
    ("use-regex", "true"),
];

pub(crate) fn annotations() -> impl Strategy<Value = Map<String, Value>> {
    let groups: Vec<usize> = (0..GROUPS.len()).collect();
    subsequence(groups, 0..5).prop_flat_map(|groups| {
        let rows = groups
            .into_iter()
            .flat_map(|group| GROUPS[group].annotations);
        // Most snippets close their paths, so they are of the few.
        let one = |row: &'static Annotation| {
            let likely = if row.name.contains("snippet") || row.name.contains("modsecurity") {
                0.05
            } else {
                0.6
            };
            prop::option::weighted(likely, value(row))
                .prop_map(move |value| value.map(|value| (key(row), json!(value))))
        };
        let all: Vec<_> = rows.map(one).collect();
        all.prop_map(|all| all.into_iter().flatten().collect())
    })
}

fn key(row: &Annotation) -> String {
    if row.name.contains('/') {
        row.name.to_owned()
    } else {
        format!("{PREFIX}/{}", row.name)
    }
}

/// Mostly one of its grammar.
fn value(row: &'static Annotation) -> BoxedStrategy<String> {
    let switch = SWITCHES.iter().find(|(name, _)| *name == row.name);
    let usual = by_name(row.name).unwrap_or_else(|| of_kind(row.value));
    let usual = match switch {
        Some((_, on)) => prop_oneof![3 => Just((*on).to_owned()), 1 => usual].boxed(),
        None => usual,
    };
    prop_oneof![12 => usual, 1 => any_text()].boxed()
}

const TARGETS: &[&str] = &[
    "/",
    "/$1",
    "/$2",
    "/x/$1/$2",
    "/$9",
    "https://a.example/$1",
    "http://a.example:8443",
    "/a b",
    "/a\\b",
    "/a'b(c)",
    "$1",
    "/%41",
    "/a%b",
    "https://a.example:0/",
    "/$1$2$3$4$5$6$7$8$9",
];

const TEXTS_WITH_VARIABLES: &[&str] = &[
    "$remote_addr",
    "$http_x_user-$cookie_sid",
    "~^http://([^/]+)/(.*)$",
    "~*^/a(.+) /b/$1$2",
    "/$1/$uri",
    "${arg_a}",
    "$host$request_uri",
    "a",
    "$binary_remote_addr",
    "$scheme://$host",
    "$req_id",
    "$uri",
    "$nonsense",
    "text with 100%",
    "\"quoted\"",
    "off",
    "http://a/",
    "~^/a",
    "a.example",
];

/// Statements of snippets that may be served.
const STATEMENTS: &[&str] = &[
    "more_set_headers 'X-A: b; c';",
    "more_set_headers \"X-B: $http_origin\" 'Strict-Transport-Security: max-age=1';",
    "more_clear_headers Via 'X-Powered-By Server';",
    "add_header X-D '100% \\\"quoted\\\"';",
    "add_header X-D two always;",
    "proxy_hide_header X-Runtime;",
    "more_set_headers 'Server: a\"b; }' X-C: d; more_clear_headers X-Secret 'X-D \" e';",
    "proxy_hide_header X-Frame-Options; add_header X-Frame-Options 'DENY\"' always;",
    "proxy_set_header X-F $remote_addr$scheme;",
    "proxy_set_header X-G \"\";",
    "more_set_input_headers 'X-H: $arg_a';",
    "proxy_set_header Connection upgrade;",
    "proxy_set_header X-Forwarded-Proto https; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
    "rewrite ^/a(/.*)$ $1 break;",
    "rewrite (.*) /all$1 break;",
    "limit_rate 10k; proxy_ssl_name pods.test; proxy_ssl_server_name on;",
    "deny all;",
    "satisfy any;",
    "proxy_set_header X-Remote-User $remote_user; proxy_set_header X-Request-Start \"t=${msec}\\\"\";",
    "deny 10.0.0.0/8; allow all;",
    "allow 10.0.0.1; deny 10.0.0.0/8; allow ::1; deny ::/0;",
    "if ($http_x_a ~* '(a|b)\\\"; }') { return 403 \"100% {\"; }",
    "if ($request_method !~ ^GET$) { set $f a; }",
    "if ($cookie_a != 'b;c') { set $f \"${f}b\"; }",
    "if ($f = ab) { return 302 https://b.test$request_uri; }",
    "if ($host = shop.test) { return 200 '; } deny all; #'; }",
    "if ($request_uri ~ '^/old/(.*)') { return 301 /new/$1; }",
    "if ($uri ~* '^/(a b|%|\"#?é)(/.*)\"; } $') { return 302 https://b.test:8443$2$is_args$args; }",
    "if ($args ~ '(^|&)a=\"; }') { return 403; }",
    "if ($arg_a !~ '^[^b\"]{1,9}$') { set $f a; }",
    "if ($query_string = 'a=%20\"; }') { return 403; }",
    "if ($http_cookie ~* '(a|b)=\"; }') { return 403; }",
    "if ($remote_addr !~ '^10\\.\"; }') { return 403; }",
    "if ($http_origin ~ '^https://\"; }') { add_header Access-Control-Allow-Origin $http_origin always; add_header Vary 'a\"; }'; }",
    "if ($uri ~* '\\.(css|js)$') { more_set_headers 'Cache-Control: public \"; }'; }",
    "default_type application/json;",
    "return 410;",
    "more_set_headers 'Strict-Transport-Security: max-age=1; \"x\"';",
    "access_log off;",
    "limit_req_status 429; limit_conn_status 420;",
    "grpc_next_upstream error timeout http_502 non_idempotent; grpc_next_upstream_tries 5; grpc_next_upstream_timeout 10;",
    "client_header_timeout 10s; client_body_timeout 10s; send_timeout 5; keepalive_timeout 600s; keepalive_time 1d; keepalive_requests 1000;",
    "if ($http_x_forwarded_proto != 'https\"; }') { return 403; }",
    "rewrite ^/(.*)\\.php$ /$1.html permanent;",
    "rewrite 'a b\"; } #' 'https://b.test/$1/%20\"' redirect;",
    "proxy_read_timeout 5;",
    "location = /health { auth_basic off; default_type text/plain; return 200 'a\"; } b {'; }",
    "location = /auth { internal; proxy_pass http://login.test/\"; proxy_pass_request_body off; }",
    "location /metrics { allow 10.0.0.0/8; deny all; }",
    "location ^~ /.git { return 404; }",
    "location @refused { more_set_headers 'X-A: \"; }'; return 403 'a\"; } b {'; }",
    "location @away { return 302 'https://b.test/\"; }'; }",
    "location ~ \\.(php|asp)$ { deny all; }",
    "location ~* '^/(a b|%20|\"c\")' { if ($http_a) { return 403; } }",
];

const ALIASES: &[&str] = &[
    "alias.test",
    "*.alias.test",
    "a.shop.test",
    "shop.test",
    "~^a",
    "~^(www|shop|a\\.shop)\\.test$",
    "~^(?<name>.+)\\.alias\\.test$",
    "~^a{9}[a-z]?\\.test$",
];

fn by_name(name: &str) -> Option<BoxedStrategy<String>> {
    Some(match name {
        "rewrite-target" => prop_oneof![5 => one_of(TARGETS), 1 => long().prop_map(|text| format!("/{text}"))].boxed(),
        "app-root" | "x-forwarded-prefix" => {
            prop_oneof![3 => one_of(&["/", "/app", "/a b", "/a%b", "/$1", "$2", "/$host", "/$service_name/$1"]), 1 => long().prop_map(|text| format!("/{text}"))]
                .boxed()
        }
        "upstream-hash-by" | "auth-cache-key" | "upstream-vhost" | "proxy-redirect-from" | "proxy-redirect-to" | "auth-realm"
        | "auth-request-redirect" | "session-cookie-path" | "session-cookie-domain" | "proxy-cookie-path" | "proxy-cookie-domain" => {
            one_of(TEXTS_WITH_VARIABLES).boxed()
        }
        "configuration-snippet" | "server-snippet" => prop::collection::vec(one_of(STATEMENTS), 1..6)
            .prop_map(|all| all.join("\n"))
            .boxed(),
        "auth-tls-error-page" => one_of(&["@refused", "@away", "/login", "https://a.example/\"; }"]).boxed(),
        "auth-tls-match-cn" => patterns::pattern().prop_map(|pattern| format!("CN={pattern}")).boxed(),
        "auth-response-headers" | "cors-allow-headers" | "cors-expose-headers" => header_names().boxed(),
        "cors-allow-origin" => origins().boxed(),
        "cors-allow-methods" => list(one_of(&["GET", "PUT", "OPTIONS", "*"]), 5).boxed(),
        "custom-http-errors" => statuses().boxed(),
        "server-alias" => list(one_of(ALIASES), 5).boxed(),
        "canary-by-header" | "session-cookie-name" | "canary-by-cookie" | "auth-signin-redirect-param" => {
            one_of(&["X-Canary", "cookie", "host", ":path", "a b", "x_y", "rd"]).boxed()
        }
        "load-balance" => one_of(&["round_robin", "ewma", "least_conn", "ip_hash", "nonsense"]).boxed(),
        "backend-protocol" => one_of(&["HTTP", "HTTPS", "GRPC", "GRPCS", "AUTO_HTTP", "FCGI"]).boxed(),
        "proxy-next-upstream" => list(one_of(&["error timeout", "http_503 non_idempotent", "off", "invalid_header http_404"]), 2).boxed(),
        "auth-cache-duration" => one_of(&["200 202 401 5m", "any 1s", "200 1h,403 10s", "5m"]).boxed(),
        "proxy-ssl-protocols" => one_of(&["TLSv1.2", "TLSv1.3", "TLSv1.2 TLSv1.3", "TLSv1"]).boxed(),
        "ssl-ciphers" | "proxy-ssl-ciphers" => one_of(&["AES128-SHA:AES256-SHA", "ECDHE-RSA-AES128-GCM-SHA256", "ALL:!aNULL"]).boxed(),
        "proxy-next-upstream-timeout" => one_of(TIMES).boxed(),
        "satisfy" => one_of(&["any", "all"]).boxed(),
        "limit-rps" | "limit-rpm" | "limit-connections" | "limit-burst-multiplier" => {
            prop_oneof![2 => one_of(&["1", "5", "100"]), 1 => one_of(INTEGERS)].boxed()
        }
        _ => return None,
    })
}

const ORIGINS: &[&str] = &[
    "https://a.example",
    "http://b.example:8080",
    "https://*.c.example",
    "null",
    "*",
    "tauri://localhost",
    "https://*.kiosk.example:8443",
    "nonsense",
    "a+b.c-d://x.example",
];

fn origins() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => list(one_of(ORIGINS), 8),
        1 => select(&[10usize, 60, 199, 200, 201, 400][..]).prop_map(|count| {
            let all: Vec<String> = (0..count).map(|number| format!("https://o{number}.example")).collect();
            all.join(", ")
        }),
        1 => (1..64usize).prop_map(|length| format!("https://*.{}", vec!["s".repeat(length); 3].join("."))),
        1 => (1..300usize).prop_map(|length| format!("{}://*.a.example", "s".repeat(length))),
    ]
}

fn statuses() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => list(one_of(&["404", "503", "400", "499", "500", "599", "600", "200", "301", "x"]), 5),
        1 => (400..599u16).prop_map(|last| {
            let all: Vec<String> = (400..=last).map(|status| status.to_string()).collect();
            all.join(",")
        }),
    ]
}
