//! Ciphers of TLS 1.2 that an Ingress names, in every data plane: those of its clients, and those towards its pods.

use anyhow::{Context, Result, ensure};
use serde_json::json;
use sluice_tests::certificate::{Pair, presented};
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::echo::{Echo, EchoIdentity, Setup, Speaks};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Network;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::tls::{CipherSuite, ClientTls, server_config_of};

use crate::fixture::{Fixture, page};

const AES_128: CipherSuite = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;
const AES_256: CipherSuite = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384;
const NAME_OF_AES_128: &str = "ECDHE-ECDSA-AES128-GCM-SHA256";
const NAME_OF_AES_256: &str = "ECDHE-ECDSA-AES256-GCM-SHA384";

/// A host takes the ciphers that it names, whatever certificate it presents, and the others those of all.
pub(crate) async fn hosts_accept_their_ciphers(data_plane: &str) -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let all: Vec<&str> = HOSTS
        .iter()
        .map(|(host, ..)| *host)
        .chain(["*.wild.test"])
        .collect();
    Pair::renew(&fixture.manifests, "pair", &all)?;
    for (n, (host, own, has_certificate, _)) in HOSTS.iter().enumerate() {
        let name = format!("web-{n}");
        let mut ingress = Ingress::new("default", &name)
            .host(host)
            .path("/", "web", 80);
        if !own.is_empty() {
            ingress = ingress.annotation("ssl-ciphers", own);
        }
        let mut ingress = ingress.annotation("ssl-redirect", "false").to_json();
        if *has_certificate {
            ingress["spec"]["tls"] = presented(&name, host, "pair")["spec"]["tls"].clone();
        }
        fixture.manifests.object(&ingress)?;
    }
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "sluice"},
        "data": {"ssl-ciphers": format!("{NAME_OF_AES_128}:{NAME_OF_AES_256}")}});
    fixture.manifests.object(&map)?;
    let arguments = vec!["--configmap".to_owned(), "default/sluice".to_owned()];
    let sluice = Options::new(&fixture.manifests)
        .arguments(arguments)
        .data_plane(data_plane)
        .start()
        .await?;
    for (host, _, _, expected) in HOSTS {
        let name = host.replace('*', "any");
        sluice.wait_for_status(&name, "/", 200).await?;
        let accepted = [
            accepts(&sluice, &name, AES_128).await,
            accepts(&sluice, &name, AES_256).await,
        ];
        ensure!(accepted == *expected, "{host}: {accepted:?}");
    }
    sluice.stop()
}

/// Host, its own ciphers, whether it has a certificate, and whether clients with the short and the long key get in.
const HOSTS: &[(&str, &str, bool, [bool; 2])] = &[
    ("strict.test", NAME_OF_AES_256, true, [false, true]),
    ("bare.test", NAME_OF_AES_256, false, [false, true]),
    ("usual.test", "", true, [true, true]),
    ("other.test", "", false, [true, true]),
    ("*.wild.test", NAME_OF_AES_128, true, [true, false]),
    ("a.wild.test", "", false, [true, true]),
];

async fn accepts(sluice: &Sluice, host: &str, cipher: CipherSuite) -> bool {
    let tls = ClientTls {
        sni: Some(host.to_owned()),
        cipher: Some(cipher),
        ..ClientTls::default()
    };
    Connection::dial(&Dial {
        tls: Some(tls),
        ..Dial::plain(sluice.https())
    })
    .await
    .is_ok()
}

/// Pods are offered the ciphers that their Ingress names.
pub(crate) async fn pods_are_offered_ciphers(data_plane: &str) -> Result<()> {
    let (fixture, network) = (Fixture::start(1, 1).await?, Network::reserve()?);
    let pair = Pair::renew(&fixture.manifests, "pair", &["pod.test"])?;
    let tls = Some(server_config_of(pair.identity()?, Some(AES_256))?);
    let setup = Setup {
        tls,
        speaks: Speaks::Tls,
        ..Setup::default()
    };
    let identity = EchoIdentity::of("secure", "secure-0");
    let pod = Echo::start_with(network.pod(0), identity, setup).await?;
    fixture
        .manifests
        .service("default", "secure", 443, &[pod.addr()])?;
    for (host, ciphers) in [
        ("right", NAME_OF_AES_256.to_owned()),
        (
            "both",
            format!("{NAME_OF_AES_128}:NONSENSE:{NAME_OF_AES_256}"),
        ),
        ("wrong", NAME_OF_AES_128.to_owned()),
        ("usual", "DEFAULT".to_owned()),
    ] {
        let ingress = Ingress::new("default", host)
            .host(&format!("{host}.test"))
            .path("/", "secure", 443);
        let ingress = ingress.annotation("backend-protocol", "HTTPS");
        let ingress = ingress.annotation("proxy-ssl-secret", "default/pair");
        fixture
            .manifests
            .ingress(&ingress.annotation("proxy-ssl-ciphers", &ciphers))?;
    }
    let sluice = Options::new(&fixture.manifests)
        .data_plane(data_plane)
        .start()
        .await?;
    for host in ["right.test", "both.test", "usual.test"] {
        sluice
            .wait_for_status(host, "/", 200)
            .await
            .with_context(|| host.to_owned())?;
    }
    let wrong = sluice.get("wrong.test", "/").await?;
    ensure!([502, 503].contains(&wrong.status), "{wrong:?}");
    let named = "default/both: annotation proxy-ssl-ciphers: expected ciphers";
    ensure!(
        sluice.log().lines().iter().any(|line| line.contains(named)),
        "{}",
        sluice.log().tail()
    );
    let plain = Connection::open(sluice.http()).await?.send(&page()).await?;
    ensure!(plain.status == 200, "{plain:?}");
    sluice.stop()
}
