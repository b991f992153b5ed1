//! R12: paths of a host that no rule matches have the annotations of its first Ingress, as in ingress-nginx, and nobody
//! else's; without such an Ingress, as with the catch-all server, they have none.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::connection::Connection;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(unmatched_paths_have_the_annotations_of_the_first_ingress);

const NOBODY: &str = "192.0.2.0/24";

fn created_at(ingress: &Ingress, second: usize) -> Value {
    let mut object = ingress.to_json();
    object["metadata"]["creationTimestamp"] = json!(format!("2026-01-01T00:00:{second:02}Z"));
    object
}

const EXPECTED: [(&str, &str, u16); 15] = [
    ("closed.test", "/app", 403),
    ("closed.test", "/other", 403),
    ("closed.test", "/", 403),
    ("closed.test", "/foreign", 200),
    ("open.test", "/app", 200),
    ("open.test", "/other", 404),
    ("open.test", "/foreign", 403),
    ("pattern.test", "/app/a", 403),
    ("pattern.test", "/other", 403),
    ("https.test", "/other", 308),
    ("cors.test", "/other", 404),
    ("bad.test", "/other", 503),
    ("unknown.test", "/other", 404),
    ("unknown.test", "/healthz", 200),
    ("open.test", "/healthz", 404),
];

/// Hosts of two namespaces, with and without a guard, in the order of their age.
fn ingresses() -> [Value; 8] {
    let own = |host: &str| Ingress::new(OWNER, host).host(host).path("/app", "web", 80);
    let foreign = |host: &str| {
        let ingress = Ingress::new(FOREIGN, host).host(host);
        ingress.path("/foreign", "web", 80)
    };
    let closed = |ingress: Ingress| ingress.annotation("whitelist-source-range", NOBODY);
    let pattern = Ingress::new(OWNER, "pattern.test")
        .annotation("use-regex", "true")
        .host("pattern.test")
        .typed_path("ImplementationSpecific", "/app/.*", "web", 80);
    [
        created_at(&closed(own("closed.test")), 1),
        created_at(&foreign("closed.test"), 2),
        created_at(&own("open.test"), 1),
        created_at(&closed(foreign("open.test")), 2),
        created_at(&closed(pattern), 1),
        created_at(
            &own("https.test").annotation("force-ssl-redirect", "true"),
            1,
        ),
        created_at(&own("cors.test").annotation("enable-cors", "true"), 1),
        created_at(
            &own("bad.test").annotation("whitelist-source-range", "no"),
            1,
        ),
    ]
}

async fn unmatched_paths_have_the_annotations_of_the_first_ingress(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.write("unmatched.yaml", &ingresses())?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    for (host, path, status) in EXPECTED {
        let response = http::send(sluice.http(), &Request::get(host, path)).await?;
        ensure!(response.status == status, "{host}{path}: {response:?}");
        let allows = response.header("access-control-allow-origin").is_some();
        ensure!(
            allows == (host == "cors.test"),
            "{host}{path}: {response:?}"
        );
    }
    let mut connection = Connection::open(sluice.http()).await?;
    let probe = b"GET /healthz HTTP/1.0\r\n\r\n";
    let response = connection.send_bytes(probe, false).await?;
    ensure!(
        response.status == 200,
        "a probe without a host: {response:?}"
    );
    sluice.stop()
}
