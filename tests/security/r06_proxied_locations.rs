//! R6: a location of a snippet that leads to pods leads to those of its own Ingress, and past no guard of the operator's.

use anyhow::{Context, Result, ensure};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use sluice_tests::echo::Received;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::Port;

use crate::setup::{
    FOREIGN, OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted,
};

on_every_plane!(
    a_location_leads_where_nginx_leads_it,
    a_location_leads_nowhere_else,
    guards_of_the_operator_hold_in_a_location,
);

const HOST: &str = "proxied.test";
const SNIPPET: &str = "server-snippet";

/// Of a server whose path `/` lets nobody in.
const LOCATIONS: &str = "add_header X-Outer outer always;
location /plain { proxy_pass http://web.owner.svc.cluster.local; }
location /told/ {
  proxy_set_header Host $host; proxy_set_header X-A $http_x_b; proxy_set_header X-Gone '';
  proxy_http_version 1.1; proxy_read_timeout 90s; proxy_send_timeout 1m; client_max_body_size 10m;
  more_set_headers_or_not X-Inner inner always;
  proxy_pass http://web.owner.svc.cluster.local;
}
location /moved/ { proxy_pass http://web.owner.svc.cluster.local/new/; }
location /short { proxy_pass http://web.owner.svc.cluster.local/; }
location = /one { proxy_pass http://web.owner.svc.cluster.local/other; }
location ~ ^/p/(a|b) { if ($http_x_key = secret) { return 403; } proxy_pass http://web.owner.svc.cluster.local; }
location ^~ /guarded { allow 10.0.0.0/8; deny all; proxy_pass http://web.owner.svc.cluster.local; }
location /re/ { rewrite ^/re/(.*)$ /$1 break; proxy_pass http://web.owner.svc.cluster.local; }
location /api { rewrite ^/api/v[0-9]+/(.*) /new/$1 break; rewrite ^(.*)$ /all$1 break; proxy_pass http://web.owner.svc.cluster.local/lost/; }
location = /only { rewrite ^ /changed break; proxy_pass http://web.owner.svc.cluster.local; }
location ~ ^/n[0-9]/(.*)$ { rewrite ^/n[0-9]/(.*)$ /n/$1 break; proxy_pass http://web.owner.svc.cluster.local; }
location /file { return 410; }";

const TARGETS: &[&str] = &[
    "/",
    "/plain",
    "/plain/a?b=c",
    "/plainer",
    "/PLAIN",
    "/told/x%20y",
    "/told",
    "/moved/",
    "/moved/a/b?c=/moved/",
    "/moved/a%20b%2fc",
    "/moved/%25",
    "/x/../moved/a",
    "/short",
    "/shorter/a",
    "/one",
    "/one?a",
    "/one/a",
    "/p/a",
    "/p/c",
    "/guarded/p/a",
    "/file",
    "/re/",
    "/re/a?b=c",
    "/re/a%20b%2fc",
    "/re/%25?/re/",
    "/re/re/a",
    "/api",
    "/api/v1/a",
    "/api/v1",
    "/apis/v1/a?b",
    "/only?a=b",
    "/only/a",
    "/n1/a",
    "/n1/%6e1/a",
    "/n1",
    "/%70lain",
];

type Headers = &'static [(&'static str, &'static str)];

const HEADERS: &[Headers] = &[
    &[],
    &[("x-key", "secret"), ("x-b", "b"), ("x-gone", "here")],
];

fn ingress(name: &str, snippet: &str) -> Ingress {
    Ingress::new(OWNER, name)
        .annotation(SNIPPET, snippet)
        .host(&format!("{name}.test"))
        .path("/", "web", 80)
}

fn written() -> String {
    LOCATIONS.replace("more_set_headers_or_not", "add_header")
}

async fn reference(tenants: &Tenants) -> Result<(Nginx, Port)> {
    let port = Port::reserve()?;
    let (snippet, pod) = (written(), tenants.foreign.addr());
    let http = format!(
        "upstream web.owner.svc.cluster.local {{ server {pod}; }}
         server {{ listen {}; server_name {HOST};\n{snippet}
         location / {{ allow 10.0.0.0/8; deny all; proxy_pass http://{pod}; }} }}",
        port.addr()
    );
    Ok((Nginx::start(Conf::write("", &http)?).await?, port))
}

async fn a_location_leads_where_nginx_leads_it(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let guarded = ingress("proxied", &written());
    let guarded = guarded.annotation("allowlist-source-range", "10.0.0.0/8");
    tenants.write("all.yaml", &[snippets_permitted(), guarded.to_json()])?;
    let (nginx, port) = reference(&tenants).await?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    sluice.wait_for_status(HOST, "/plain", 200).await?;
    let mut let_in = 0;
    for target in TARGETS {
        for headers in HEADERS {
            let request = Request::get(HOST, target).headers(headers);
            let before = tenants.received.len();
            let expected = http::send(port.addr(), &request).await?;
            let got = http::send(sluice.http(), &request).await?;
            let received = tenants.received.since(before);
            compare(&expected, &got)
                .and_then(|()| compare_received(&received))
                .with_context(|| format!("{request:?}"))?;
            let_in += usize::from(got.pod() == Some(OWNER));
        }
    }
    ensure!(let_in > TARGETS.len(), "{let_in} came in");
    nginx.stop()?;
    sluice.stop()
}

fn compare(expected: &http::Response, got: &http::Response) -> Result<()> {
    let said = |answer: &http::Response, pod: &str| {
        let headers = ["x-outer", "x-inner"];
        let headers = headers.map(|name| answer.header(name).map(str::to_owned));
        (answer.status, answer.pod() == Some(pod), headers)
    };
    let (expected, got) = (said(expected, FOREIGN), said(got, OWNER));
    ensure!(expected == got, "nginx: {expected:?}, got: {got:?}");
    Ok(())
}

/// Compares what both pods have got.
fn compare_received(received: &[Received]) -> Result<()> {
    let said = |it: &Received| {
        let path: Vec<u8> = percent_decode_str(&it.path).collect();
        let headers = ["x-a", "x-gone"].map(|name| it.headers.get(name).cloned());
        let is_plain = !it.path.contains("..");
        (
            path,
            it.query.clone(),
            is_plain.then(|| it.host.clone()),
            headers,
        )
    };
    let [first, second] = received else {
        return Ok(());
    };
    // Without a path of its own nginx sends the target as it came.
    if first.path.contains("..") || first.path.contains("%70") {
        return Ok(());
    }
    ensure!(said(first) == said(second), "{first:?}\n{second:?}");
    Ok(())
}

/// Blocks of locations `/x` that lead to no pod. `DATA_PLANE` and `POD` are addresses.
const ELSEWHERE: &[&str] = &[
    "proxy_pass http://web.foreign.svc.cluster.local;",
    "proxy_pass http://web.owner.svc.cluster.local:81;",
    "proxy_pass http://web.owner.svc.cluster.local:8080;",
    "proxy_pass http://other.owner.svc.cluster.local;",
    "proxy_pass http://web.owner;",
    "proxy_pass http://web;",
    "proxy_pass https://web.owner.svc.cluster.local;",
    "proxy_pass http://POD;",
    "proxy_pass http://127.0.0.1:DATA_PLANE;",
    "proxy_pass http://localhost:DATA_PLANE/;",
    "proxy_pass http://unix:/tmp/x:/;",
    "proxy_pass http://$host;",
    "proxy_pass http://$http_x_to;",
    "proxy_pass http://web.$http_x_to.svc.cluster.local;",
    "proxy_pass http://web.owner.svc.cluster.local:$arg_port;",
    "proxy_pass http://web.owner.svc.cluster.local:80@web.foreign.svc.cluster.local;",
    "proxy_pass http://web.owner.svc.cluster.local/%2e%2e/;",
    "proxy_pass \"http://web.owner.svc.cluster.local/a b\";",
    "proxy_pass \"http://web.owner.svc.cluster.local/a;}\";",
    "proxy_pass http://upstream_balancer;",
    "set $proxy_upstream_name foreign-web-80; proxy_pass http://upstream_balancer;",
    "set $proxy_upstream_name upstream-default-backend; proxy_pass http://upstream_balancer;",
    "set $proxy_upstream_name $http_x_to; proxy_pass http://upstream_balancer;",
    "proxy_set_header Host web.foreign; proxy_pass http://web.owner.svc.cluster.local;",
    "proxy_set_header X-Forwarded-For $http_x_to; proxy_pass http://web.owner.svc.cluster.local;",
    "internal; proxy_pass http://web.owner.svc.cluster.local;",
    "proxy_pass https://web.foreign.svc.cluster.local:80;",
    "proxy_pass https://web.owner.svc.cluster.local:80;",
    "set $proxy_upstream_name owner-web-80; proxy_pass https://upstream_balancer;",
    "rewrite ^/x/(.*)$ $http_x_to break; proxy_pass http://web.owner.svc.cluster.local;",
    "rewrite ^/x(.*)$ $1 break; proxy_pass http://web.owner.svc.cluster.local;",
    "rewrite ^/x/(.*)$ /$1 last; proxy_pass http://web.owner.svc.cluster.local;",
    "rewrite ^/x/(.*)$ /$1 break; proxy_pass http://web.owner.svc.cluster.local$request_uri;",
    "rewrite ^/x/(.*)$ /$1 break; if ($http_x_to) { return 403; } proxy_pass http://web.owner.svc.cluster.local;",
    "rewrite /([a-z]+)$ /$1 break; proxy_pass http://web.owner.svc.cluster.local;",
    "rewrite (?=a) /a break; proxy_pass http://web.owner.svc.cluster.local;",
    "rewrite ^/x/(.*)$ \"/$1;} location / {\" break; proxy_pass http://web.foreign.svc.cluster.local;",
    "if ($http_x_to) { proxy_pass http://web.owner.svc.cluster.local; }",
];

async fn a_location_leads_nowhere_else(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let pod = tenants.owner.addr();
    tenants.manifests.service(OWNER, "other", 80, &[pod])?;
    let ways = ELSEWHERE.iter().enumerate().map(|(number, block)| {
        let block = block.replace("POD", &pod.to_string());
        let block = block.replace("DATA_PLANE", "19000");
        ingress(&format!("n{number}"), &format!("location /x {{ {block} }}")).to_json()
    });
    let plain = Ingress::new(OWNER, "plain")
        .host("plain.test")
        .path("/", "web", 80);
    let all: Vec<Value> = [snippets_permitted(), plain.to_json()]
        .into_iter()
        .chain(ways)
        .collect();
    tenants.write("all.yaml", &all)?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    sluice.wait_for_status("plain.test", "/", 200).await?;
    for (number, block) in ELSEWHERE.iter().enumerate() {
        let host = format!("n{number}.test");
        for target in ["/x", "/x/a?port=80", "/X/../x"] {
            let headers = [("x-to", "owner-web-80")];
            let request = Request::get(&host, target).headers(&headers);
            let got = http::send(sluice.http(), &request).await?;
            // As in nginx, clients find no internal location.
            let expected = if block.starts_with("internal;") {
                404
            } else {
                503
            };
            ensure!(
                got.status == expected && got.pod().is_none(),
                "{block}: {}",
                got.status
            );
        }
    }
    sluice.stop()
}

async fn guards_of_the_operator_hold_in_a_location(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let block = "location /x { proxy_pass http://web.owner.svc.cluster.local; }";
    let open = "location /x { allow all; proxy_pass http://web.owner.svc.cluster.local; }";
    // What the second Ingress of the host may guard is all that its namespace has there.
    let second = Ingress::new(OWNER, "second")
        .annotation(SNIPPET, "access_by_lua_block { }")
        .host("first.test")
        .path("/second", "web", 80);
    let plain = Ingress::new(OWNER, "plain")
        .host("plain.test")
        .path("/", "web", 80);
    let ingresses = [
        ingress("first", block).to_json(),
        ingress("listed", block).to_json(),
        ingress("open", open).to_json(),
        second.to_json(),
        plain.to_json(),
    ];
    let all = |config_map: Value| -> Vec<Value> {
        std::iter::once(config_map)
            .chain(ingresses.clone())
            .collect()
    };
    let mut guarded = snippets_permitted();
    guarded["data"]["whitelist-source-range"] = json!("10.0.0.0/8");
    tenants.write("all.yaml", &all(guarded))?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    sluice.wait_for_status("plain.test", "/", 403).await?;
    for (host, status) in [
        ("first.test", 503),
        ("listed.test", 403),
        ("open.test", 403),
    ] {
        let got = http::send(sluice.http(), &Request::get(host, "/x")).await?;
        ensure!(got.status == status, "{host}: {}", got.status);
    }
    tenants.write("all.yaml", &all(snippets_permitted()))?;
    sluice.wait_for_status("listed.test", "/x", 200).await?;
    let got = http::send(sluice.http(), &Request::get("first.test", "/x")).await?;
    ensure!(got.status == 503, "{}", got.status);
    sluice.stop()
}
