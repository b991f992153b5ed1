//! R6: a snippet that keeps clients from a Service (`$service_name`) keeps them from the paths of this Service.

use anyhow::{Result, ensure};
use serde_json::Value;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted};

on_every_plane!(a_guard_of_one_service_keeps_clients_from_its_paths);

/// Snippets that let clients to `web` alone.
const GUARDS: &[(&str, &str)] = &[
    ("equal", "if ($service_name = admin) { return 403; }"),
    ("unequal", "if ($service_name != web) { return 403; }"),
    ("case", "if ($Service_Name = admin) { return 403; }"),
    (
        "set",
        "set $to \"${service_name}:$service_port\"; if ($to = admin:80) { return 403; }",
    ),
];

/// Services of one Ingress, more than are told apart.
const MANY: usize = 17;

fn ingress(name: &str, annotation: &str, snippet: &str) -> Ingress {
    Ingress::new(OWNER, name)
        .annotation(annotation, snippet)
        .host(&format!("{name}.test"))
        .path("/shop", "web", 80)
        .path("/admin", "admin", 80)
}

async fn status(sluice: std::net::SocketAddr, name: &str, path: &str) -> Result<u16> {
    let request = Request::get(&format!("{name}.test"), path);
    Ok(http::send(sluice, &request).await?.status)
}

async fn a_guard_of_one_service_keeps_clients_from_its_paths(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants
        .manifests
        .service(OWNER, "admin", 80, &[tenants.owner.addr()])?;
    let (_, guard) = GUARDS[0];
    let guarded = GUARDS
        .iter()
        .map(|(name, snippet)| ingress(name, "configuration-snippet", snippet).to_json());
    let many = (2..MANY).fold(
        ingress("many", "configuration-snippet", guard),
        |many, number| many.path(&format!("/{number}"), &format!("s{number}"), 80),
    );
    // In a server nginx has none of the names yet, so it would let nobody in.
    let server = ingress("server", "server-snippet", GUARDS[1].1);
    let all: Vec<Value> = [snippets_permitted(), many.to_json(), server.to_json()]
        .into_iter()
        .chain(guarded)
        .collect();
    tenants.write("all.yaml", &all)?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    sluice.wait_for_status("equal.test", "/shop", 200).await?;
    for (name, _) in GUARDS {
        for (path, expected) in [
            ("/shop", 200),
            ("/shop?service_name=admin", 200),
            ("/admin", 403),
            ("/admin/a", 403),
            ("/shop/../admin", 403),
            ("/%61dmin", 403),
            // It leads to no Service.
            ("/neither", 503),
        ] {
            let got = status(sluice.http(), name, path).await?;
            ensure!(got == expected, "{name} {path}: {got}");
        }
    }
    // Whoever believed that it does nothing would take it away.
    let log = sluice.log().lines();
    let is_denied = |line: &String| line.contains("not needed") || line.contains("no effect");
    let denied = log
        .iter()
        .find(|line| is_denied(line) && line.contains("configuration-snippet"));
    ensure!(denied.is_none(), "{denied:?}");
    for name in ["many", "server"] {
        for path in ["/shop", "/admin"] {
            let got = status(sluice.http(), name, path).await?;
            ensure!(got == 503, "{name} {path}: {got}");
        }
    }
    sluice.stop()
}
