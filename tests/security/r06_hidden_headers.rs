//! R6: what the operator hides from clients, and what pods tell nginx alone, reaches no client, whatever the client asks for and
//! whatever the pod answers.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::script::{Answer, Script};

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(hidden_headers_reach_no_client);

const HOST: &str = "web.test";
const OF_PODS: &str = "not-for-clients";
const HIDDEN: [&str; 3] = ["X-Secret", "X-Powered-By", "X-Accel-Charset"];
const STATUSES: [u16; 8] = [200, 202, 204, 301, 304, 401, 404, 503];
const WAYS: &[&[(&str, &str)]] = &[
    &[],
    &[("connection", "upgrade"), ("upgrade", "websocket")],
    &[("connection", "Upgrade"), ("upgrade", "WebSocket")],
    &[("connection", "upgrade"), ("upgrade", "SPDY/3.1")],
    &[("connection", "upgrade"), ("upgrade", "tcp")],
    &[("origin", "https://a.example")],
];

async fn hidden_headers_reach_no_client(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "sluice", "name": "sluice"},
        "data": {"hide-headers": "X-Secret,X-Powered-By"},
    });
    let ingress = Ingress::new(OWNER, "web").host(HOST).path("/", "web", 80);
    tenants.write("all.yaml", &[settings, ingress.to_json()])?;
    let flags = ["--configmap", "sluice/sluice"].map(str::to_owned).into();
    let options = plane.options(&tenants.manifests).arguments(flags);
    let sluice = options.start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    for status in STATUSES {
        let headers = HIDDEN.map(|name| (name.to_owned(), OF_PODS.to_owned()));
        let answer = Answer {
            status,
            headers: headers.into(),
            body: None,
            delay: Duration::ZERO,
        };
        tenants.owner.script(Script {
            answers: BTreeMap::from([("*".to_owned(), answer)]),
            ..Script::default()
        });
        for way in WAYS {
            let request = way
                .iter()
                .fold(Request::get(HOST, "/"), |request, (name, value)| {
                    request.header(name, value)
                });
            let before = tenants.received.len();
            let answer = http::send(sluice.http(), &request).await?;
            ensure!(
                tenants.received.len() > before,
                "{status} {way:?}: {answer:?}"
            );
            for name in HIDDEN {
                ensure!(
                    answer.header(name).is_none(),
                    "{status} {way:?}: {answer:?}"
                );
            }
        }
    }
    sluice.stop()
}
