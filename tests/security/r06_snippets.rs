//! R6: a snippet is never served, so one that may guard closes its paths, whatever annotation or key it stands in; one that
//! guards nothing closes nothing.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    access_control_snippet_closes_only_its_paths,
    server_snippet_closes_the_paths_of_its_namespace,
    access_control_snippet_of_the_operator_closes_everything,
);

/// Each of these keeps somebody out, or a header away from somebody, in ingress-nginx.
const ACCESS_CONTROLLING: &[&str] = &[
    r#"proxy_set_header X-Remote-User "";"#,
    "proxy_set_header X-Remote-User $remote_user;",
    "grpc_set_header X-Remote-User \"\";",
    "more_clear_input_headers X-Remote-User;",
    "more_set_input_headers 'X-Remote-User: nobody';",
    "proxy_pass_request_headers off;",
    "proxy_hide_header X-Secret;",
    "more_clear_headers X-Secret;",
    "more_set_headers 'X-Secret:';",
    "sub_filter 'secret' '';",
    "deny all;",
    "satisfy any;",
    "auth_basic x;",
    "auth_request /auth;",
    "limit_req zone=a;",
    "limit_except GET { deny all; }",
    "client_max_body_size 1k;",
    "if ($http_x = 1) { return 403; }",
    "if ($http_x = 1) { proxy_set_header X-Remote-User \"\"; }",
    "rewrite ^/admin / break;",
    "return 403;",
    "location /admin { }",
    "set $args \"\";",
    "proxy_ssl_verify on;",
    "valid_referers none;",
    "access_by_lua_block { ngx.exit(403) }",
    "include /etc/nginx/deny.conf;",
    "nobody_knows_this on;",
    "expires 1d; a\"b; deny all; \"",
    "expires 1d; deny all",
    "expires 1d; }",
];

/// And these do not.
const HARMLESS: &[&str] = &[
    "",
    "# deny all;",
    "more_set_headers 'X-Frame-Options: DENY' \"X-Note: deny all;\";",
    "add_header X-Note 'a; deny all;' always; expires 1d; etag off;",
    "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection \"upgrade\"; proxy_set_header Host $host;",
    "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Real-IP $remote_addr;",
    "proxy_hide_header X-Powered-By; more_clear_headers Server;",
    "client_max_body_size 50m; proxy_read_timeout 300s; proxy_ssl_verify off;",
    "if ($request_uri ~* \\.(css|js)$) { expires 1y; add_header Cache-Control public; }",
    "sub_filter '</head>' '<script src=\"/a.js\"></script></head>'; sub_filter_once on;",
];

/// Those that close the paths of their Ingress and nothing else.
const SNIPPETS: &[&str] = &["configuration-snippet", "auth-snippet"];

async fn forged(sluice: &Sluice, host: &str) -> Result<http::Response> {
    http::send(
        sluice.http(),
        &Request::get(host, "/").header("X-Remote-User", "admin"),
    )
    .await
}

/// The operator's ConfigMap that admits snippets.
fn config_map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "sluice", "name": "sluice"}, "data": data})
}

fn with_configmap(plane: Plane, tenants: &Tenants) -> Options {
    plane
        .options(&tenants.manifests)
        .arguments(vec!["--configmap".to_owned(), "sluice/sluice".to_owned()])
}

async fn access_control_snippet_closes_only_its_paths(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let mut ingresses = Vec::new();
    let mut expected = Vec::new();
    for (annotation, kind) in SNIPPETS.iter().zip(["configuration", "auth"]) {
        let all = ACCESS_CONTROLLING
            .iter()
            .map(|text| (text, 503))
            .chain(HARMLESS.iter().map(|text| (text, 200)));
        for (number, (text, status)) in all.enumerate() {
            let name = format!("{kind}-{number}");
            let host = format!("{name}.test");
            let ingress = Ingress::new(OWNER, &name)
                .annotation(annotation, text)
                .host(&host);
            ingresses.push(ingress.path("/", "web", 80).to_json());
            expected.push((host, *annotation, *text, status));
        }
    }
    ingresses.push(
        Ingress::new(OWNER, "last")
            .host("last.test")
            .path("/", "web", 80)
            .to_json(),
    );
    tenants.write("all.yaml", &ingresses)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("last.test", "/", 200).await?;
    let mut wrong = Vec::new();
    for (host, annotation, text, status) in expected {
        let answer = forged(&sluice, &host).await?;
        if answer.status != status {
            wrong.push(format!(
                "{annotation}: {text:?}: {} for {status}",
                answer.status
            ));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    sluice.stop()
}

/// As in ingress-nginx, where it stands in the server; but what it does there to others is none of its business.
async fn server_snippet_closes_the_paths_of_its_namespace(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let on = |namespace: &str, name: &str, path: &str| {
        Ingress::new(namespace, name)
            .host("shared.test")
            .path(path, "web", 80)
    };
    let guarding = on(OWNER, "b", "/b").annotation("server-snippet", "deny all;");
    let elsewhere = Ingress::new(OWNER, "d")
        .host("other.test")
        .path("/", "web", 80);
    let all = [
        on(OWNER, "a", "/a"),
        guarding,
        on(OWNER, "c", "/c"),
        on(crate::setup::FOREIGN, "e", "/e"),
        elsewhere,
    ];
    tenants.write("all.yaml", &all.map(|ingress| ingress.to_json()))?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("other.test", "/", 200).await?;
    for path in ["/a", "/b", "/c"] {
        let answer = sluice.get("shared.test", path).await?;
        ensure!(answer.status == 503, "{path}: {}", answer.status);
    }
    ensure!(
        sluice.get("shared.test", "/e").await?.status == 200,
        "the other namespace"
    );
    sluice.stop()
}

async fn access_control_snippet_of_the_operator_closes_everything(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.write(
        "web.yaml",
        &[Ingress::new(OWNER, "a")
            .host("a.test")
            .path("/", "web", 80)
            .to_json()],
    )?;
    let harmless = json!({
        "server-snippet": "gzip on;", "location-snippet": "expires 1d;", "main-snippet": "env TZ;",
        "http-snippet": "map $http_a $b { default 1; } limit_req_zone $b zone=b:1m rate=1r/s;",
        "stream-snippet": "server { listen 9000; proxy_pass a; }", "global-auth-snippet": "proxy_read_timeout 5s;",
        "modsecurity-snippet": "SecRuleEngine DetectionOnly",
    });
    tenants.write("operator.yaml", &[config_map(&harmless)])?;
    let sluice = with_configmap(plane, &tenants).start().await?;
    sluice.wait_for_status("a.test", "/", 200).await?;
    let guarding = [
        ("server-snippet", "satisfy any;"),
        ("server-snippet", "rewrite ^/a /b permanent;"),
        ("server-snippet", "location @a { return 403; }"),
        ("location-snippet", "satisfy any;"),
        ("http-snippet", "server { listen 80; return 444; }"),
        ("main-snippet", "http { deny all; }"),
        ("stream-snippet", "deny all;"),
        ("global-auth-snippet", "proxy_set_header X-Remote-User '';"),
        (
            "modsecurity-snippet",
            "SecRuleEngine On\nSecGeoLookupDb /tmp",
        ),
    ];
    for (key, text) in guarding {
        let settings = json!({key: text, "enable-modsecurity": "true"});
        tenants.write("operator.yaml", &[config_map(&settings)])?;
        sluice.wait_for_status("a.test", "/", 503).await?;
        tenants.write("operator.yaml", &[config_map(&json!({}))])?;
        sluice.wait_for_status("a.test", "/", 200).await?;
    }
    sluice.stop()
}
