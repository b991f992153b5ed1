//! R6: whom the ConfigMap's `server-snippet` keeps out, it keeps out of every path of every namespace, whatever their Ingresses say.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;

use crate::setup::{
    FOREIGN, OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted,
};

on_every_plane!(
    snippet_of_the_operator_guards_all_namespaces,
    default_backend_has_the_snippet_of_the_operator,
);

const SNIPPET: &str = "more_set_headers \"X-Operator: yes\";
set $bad '';
if ($http_x_bad) { set $bad 1; }
if ($arg_bad) { set $bad 1; }
if ($bad) { return 403; }
location ~ /\\.git(/|$) { deny all; }
location ^~ /internal/ { return 404; }";

const HOSTS: [&str; 4] = ["plain.test", "shared.test", "patterns.test", "own.test"];

/// Snippets of tenants that would let somebody in, if they came first or changed what is compared.
const OF_TENANTS: &str = "set $bad 0; set $http_ok 1;";
const ANSWERING: &str =
    "set $bad ''; if ($http_x_tenant) { set $bad 0; } if ($bad = 1) { return 200; }
location /foreign/none { return 410; }
more_set_headers \"X-Operator: no\";";

type Headers = &'static [(&'static str, &'static str)];

/// Paths, headers, and whether the operator lets them in.
const WAYS: &[(&str, Headers, bool)] = &[
    ("/", &[], true),
    ("/foreign/a", &[], true),
    ("/shop/a", &[("x-tenant", "1")], true),
    ("/", &[("x-bad", "1")], false),
    ("/foreign/a", &[("x-bad", "yes"), ("x-tenant", "1")], false),
    ("/shop/a", &[("x-bad", ""), ("X-BAD", "1")], false),
    ("/shop/a?bad=1", &[], false),
    ("/foreign/?a&BAD=1", &[], false),
    ("/foreign/.git/config", &[], false),
    ("/.git", &[], false),
    ("/shop/%2egit/x", &[], false),
    ("/shop/a/../.git/", &[("x-canary", "always")], false),
    ("/internal/", &[], false),
    ("//internal//a", &[], false),
    ("/%69nternal/.git/", &[], false),
];

fn objects() -> Vec<Value> {
    let ingress = |namespace: &str, host: &str| Ingress::new(namespace, host).host(host);
    let all = |it: Ingress| it.path("/", "web", 80).path("/shop", "web", 80);
    let canary = Ingress::new(OWNER, "canary")
        .host("plain.test")
        .annotation("canary", "true")
        .annotation("canary-by-header", "x-canary");
    let patterns = ingress(OWNER, "patterns.test").annotation("use-regex", "true");
    let patterns = ["/shop(/|$)(.*)", "/"].iter().fold(patterns, |it, path| {
        it.typed_path("ImplementationSpecific", path, "web", 80)
    });
    let own = ingress(OWNER, "own.test")
        .annotation("server-snippet", ANSWERING)
        .annotation(
            "configuration-snippet",
            "if ($http_x_tenant) { add_header X-Inner 1; }",
        );
    let shared = ingress(FOREIGN, "shared.test").annotation("server-snippet", ANSWERING);
    let unserved = ingress(FOREIGN, "unserved.test").annotation("server-snippet", OF_TENANTS);
    let ingresses = [
        all(ingress(OWNER, "plain.test")),
        all(canary),
        all(ingress(OWNER, "shared.test")),
        shared.path("/foreign", "web", 80),
        patterns,
        ingress(FOREIGN, "patterns.test").path("/foreign", "web", 80),
        all(own),
        unserved.path("/", "web", 80),
    ];
    let mut config_map = snippets_permitted();
    config_map["data"]["server-snippet"] = SNIPPET.into();
    let ingresses = ingresses.iter().map(Ingress::to_json);
    std::iter::once(config_map).chain(ingresses).collect()
}

/// Goes all ways to a host: pods are reached by those that the operator lets in, and by no other.
async fn kept_out(
    sluice: &Sluice,
    tenants: &Tenants,
    host: &str,
) -> Result<Vec<(String, Response)>> {
    sluice.wait_for_status(host, "/", 200).await?;
    let mut responses = Vec::new();
    for (path, headers, is_let_in) in WAYS {
        let before = tenants.received.len();
        let request = Request::get(host, path).headers(headers);
        let response = http::send(sluice.http(), &request).await?;
        let reached = tenants.received.since(before).len();
        let way = format!("{host} {path} {headers:?}");
        ensure!(
            (response.status == 200) == *is_let_in,
            "{way}: {response:?}"
        );
        ensure!((reached > 0) == *is_let_in, "{way}: {response:?}");
        responses.push((way, response));
    }
    Ok(responses)
}

async fn snippet_of_the_operator_guards_all_namespaces(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.write("all.yaml", &objects())?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    for host in HOSTS {
        for (way, response) in kept_out(&sluice, &tenants, host).await? {
            let is_marked = response.header("x-operator") == Some("yes");
            ensure!(is_marked || response.status == 403, "{way}: {response:?}");
        }
    }
    sluice.wait_for_status("unserved.test", "/", 503).await?;
    sluice.stop().context("stop")
}

/// A host that no Ingress has, and one whose Ingress has other paths.
async fn default_backend_has_the_snippet_of_the_operator(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let other = Ingress::new(FOREIGN, "other").host("other.test");
    let other = other.path("/only", "web", 80).to_json();
    let write = |snippet: &str| {
        let mut config_map = snippets_permitted();
        config_map["data"]["server-snippet"] = snippet.into();
        tenants.write("all.yaml", &[config_map, other.clone()])
    };
    write(SNIPPET)?;
    let backend = ["--default-backend-service", "owner/web"].map(str::to_owned);
    let arguments = snippet_flags().into_iter().chain(backend).collect();
    let options = plane.options(&tenants.manifests).arguments(arguments);
    let sluice = options.start().await?;
    for host in ["none.test", "other.test"] {
        kept_out(&sluice, &tenants, host).await?;
    }
    // By address, and all that cannot be read.
    for snippet in ["deny 127.0.0.0/8;", "satisfy any; deny all;"] {
        write("more_set_headers \"X-Operator: yes\";")?;
        sluice.wait_for_status("none.test", "/", 200).await?;
        write(snippet)?;
        let status = if snippet.starts_with("deny") {
            403
        } else {
            503
        };
        for host in ["none.test", "other.test"] {
            for path in ["/", "/only", "/.git"] {
                sluice.wait_for_status(host, path, status).await?;
            }
        }
    }
    sluice.stop().context("stop")
}
