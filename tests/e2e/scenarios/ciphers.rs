//! TLS of hosts, in every data plane: ciphers of TLS 1.2 that they name, and certificates with keys of every kind.

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::certificate::{Pair, presented, presents, unusual};
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::tls::{CipherSuite, ClientTls};

use crate::fixture::Fixture;

const AES_128: CipherSuite = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;
pub(super) const AES_256: CipherSuite = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384;
pub(super) const NAME_OF_AES_128: &str = "ECDHE-ECDSA-AES128-GCM-SHA256";
pub(super) const NAME_OF_AES_256: &str = "ECDHE-ECDSA-AES256-GCM-SHA384";

/// A host takes the ciphers that it names, whatever certificate it presents, and the others those of all. Any key that both data planes
/// take presents its certificate.
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
    let unusual = unusual()?;
    for (name, pair) in &unusual {
        pair.store(&fixture.manifests, name)?;
        let host = format!("{name}.test");
        fixture.manifests.object(&presented(name, &host, name))?;
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
    for (name, pair) in &unusual {
        presents(&sluice, &format!("{name}.test"), pair).await?;
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
