//! R6: `AUTO_HTTP` speaks to pods as the client's connection does, whatever anybody says of it; pods and redirects go by what a proxy in
//! front says of its client, in a header or by the port of a PROXY header, as far as that is believed.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::certificate::Pair;
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::echo::{Echo, EchoIdentity, Setup};
use sluice_tests::http::{Request, Response};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Sluice;
use sluice_tests::tls::server_config;
use sluice_tests::wait;

use crate::setup::{OWNER, Plane, on_every_plane};

on_every_plane!(pods_are_spoken_to_as_the_client_speaks);

/// An Ingress whose pods are spoken to as clients speak, and one that redirects to https.
const AUTO: &str = "auto.test";
const SECURE: &str = "secure.test";

/// Settings of the operator, and what is believed with them.
#[derive(Clone, Copy, Debug)]
struct Believed {
    settings: &'static [(&'static str, &'static str)],
    headers: bool,
    /// Connections begin with a PROXY header.
    proxy: bool,
    /// The peers of this test may send one.
    peers: bool,
}

const BELIEVED: [Believed; 5] = [
    Believed {
        settings: &[],
        headers: false,
        proxy: false,
        peers: false,
    },
    Believed {
        settings: &[("use-forwarded-headers", "true")],
        headers: true,
        proxy: false,
        peers: false,
    },
    Believed {
        settings: &[("use-proxy-protocol", "true")],
        headers: false,
        proxy: true,
        peers: true,
    },
    Believed {
        settings: &[
            ("use-forwarded-headers", "true"),
            ("use-proxy-protocol", "true"),
        ],
        headers: true,
        proxy: true,
        peers: true,
    },
    Believed {
        settings: &[
            ("use-proxy-protocol", "true"),
            ("proxy-real-ip-cidr", "192.0.2.0/24"),
        ],
        headers: false,
        proxy: true,
        peers: false,
    },
];

/// A connection, and what is said of the one in front of it.
#[derive(Clone, Copy, Debug)]
struct Client {
    tls: bool,
    header: Option<&'static str>,
    /// Of the PROXY header.
    port: Option<u16>,
}

impl Client {
    fn all(believed: Believed) -> impl Iterator<Item = Client> {
        let ports: &[Option<u16>] = match believed.proxy {
            true => &[Some(80), Some(443)],
            false => &[None],
        };
        let headers = [None, Some("http"), Some("https")];
        [false, true].into_iter().flat_map(move |tls| {
            headers.into_iter().flat_map(move |header| {
                let ports = ports.iter();
                ports.map(move |port| Client {
                    tls,
                    header,
                    port: *port,
                })
            })
        })
    }

    /// The scheme by which pods and redirects go. ingress-nginx: the port of a PROXY header counts more than a header of the request.
    fn scheme(self, believed: Believed) -> &'static str {
        let by_port = (self.port == Some(443) && believed.peers).then_some("https");
        let by_header = self.header.filter(|_| believed.headers);
        let own = if self.tls { "https" } else { "http" };
        by_port.or(by_header).unwrap_or(own)
    }

    async fn get(self, sluice: &Sluice, host: &str) -> Result<Response> {
        let dial = match self.tls {
            true => Dial::tls(sluice.https(), host),
            false => Dial::plain(sluice.http()),
        };
        let line = |port| format!("PROXY TCP4 192.0.2.7 192.0.2.8 1234 {port}");
        let dial = Dial {
            proxy_line: self.port.map(line),
            ..dial
        };
        let request = self
            .header
            .iter()
            .fold(Request::get(host, "/"), |request, scheme| {
                request.header("X-Forwarded-Proto", scheme)
            });
        Connection::dial(&dial).await?.send(&request).await
    }
}

/// A pod that takes both, and the Ingresses.
async fn site() -> Result<(Manifests, Echo, Network)> {
    let (network, manifests) = (Network::reserve()?, Manifests::new()?);
    let setup = Setup {
        tls: Some(server_config(Pair::of(&[AUTO])?.identity()?)?),
        ..Setup::default()
    };
    let identity = EchoIdentity {
        namespace: OWNER.to_owned(),
        ..EchoIdentity::of("web", "web-0")
    };
    let pod = Echo::start_with(network.pod(0), identity, setup).await?;
    manifests.service(OWNER, "web", 80, &[pod.addr()])?;
    let ingress = |host: &str, name: &str, value: &str| {
        let ingress = Ingress::new(OWNER, &host.replace('.', "-")).host(host);
        manifests.ingress(&ingress.path("/", "web", 80).annotation(name, value))
    };
    ingress(AUTO, "backend-protocol", "AUTO_HTTP")?;
    ingress(SECURE, "force-ssl-redirect", "true")?;
    Ok((manifests, pod, network))
}

fn config_map(settings: &[(&str, &str)]) -> Value {
    let data: serde_json::Map<_, _> = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Value::from(*value)))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "sluice", "name": "sluice"}, "data": data,
    })
}

async fn pods_are_spoken_to_as_the_client_speaks(plane: Plane) -> Result<()> {
    let (manifests, _pod, _network) = site().await?;
    for believed in BELIEVED {
        manifests.object(&config_map(believed.settings))?;
        let arguments = ["--configmap", "sluice/sluice"].map(str::to_owned);
        let options = plane.options(&manifests).arguments(arguments.into());
        let sluice = options.start().await?;
        // Envoy closes connections of peers whose PROXY header is not believed.
        let is_closed = believed.proxy && !believed.peers && plane != Plane::Nginx;
        if !is_closed {
            served(&sluice, believed).await?;
        }
        for client in Client::all(believed) {
            let seen = ensure_spoken_to(&sluice, client, believed).await;
            let what = || format!("{:?} {client:?}", believed.settings);
            match is_closed {
                true => ensure!(seen.is_err(), "{}: served", what()),
                false => seen.with_context(what)?,
            }
        }
        sluice.stop()?;
    }
    Ok(())
}

/// Waits until both hosts are there.
async fn served(sluice: &Sluice, believed: Believed) -> Result<()> {
    let client = Client {
        tls: false,
        header: None,
        port: believed.proxy.then_some(80),
    };
    for (host, status) in [(AUTO, 200), (SECURE, 308)] {
        let is_there = async || {
            let page = client.get(sluice, host).await.ok()?;
            (page.status == status).then_some(())
        };
        wait::until(host, is_there).await?;
    }
    Ok(())
}

async fn ensure_spoken_to(sluice: &Sluice, client: Client, believed: Believed) -> Result<()> {
    let scheme = client.scheme(believed);
    let page = client.get(sluice, AUTO).await?;
    ensure!(page.status == 200, "{AUTO}: {}", page.status);
    let seen = page.json()?;
    ensure!(seen["tls"].is_null() != client.tls, "{seen}");
    for header in ["x-forwarded-proto", "x-forwarded-scheme", "x-scheme"] {
        let told = &seen["headers"][header];
        ensure!(*told == json!([scheme]), "{header} is {told}, not {scheme}");
    }
    let page = client.get(sluice, SECURE).await?;
    let expected = if scheme == "http" { 308 } else { 200 };
    ensure!(page.status == expected, "{SECURE}: {}", page.status);
    Ok(())
}
