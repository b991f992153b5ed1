//! TLS that pods are offered, in every data plane: the ciphers and the versions that their Ingress names, and its certificate.

use anyhow::{Context, Result, ensure};
use serde_json::json;
use sluice_tests::certificate::{Pair, unusual};
use sluice_tests::connection::Connection;
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Setup, Speaks};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{self, Ingress};
use sluice_tests::ports::Network;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::tls::{TLS12, TLS13, server_config_of};
use sluice_tests::wait;

use super::ciphers::{AES_256, NAME_OF_AES_128, NAME_OF_AES_256};
use crate::fixture::{Fixture, page};

/// Pods `secure` that know one cipher, `old` that know TLS 1.2 alone, and `new` that know TLS 1.3 alone.
struct Pods {
    fixture: Fixture,
    heard: Journal,
    _pods: [Echo; 3],
    _network: Network,
}

/// Host, its annotations, and whether it reaches pods that know TLS 1.2 alone, and TLS 1.3 alone.
type Offer = (
    &'static str,
    &'static [(&'static str, &'static str)],
    [bool; 2],
);

const OFFERS: &[Offer] = &[
    ("bare", &[], [true, true]),
    ("grpc", &[("backend-protocol", "GRPCS")], [true, true]),
    // Without authorities ingress-nginx leaves versions to nginx.
    (
        "pair",
        &[("proxy-ssl-secret", "default/pair")],
        [true, true],
    ),
    (
        "trusting",
        &[("proxy-ssl-secret", "default/trusting")],
        [true, false],
    ),
    (
        "trusting-grpc",
        &[
            ("backend-protocol", "GRPCS"),
            ("proxy-ssl-secret", "default/trusting"),
        ],
        [true, false],
    ),
    (
        "said",
        &[
            ("proxy-ssl-secret", "default/trusting"),
            ("proxy-ssl-protocols", "TLSv1.2 TLSv1.3"),
        ],
        [true, true],
    ),
    (
        "newest",
        &[
            ("proxy-ssl-secret", "default/trusting"),
            ("proxy-ssl-protocols", "TLSv1.3"),
        ],
        [false, true],
    ),
];

/// Ciphers, and whether pods that know one alone are reached with them.
const CIPHERS: &[(&str, &str, bool)] = &[
    ("right", NAME_OF_AES_256, true),
    (
        "both",
        "ECDHE-ECDSA-AES128-GCM-SHA256:NONSENSE:ECDHE-ECDSA-AES256-GCM-SHA384",
        true,
    ),
    ("wrong", NAME_OF_AES_128, false),
    ("usual", "DEFAULT", true),
];

pub(crate) async fn pods_are_offered_what_their_ingress_says(data_plane: &str) -> Result<()> {
    let pods = Pods::start().await?;
    let manifests = &pods.fixture.manifests;
    for (name, annotations, _) in OFFERS {
        for service in ["old", "new"] {
            pods.serve(&format!("{name}-{service}"), service, annotations)?;
        }
    }
    for (host, ciphers, _) in CIPHERS {
        let annotations = [
            ("proxy-ssl-secret", "default/pair"),
            ("proxy-ssl-ciphers", ciphers),
        ];
        pods.serve(host, "secure", &annotations)?;
    }
    let unusual = unusual()?;
    for (name, pair) in &unusual {
        pair.store(manifests, name)?;
        let secret = format!("default/{name}");
        pods.serve(name, "old", &[("proxy-ssl-secret", &secret)])?;
    }
    let targets = pods.mirrors()?;
    let sluice = Options::new(manifests)
        .data_plane(data_plane)
        .start()
        .await?;
    reaches(&sluice).await?;
    for (name, pair) in &unusual {
        let place = pods.heard.len();
        sluice
            .wait_for_status(&format!("{name}.test"), "/", 200)
            .await?;
        let heard = pods.heard.since(place);
        let sees = |certificate: &[u8]| {
            let mut seen = heard.iter().map(|it| &it.connection.client_certificate);
            seen.any(|seen| seen.as_deref() == Some(certificate))
        };
        ensure!(sees(&pair.der), "{name}: {heard:?}");
    }
    for target in targets {
        let request = Request::get(&format!("{target}.test"), "/").header("x-probe", target);
        http::send(sluice.http(), &request).await?;
        let heard = || pods.heard.since(0).into_iter();
        let came = async || heard().find(|it| it.header("x-probe").as_deref() == Some(target));
        wait::until(&format!("the copy of {target}"), came).await?;
    }
    let plain = Connection::open(sluice.http()).await?.send(&page()).await?;
    ensure!(plain.status == 200, "{plain:?}");
    sluice.stop()
}

