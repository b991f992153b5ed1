//! Proxies in front of Sluice are trusted only if the operator lists them, and a list that cannot be read trusts nobody.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(only_listed_proxies_are_trusted);
on_every_plane!(clients_are_found_in_lists_as_nginx_finds_them);

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

/// Load balancers write ports (AWS, Azure), and clients write anything in front.
async fn clients_are_found_in_lists_as_nginx_finds_them(plane: Plane) -> Result<()> {
    const V4: Option<&str> = Some("192.0.2.7");
    const V6: Option<&str> = Some("2001:db8::7");
    let written = [
        ("192.0.2.7", V4),
        ("192.0.2.7:4711", V4),
        ("2001:db8::7", V6),
        ("[2001:db8::7]:443", V6),
        ("203.0.113.9, 192.0.2.7:4711", V4),
        ("203.0.113.9:1,192.0.2.7:2 ,127.0.0.9:3", V4),
        ("203.0.113.9, [2001:db8::7]:2, 127.0.0.9, 127.0.0.10:80", V6),
        ("unknown, 192.0.2.7", V4),
        (", 192.0.2.7", V4),
        ("192.0.2.7, ", V4),
        ("192.0.2.7:x, 127.0.0.9", Some("127.0.0.9")),
        ("192.0.2.7, unknown", None),
        ("192.0.2.7:x", None),
        ("", None),
    ];
    let tenants = Tenants::start().await?;
    let open = Ingress::new(OWNER, "open").host(HOST).path("/", "web", 80);
    tenants.write("all.yaml", &[open.to_json()])?;
    for header in ["X-Forwarded-For", "X-Client"] {
        let settings = json!({
            "use-forwarded-headers": "true", "proxy-real-ip-cidr": "127.0.0.0/8",
            "forwarded-for-header": header, "compute-full-forwarded-for": "true",
        });
        tenants.write("operator.yaml", &[config_map(&settings)])?;
        let arguments = vec!["--configmap".to_owned(), "sluice/sluice".to_owned()];
        let options = plane.options(&tenants.manifests).arguments(arguments);
        let sluice = options.start().await?;
        sluice.wait_for_status(HOST, "/", 200).await?;
        // Whatever a client writes in front, as long as a line may be.
        let fronts = ["203.0.113.9, ", "203.0.113.9:1,", "[", "1", "a:,"].map(|front| {
            let length = 5_000 / front.len();
            format!("{}, 192.0.2.7:4711, 127.0.0.9", front.repeat(length))
        });
        let long = fronts.iter().map(|list| (list.as_str(), V4));
        for (list, client) in written.into_iter().chain(long) {
            let request = Request::get(HOST, "/").header(header, list);
            let pod = http::send(sluice.http(), &request).await?.json()?;
            let known = &pod["headers"]["x-real-ip"];
            let known = known[0].as_str().or(known.as_str()).unwrap_or_default();
            // Without one it is who connects.
            let is_found = client.map_or(known.starts_with("127."), |client| client == known);
            ensure!(is_found, "{header}: {list:?} is {known}");
            if header == "X-Forwarded-For" {
                let chain = pod["headers"]["x-forwarded-for"].to_string();
                ensure!(
                    chain.contains(list.trim()),
                    "pods hear {chain} for {list:?}"
                );
            }
        }
        sluice.stop()?;
    }
    Ok(())
}

fn config_map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "sluice", "name": "sluice"}, "data": data})
}
