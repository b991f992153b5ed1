//! R12: what a pod answers comes from that pod: no answer makes a data plane serve a location of its own, or of another tenant.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use sluice_tests::manifests::Ingress;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::Sluice;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(pod_responses_cannot_select_another_location);

const HOST: &str = "shared.test";
/// Paths of the owner, guarded and not.
const OWNER_PATHS: [&str; 4] = ["/", "/secret", "/asked", "/copied"];
/// Of the other namespace, in each way in which pods are spoken to.
const FOREIGN_PATHS: [&str; 3] = ["/foreign", "/foreign-grpc", "/foreign-errors"];
/// Response headers with which pods direct nginx to a file or location, and those of other servers.
const REDIRECT_HEADERS: [&str; 3] = ["x-accel-redirect", "x-sendfile", "x-reproxy-url"];

/// A path of the host.
fn ingress_on(
    namespace: &str,
    name: &str,
    path: &str,
    annotations: &[(&str, &str)],
) -> serde_json::Value {
    let ingress = Ingress::new(namespace, name)
        .host(HOST)
        .path(path, "web", 80);
    annotations
        .iter()
        .fold(ingress, |ingress, (name, value)| {
            ingress.annotation(name, value)
        })
        .to_json()
}

fn objects(tenants: &Tenants) -> Vec<serde_json::Value> {
    let copies = format!("http://{}", tenants.owner.addr());
    vec![
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "users", "namespace": OWNER},
            "stringData": {"auth": "ada:{PLAIN}secret\n"},
        }),
        ingress_on(
            OWNER,
            "a-open",
            "/",
            &[("custom-http-errors", "418"), ("default-backend", "web")],
        ),
        ingress_on(
            OWNER,
            "a-secret",
            "/secret",
            &[("auth-type", "basic"), ("auth-secret", "users")],
        ),
        ingress_on(
            OWNER,
            "a-asked",
            "/asked",
            &[
                ("auth-url", "http://web.owner.svc/"),
                ("auth-signin", "https://login.example/"),
            ],
        ),
        ingress_on(
            OWNER,
            "a-copied",
            "/copied",
            &[("mirror-target", copies.as_str())],
        ),
        ingress_on(FOREIGN, "z-plain", "/foreign", &[]),
        ingress_on(
            FOREIGN,
            "z-grpc",
            "/foreign-grpc",
            &[("backend-protocol", "GRPC")],
        ),
        ingress_on(
            FOREIGN,
            "z-errors",
            "/foreign-errors",
            &[
                ("custom-http-errors", "404"),
                ("default-backend", "web"),
                ("proxy-buffering", "on"),
            ],
        ),
    ]
}

/// The names of all locations that nginx has; of another data plane, none.
fn locations(sluice: &Sluice) -> Result<BTreeSet<String>> {
    let Ok(text) = fs::read_to_string(sluice.run_dir().join("nginx/nginx.conf")) else {
        return Ok(BTreeSet::new());
    };
    let name = |line: &str| {
        let name = line.trim().strip_prefix("location ")?.strip_suffix(" {")?;
        Some(
            name.trim_start_matches(['=', '~', '*', '^', ' '])
                .trim_matches('"')
                .to_owned(),
        )
    };
    let names: BTreeSet<String> = text.lines().filter_map(name).collect();
    for ours in ["sluice_auth", "sluice_mirror_", "@sluice_"] {
        ensure!(
            names.iter().any(|name| name.starts_with(ours)),
            "no {ours} in {names:?}"
        );
    }
    Ok(names)
}

async fn pod_responses_cannot_select_another_location(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.write("all.yaml", &objects(&tenants))?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    for path in FOREIGN_PATHS {
        sluice.wait_for_status(HOST, path, 200).await?;
    }
    let mut names = locations(&sluice)?;
    ensure!(
        (plane == Plane::Nginx) != names.is_empty(),
        "{plane:?}: {names:?}"
    );
    names.extend(OWNER_PATHS.map(str::to_owned));
    let spelled = names
        .iter()
        .flat_map(|name| [name.clone(), format!("/{name}"), format!("{name}?a=b")]);
    let owners = tenants.owner.hits();
    for name in spelled.collect::<Vec<_>>() {
        let headers = REDIRECT_HEADERS
            .map(|header| (header.to_owned(), name.clone()))
            .to_vec();
        tenants.foreign.script(Script::echo().answer(
            "*",
            Answer {
                headers,
                ..Answer::default()
            },
        ));
        for path in FOREIGN_PATHS {
            let answer = sluice.get(HOST, path).await.with_context(|| name.clone())?;
            ensure!(
                answer.status == 200 && answer.pod() == Some(FOREIGN),
                "{plane:?}: {path} leads to {name}: {answer:?}"
            );
        }
    }
    ensure!(
        tenants.owner.hits() == owners,
        "the owner's pod was asked {} times",
        tenants.owner.hits() - owners
    );
    sluice.stop()
}
