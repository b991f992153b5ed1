//! Proxies in front of Sluice are trusted only if the operator lists them, and a list that cannot be read trusts nobody.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(only_listed_proxies_are_trusted);

const HOST: &str = "guarded.test";
/// A client that the Ingress lets in, and that nobody here is.
const CLAIMED: &str = "192.0.2.7";

async fn request_with_forged_address(sluice: &Sluice) -> Result<http::Response> {
    let request = Request::get(HOST, "/")
        .header("X-Forwarded-For", CLAIMED)
        .header("X-Real-IP", CLAIMED);
    http::send(sluice.http(), &request.header("X-Forwarded-Proto", "https")).await
}

async fn only_listed_proxies_are_trusted(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let guarded = Ingress::new(OWNER, "guarded")
        .host(HOST)
        .path("/", "web", 80);
    let guarded = guarded.annotation("allowlist-source-range", "192.0.2.0/24");
    let open = Ingress::new(OWNER, "open")
        .host("open.test")
        .path("/", "web", 80);
    tenants.write("all.yaml", &[guarded.to_json(), open.to_json()])?;
    let believing =
        |list: &str| json!({"use-forwarded-headers": "true", "proxy-real-ip-cidr": list});
    let believes = [believing("127.0.0.0/8"), believing("127.0.0.0/8,nonsense")];
    let believes_nobody = [
        believing("nonsense"),
        believing(""),
        believing("127.0.0.0/33"),
        believing("10.0.0.0/8,nonsense"),
        json!({"use-forwarded-headers": "true", "forwarded-for-header": "X Y"}),
        json!({"compute-full-forwarded-for": "true"}),
        json!({"compute-full-forwarded-for": "true", "proxy-real-ip-cidr": "127.0.0.0/8"}),
    ];
    // The client is known by another header than the addresses are of that pods get.
    let mut apart = believing("127.0.0.0/8");
    apart["compute-full-forwarded-for"] = json!("true");
    apart["forwarded-for-header"] = json!("X-Client");
    for (data, is_believed, is_passed_on) in believes
        .iter()
        .map(|data| (data, true, true))
        .chain(believes_nobody.iter().map(|data| (data, false, false)))
        .chain(std::iter::once((&apart, false, true)))
    {
        tenants.write("operator.yaml", &[config_map(data)])?;
        let arguments = vec!["--configmap".to_owned(), "sluice/sluice".to_owned()];
        let sluice = plane
            .options(&tenants.manifests)
            .arguments(arguments)
            .start()
            .await?;
        sluice.wait_for_status("open.test", "/", 200).await?;
        let answer = request_with_forged_address(&sluice).await?;
        ensure!(
            answer.pod().is_some() == is_believed,
            "{data}: {}",
            answer.status
        );
        let request = Request::get("open.test", "/").header("X-Forwarded-For", CLAIMED);
        let pod = http::send(sluice.http(), &request).await?.json()?;
        let chain = pod["headers"]["x-forwarded-for"].to_string();
        ensure!(
            chain.contains(CLAIMED) == is_passed_on,
            "{data}: pods hear {chain}"
        );
        sluice.stop()?;
    }
    Ok(())
}

fn config_map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "sluice", "name": "sluice"}, "data": data})
}
