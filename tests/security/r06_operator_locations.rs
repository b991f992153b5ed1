//! R6: whom the ConfigMap's `location-snippet` keeps out, it keeps out of every path of every Ingress and of the default backend, whatever
//! annotations say.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;

use crate::setup::{
    FOREIGN, OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted,
};

on_every_plane!(snippet_of_all_locations_guards_every_path);

const SNIPPET: &str = "more_set_headers \"X-Operator: yes\";
set $bad '';
if ($http_x_bad) { set $bad 1; }
if ($arg_bad) { set $bad 1; }
if ($bad) { return 403; }";

/// Directives of a tenant that would let somebody in, or hide the header, if they held for those of the operator.
const OF_TENANT: &str =
    "set $bad 0; set $own 1; if ($bad = 1) { return 200; } if ($own = 2) { return 200; }
more_set_headers \"X-Operator: no\";";

/// Hosts, and the status of whoever is let in.
const HOSTS: [(&str, u16); 13] = [
    ("plain.test", 200),
    ("canary.test", 200),
    ("app.test", 200),
    ("redirect.test", 301),
    ("main.test", 200),
    ("alias.test", 200),
    ("errors.test", 200),
    ("patterns.test", 200),
    ("own.test", 200),
    ("unserved.test", 200),
    ("default.test", 200),
    ("rest.test", 200),
    ("none.test", 200),
];

type Headers = &'static [(&'static str, &'static str)];

/// Paths, headers, and whether the operator lets them in.
const WAYS: &[(&str, Headers, bool)] = &[
    ("/shop/a", &[], true),
    ("/shop/a", &[("x-tenant", "1")], true),
    ("/shop/a", &[("x-bad", "1")], false),
    ("/shop", &[("x-bad", ""), ("X-BAD", "1")], false),
    ("/shop/%2e%2e/shop/a", &[("x-bad", "yes")], false),
    ("//shop//a?bad=1", &[], false),
    ("/shop/a?a&BAD=1", &[("x-canary", "always")], false),
];

fn objects() -> Vec<Value> {
    let ingress = |name: &str| {
        let host = format!("{name}.test");
        Ingress::new(OWNER, name).host(&host).path("/", "web", 80)
    };
    let annotated =
        |name: &str, annotation: &str, value: &str| ingress(name).annotation(annotation, value);
    let canary = Ingress::new(OWNER, "second").host("canary.test");
    let canary = canary.path("/", "web", 80).annotation("canary", "true");
    let canary = canary.annotation("canary-by-header", "x-canary");
    let patterns = Ingress::new(FOREIGN, "patterns").host("patterns.test");
    let patterns = patterns.annotation("use-regex", "true");
    let patterns = patterns.typed_path("ImplementationSpecific", "/shop(/|$)(.*)", "web", 80);
    let mut default = Ingress::new(FOREIGN, "default")
        .host("default.test")
        .to_json();
    default["spec"]["defaultBackend"] = json!({"service": {"name": "web", "port": {"number": 80}}});
    let rest = Ingress::new(FOREIGN, "rest").host("rest.test");
    let all = [
        ingress("plain"),
        ingress("canary"),
        canary,
        annotated("app", "app-root", "/shop"),
        annotated("redirect", "permanent-redirect", "https://elsewhere.test"),
        annotated("main", "server-alias", "alias.test"),
        annotated("errors", "custom-http-errors", "404"),
        patterns,
        annotated("own", "configuration-snippet", OF_TENANT),
        annotated(
            "unserved",
            "configuration-snippet",
            "nonsense_of_nobody on; gzip on;",
        ),
        rest.path("/only", "web", 80),
    ];
    let mut config_map = snippets_permitted();
    config_map["data"]["location-snippet"] = SNIPPET.into();
    let all = all.iter().map(Ingress::to_json);
    std::iter::once(config_map)
        .chain(all)
        .chain([default])
        .collect()
}

/// Pods are reached by those that the operator lets in, and by no other.
async fn kept_out(sluice: &Sluice, tenants: &Tenants, host: &str, let_in: u16) -> Result<()> {
    for (path, headers, is_let_in) in WAYS {
        let before = tenants.received.len();
        let request = Request::get(host, path).headers(headers);
        let response = http::send(sluice.http(), &request).await?;
        let reached = !tenants.received.since(before).is_empty();
        let way = format!("{host} {path} {headers:?}: {response:?}");
        let is_closed = response.status == 503;
        ensure!(
            is_closed || (response.status == let_in) == *is_let_in,
            "{way}"
        );
        ensure!(
            reached == (*is_let_in && let_in == 200 && !is_closed),
            "{way}"
        );
        let is_marked = response.header("x-operator") == Some("yes");
        ensure!(is_closed || is_marked, "{way}");
    }
    Ok(())
}

async fn snippet_of_all_locations_guards_every_path(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.write("all.yaml", &objects())?;
    let backend = ["--default-backend-service", "owner/web"].map(str::to_owned);
    let arguments = snippet_flags().into_iter().chain(backend).collect();
    let options = plane.options(&tenants.manifests).arguments(arguments);
    let sluice = options.start().await?;
    for (host, status) in HOSTS {
        // Directives that nobody knows may be access control.
        let expected = if host == "unserved.test" { 503 } else { status };
        let wait = sluice.wait_for_status(host, "/shop/a", expected);
        wait.await.with_context(|| host.to_owned())?;
        kept_out(&sluice, &tenants, host, status).await?;
    }
    // By address, and all that cannot be read.
    for (snippet, status) in [("deny 127.0.0.0/8;", 403), ("satisfy any; deny all;", 503)] {
        let mut all = objects();
        all[0]["data"]["location-snippet"] = snippet.into();
        let workers = sluice.workers();
        tenants.write("all.yaml", &all)?;
        let expected = |host: &str, let_in: u16| match (host, let_in) {
            ("unserved.test", _) => 503,
            // As in nginx, which redirects before it asks for addresses.
            (_, 301) if status == 403 => 301,
            _ => status,
        };
        for (host, let_in) in HOSTS {
            let wait = sluice.wait_for_status(host, "/shop/a", expected(host, let_in));
            wait.await.with_context(|| format!("{host} {snippet}"))?;
        }
        sluice.wait_for_end_of(&workers).await?;
        for (host, let_in) in HOSTS {
            let before = tenants.received.len();
            let response = sluice.get(host, "/shop/a").await?;
            let reached = tenants.received.since(before).len();
            let is_expected = response.status == expected(host, let_in);
            ensure!(
                is_expected && reached == 0,
                "{host} {snippet}: {response:?}"
            );
        }
    }
    sluice.stop().context("stop")
}
