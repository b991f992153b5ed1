//! R6: the pods of a canary are spoken to and verified as those of its main Ingress, whatever the canary says of it.

use anyhow::{Context, Result, ensure};
use serde_json::json;
use sluice_tests::cases::ingress::certificates::Authorities;
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Setup};
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Sluice;
use sluice_tests::tls::{ClientTls, server_config};

use crate::setup::{OWNER, Plane, on_every_plane};

on_every_plane!(pods_of_a_canary_are_verified_as_those_of_the_main_ingress);

/// Services with a pod each, and its certificate. Plain text they speak, too.
const PODS: [(&str, &str); 4] = [
    ("web", "web.test signed by ca"),
    ("good", "web.test signed by ca"),
    ("stranger", "web.test"),
    ("named", "other.test signed by ca"),
];

const VERIFIED: [(&str, &str); 4] = [
    ("proxy-ssl-secret", "owner/ca"),
    ("proxy-ssl-verify", "on"),
    ("proxy-ssl-name", "web.test"),
    ("proxy-ssl-server-name", "on"),
];

/// All lead to the same Service.
const MAINS: [(&str, &str); 4] = [
    ("verified.test", "HTTPS"),
    ("either.test", "AUTO_HTTP"),
    ("plain.test", "HTTP"),
    ("grpc.test", "GRPC"),
];

/// With these a canary would have been reached without verification, or in another protocol.
const OF_CANARIES: [(&str, &[(&str, &str)]); 3] = [
    ("good", &[]),
    (
        "stranger",
        &[("backend-protocol", "HTTPS"), ("proxy-ssl-verify", "off")],
    ),
    ("named", &[("backend-protocol", "HTTP")]),
];

async fn start_pods(manifests: &Manifests, received: &Journal) -> Result<(Network, Vec<Echo>)> {
    let (network, mut pods) = (Network::reserve()?, Vec::new());
    let mut authorities = Authorities::default();
    for (n, (service, certificate)) in PODS.into_iter().enumerate() {
        let identity = authorities.described(certificate)?.identity()?;
        let setup = Setup {
            journal: Some(received.clone()),
            tls: Some(server_config(identity)?),
            ..Setup::default()
        };
        let identity = EchoIdentity {
            namespace: OWNER.to_owned(),
            ..EchoIdentity::of(service, service)
        };
        let pod = Echo::start_with(network.pod(u16::try_from(n)?), identity, setup).await?;
        manifests.service(OWNER, service, 80, &[pod.addr()])?;
        pods.push(pod);
    }
    manifests.object(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": OWNER, "name": "ca"},
        "stringData": {"ca.crt": authorities.certificate("ca")?},
    }))?;
    Ok((network, pods))
}

fn write_ingresses(manifests: &Manifests) -> Result<()> {
    for (host, protocol) in MAINS {
        let main = Ingress::new(OWNER, host).annotation("backend-protocol", protocol);
        let main = VERIFIED
            .iter()
            .fold(main, |main, (name, value)| main.annotation(name, value));
        manifests.ingress(&main.host(host).path("/", "web", 80))?;
    }
    for (service, annotations) in OF_CANARIES {
        let canary = Ingress::new(OWNER, service)
            .annotation("canary", "true")
            .annotation("canary-by-header", &format!("x-{service}"));
        let canary = annotations.iter().fold(canary, |canary, (name, value)| {
            canary.annotation(name, value)
        });
        manifests.ingress(&canary.host("verified.test").path("/", service, 80))?;
    }
    Ok(())
}

async fn ask(sluice: &Sluice, url: &str, canary: &str) -> Result<Response> {
    let (scheme, host) = url.split_once("://").context("a URL")?;
    let request = Request::get(host, "/").header(&format!("x-{canary}"), "always");
    if scheme == "http" {
        return http::send(sluice.http(), &request).await;
    }
    let tls = ClientTls {
        sni: Some(host.to_owned()),
        ..ClientTls::default()
    };
    let dial = Dial {
        tls: Some(tls),
        ..Dial::plain(sluice.https())
    };
    Connection::dial(&dial).await?.send(&request).await
}

async fn pods_of_a_canary_are_verified_as_those_of_the_main_ingress(plane: Plane) -> Result<()> {
    let (manifests, received) = (Manifests::new()?, Journal::default());
    let (_network, _pods) = start_pods(&manifests, &received).await?;
    write_ingresses(&manifests)?;
    let sluice = plane.options(&manifests).start().await?;
    for (host, _) in MAINS {
        sluice.wait_for_status(host, "/", 200).await?;
    }
    // With TLS or without, and the protocol; `None`: nobody gets it.
    let (tls, plain, http2) = (
        Some((true, "HTTP/1.1")),
        Some((false, "HTTP/1.1")),
        Some((false, "HTTP/2.0")),
    );
    for (url, canary, expected) in [
        ("http://verified.test", "web", tls),
        ("http://verified.test", "good", tls),
        ("http://verified.test", "stranger", None),
        ("http://verified.test", "named", None),
        ("https://either.test", "web", tls),
        ("https://either.test", "good", tls),
        ("https://either.test", "stranger", None),
        ("http://either.test", "good", plain),
        ("http://plain.test", "good", plain),
        ("http://plain.test", "stranger", plain),
        ("http://grpc.test", "good", http2),
        ("http://grpc.test", "named", http2),
    ] {
        let before = received.len();
        let response = ask(&sluice, url, canary).await?;
        let seen = received.since(before);
        let seen = seen
            .iter()
            .map(|one| (one.pod.as_str(), (one.connection.tls, one.http.as_str())));
        let seen: Vec<_> = seen.collect();
        let wanted: Vec<_> = expected.map(|how| (canary, how)).into_iter().collect();
        ensure!(seen == wanted, "{url} {canary}: {seen:?}: {response:?}");
        let is_refused = response.status >= 500;
        ensure!(
            is_refused == expected.is_none(),
            "{url} {canary}: {response:?}"
        );
    }
    sluice.stop()
}
