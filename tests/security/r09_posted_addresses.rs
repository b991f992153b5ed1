//! R9: addresses that are posted on the admin socket pass the policy of those in objects, and nothing is posted where the operator
//! does not say so.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(posted_addresses_pass_the_policy);

const BACKENDS: &str = "/configuration/backends";
/// Machines' identities, neighbours, this machine, everybody.
const FORBIDDEN: [(&str, &str); 5] = [
    ("169.254.169.254", "80"),
    ("fe80::1", "80"),
    ("0.0.0.0", "80"),
    ("255.255.255.255", "80"),
    ("::ffff:169.254.169.254", "80"),
];

async fn post(sluice: &Sluice, body: String) -> Result<u16> {
    let request = Request::new("POST", "unix", BACKENDS).body(body);
    let answer = http::send_unix(&sluice.admin_socket(), &request).await?;
    Ok(answer.status)
}

async fn posted_addresses_pass_the_policy(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let ingress = Ingress::new(OWNER, "web").host("a.test");
    tenants.write("all.yaml", &[ingress.path("/", "web", 80).to_json()])?;
    let writes = vec!["--admin-writes".to_owned()];
    let sluice = plane.options(&tenants.manifests).arguments(writes);
    let sluice = sluice.start().await?;
    sluice.wait_for_status("a.test", "/", 200).await?;
    let found = async || {
        anyhow::Ok(
            http::get_unix(&sluice.admin_socket(), BACKENDS)
                .await?
                .text(),
        )
    };
    let before = found().await?;

    let own = sluice.http();
    let own = (own.ip().to_string(), own.port().to_string());
    let forbidden = FORBIDDEN.map(|(address, port)| (address.to_owned(), port.to_owned()));
    for (address, port) in forbidden.into_iter().chain([own]) {
        let mut list: Value = serde_json::from_str(&before)?;
        list[0]["endpoints"] = json!([{"address": address, "port": port}]);
        let status = post(&sluice, list.to_string()).await?;
        ensure!(status == 400, "{address}:{port}: {status}");
    }
    // The response may come, and the connection end, before all is sent.
    let status = post(&sluice, " ".repeat(17 << 20)).await;
    ensure!(
        !status.is_ok_and(|it| it != 413),
        "a body of 17 MiB is taken"
    );
    let status = post(&sluice, "[".repeat(1 << 20)).await?;
    ensure!(status == 400, "{status}");
    ensure!(found().await? == before, "the backends have changed");
    sluice.wait_for_status("a.test", "/", 200).await?;
    sluice.stop()
}