async fn reaches(sluice: &Sluice) -> Result<()> {
    let ciphers = CIPHERS
        .iter()
        .map(|(host, _, is_reached)| ((*host).to_owned(), *is_reached));
    let versions = OFFERS.iter().flat_map(|(name, _, [old, new])| {
        [(format!("{name}-old"), *old), (format!("{name}-new"), *new)]
    });
    for (host, is_reached) in ciphers.chain(versions) {
        let host = format!("{host}.test");
        if is_reached {
            let served = sluice.wait_for_status(&host, "/", 200).await;
            served.with_context(|| host.clone())?;
        } else {
            let refused = sluice.get(&host, "/").await?;
            ensure!([502, 503].contains(&refused.status), "{host}: {refused:?}");
        }
    }
    let named = "default/both: annotation proxy-ssl-ciphers: expected ciphers";
    let is_told = sluice.log().lines().iter().any(|line| line.contains(named));
    ensure!(is_told, "{}", sluice.log().tail());
    Ok(())
}

impl Pods {
    async fn start() -> Result<Pods> {
        let (fixture, network) = (Fixture::start(1, 1).await?, Network::reserve()?);
        let heard = Journal::default();
        let pair = Pair::renew(&fixture.manifests, "pair", &["pod.test"])?;
        fixture.manifests.object(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "default", "name": "trusting"},
            "stringData": {"tls.crt": pair.pem, "tls.key": pair.key, "ca.crt": pair.pem},
        }))?;
        let mut pods = Vec::new();
        for (number, (service, cipher, versions)) in [
            ("secure", Some(AES_256), [&TLS12].as_slice()),
            ("old", None, &[&TLS12]),
            ("new", None, &[&TLS13]),
        ]
        .into_iter()
        .enumerate()
        {
            let setup = Setup {
                journal: Some(heard.clone()),
                tls: Some(server_config_of(pair.identity()?, cipher, versions)?),
                speaks: Speaks::Tls,
                ..Setup::default()
            };
            let identity = EchoIdentity::of(service, &format!("{service}-0"));
            let address = network.pod(u16::try_from(number)?);
            let pod = Echo::start_with(address, identity, setup).await?;
            fixture
                .manifests
                .service("default", service, 443, &[pod.addr()])?;
            pods.push(pod);
        }
        let pods = pods.try_into().ok().context("three pods")?;
        Ok(Pods {
            fixture,
            heard,
            _pods: pods,
            _network: network,
        })
    }

    fn serve(&self, name: &str, service: &str, annotations: &[(&str, &str)]) -> Result<()> {
        let ingress = Ingress::new("default", name)
            .host(&format!("{name}.test"))
            .path("/", service, 443)
            .annotation("backend-protocol", "HTTPS");
        let ingress = annotations.iter().fold(ingress, |ingress, (name, value)| {
            ingress.annotation(name, value)
        });
        self.fixture.manifests.ingress(&ingress)
    }

    /// Hosts with copies for pods that know TLS 1.3 alone: at the address of their Service, and where it has none.
    fn mirrors(&self) -> Result<[&'static str; 2]> {
        let manifests = &self.fixture.manifests;
        let [.., new] = &self._pods;
        let address = new.addr();
        let mut service = manifests::service("default", "addressed", address.port(), &[address]);
        service["spec"]["clusterIP"] = address.ip().to_string().into();
        manifests.object(&service)?;
        manifests.endpoints("default", "addressed", &[address])?;
        for (name, port) in [("new", 443), ("addressed", address.port())] {
            let target = format!("https://{name}.default.svc.cluster.local:{port}");
            let ingress = Ingress::new("default", &format!("mirror-{name}"))
                .host(&format!("mirror-{name}.test"))
                .path("/", "web", 80)
                .annotation("mirror-target", &target);
            manifests.ingress(&ingress)?;
        }
        Ok(["mirror-new", "mirror-addressed"])
    }
}
