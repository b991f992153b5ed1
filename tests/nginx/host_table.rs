//! Hosts in the table of our module: a client cannot tell them from hosts in nginx.conf.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use sluice_tests::certificate::{Pair, presented};
use sluice_tests::connection::Connection;
use sluice_tests::echo::Echo;
use sluice_tests::http::{Request, Response};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::{Options, Sluice};

/// Services with a pod of the same name each.
const SERVICES: [&str; 3] = ["one", "two", "three"];

/// Pods of the Service that is chosen among by the name of the host.
const HASHED: u16 = 8;

const HOSTS: [&str; 19] = [
    "plain.test",
    "PLAIN.test:8080",
    "plain.test.",
    "paths.test",
    "secure.test",
    "a.wild.test",
    "b_1.wild.test",
    "b.a.wild.test",
    "wild.test",
    "named.wild.test",
    "a.pattern.test",
    "named.pattern.test",
    "alias.test",
    "[::1]",
    "nobody.test",
    "1.hash.test",
    "2.hash.test",
    "3.hash.test",
    "4.hash.test",
];

const PATHS: [&str; 22] = [
    "/",
    "/shop",
    "/shop/",
    "/shop/a?b=c",
    "/shopping",
    "/SHOP",
    "/shop/new",
    "/shop/new/",
    "/shop/new/er",
    "//shop///new",
    "/a/../shop/./new",
    "/%73hop/n%65w",
    "/shop%2Fnew",
    "/shop/%2e%2e/docs",
    "/docs",
    "/docs/",
    "/docs/a",
    "/exact",
    "/exact/",
    "/é",
    "/healthz",
    "/regex/42",
];

fn ingresses() -> Vec<Ingress> {
    let ingress = |name: &str| Ingress::new("default", name);
    let [one, two, three] = SERVICES;
    let annotated =
        |name: &str, annotation: &str, value: &str| ingress(name).annotation(annotation, value);
    vec![
        ingress("plain").host("plain.test").path("/", one, 80),
        ingress("paths")
            .host("paths.test")
            .path("/shop", one, 80)
            .path("/shop/new", two, 80)
            .typed_path("Exact", "/exact", three, 80)
            .typed_path("ImplementationSpecific", "/docs/", three, 80),
        // More of the same host, with other settings.
        annotated("small", "proxy-body-size", "1k")
            .host("paths.test")
            .path("/shop/new/er", three, 80),
        annotated("secure", "force-ssl-redirect", "true")
            .host("secure.test")
            .path("/shop", two, 80),
        ingress("wild").host("*.wild.test").path("/", two, 80),
        ingress("named")
            .host("named.wild.test")
            .path("/shop", three, 80),
        annotated("pattern", "use-regex", "true")
            .host("*.pattern.test")
            .typed_path("ImplementationSpecific", "/regex/[0-9]+", one, 80),
        ingress("below")
            .host("named.pattern.test")
            .path("/", three, 80),
        hashed(),
        annotated("alias", "server-alias", "alias.test")
            .host("main.test")
            .path("/", three, 80),
    ]
}

/// Hosts whose requests go to the pod that the name of the virtual host leads to.
fn hashed() -> Ingress {
    let ingress = Ingress::new("default", "hashed").annotation("upstream-hash-by", "$server_name");
    let hosts = HOSTS.iter().filter(|host| host.ends_with(".hash.test"));
    hosts.fold(ingress, |ingress, host| {
        ingress.host(host).path("/", "hashed", 80)
    })
}

/// Of a response, as far as it does not depend on time.
fn essence(response: &Response) -> (u16, Option<&str>, Option<&str>, Option<&str>) {
    (
        response.status,
        response.pod(),
        response.header("location"),
        response.header("strict-transport-security"),
    )
}

fn requests() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = HOSTS
        .iter()
        .flat_map(|host| PATHS.iter().map(|path| Request::get(host, path).to_bytes()))
        .collect();
    let texts = [
        "GET /shop/new HTTP/1.0\r\n\r\n",
        "GET http://paths.test/shop/new HTTP/1.1\r\nHost: plain.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: \r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: plain.test\r\n\r\n",
        "GET /../../ HTTP/1.1\r\nHost: plain.test\r\n\r\n",
    ];
    all.extend(texts.map(|text| text.as_bytes().to_vec()));
    for path in ["/shop/new", "/shop/new/er", "/nowhere"] {
        for length in [10, 2_000, 3_000_000] {
            let body = vec![b'x'; length];
            all.push(
                Request::new("POST", "paths.test", path)
                    .body(body)
                    .to_bytes(),
            );
        }
    }
    all
}

/// The response, and the certificate of the connection.
async fn ask(addr: SocketAddr, sni: Option<&str>, request: &[u8]) -> Result<(Response, Vec<u8>)> {
    let mut connection = match sni {
        Some(name) => Connection::open_tls(addr, name).await?,
        None => Connection::open(addr).await?,
    };
    let certificate = connection.certificate().unwrap_or_default().to_vec();
    let response = connection.send_bytes(request, false).await?;
    Ok((response, certificate))
}

async fn started(manifests: &Manifests, mode: &str) -> Result<Sluice> {
    let arguments = vec![
        format!("--nginx-host-table={mode}"),
        "--default-ssl-certificate=default/default".to_owned(),
    ];
    let options = Options::new(manifests).data_plane("nginx");
    let sluice = options.arguments(arguments).start().await?;
    sluice.wait_for_status("plain.test", "/", 200).await?;
    Ok(sluice)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_those_of_hosts_in_the_configuration() -> Result<()> {
    let (network, manifests) = (Network::reserve()?, Manifests::new()?);
    let mut pods = Vec::new();
    for (service, addr) in SERVICES.into_iter().zip(network.pods(3)) {
        pods.extend(Echo::start_all(service, &[addr]).await?);
        manifests.service("default", service, 80, &[addr])?;
    }
    let hashed: Vec<SocketAddr> = network.pods(3 + HASHED).split_off(3);
    pods.extend(Echo::start_all("hashed", &hashed).await?);
    manifests.service("default", "hashed", 80, &hashed)?;
    for ingress in ingresses() {
        manifests.ingress(&ingress)?;
    }
    for (name, host) in [("secure", "secure.test"), ("wild", "*.wild.test")] {
        manifests.object(&presented(&format!("{name}-tls"), host, name))?;
        Pair::renew(&manifests, name, &[host])?;
    }
    Pair::renew(&manifests, "default", &["default.test"])?;
    let (table, conf) = (
        started(&manifests, "auto").await?,
        started(&manifests, "off").await?,
    );
    let text = std::fs::read_to_string(table.run_dir().join("nginx/nginx.conf"))?;
    let is_in_conf = |host: &str| text.contains(&format!("server_name \"{host}\""));
    ensure!(!is_in_conf("plain.test") && !is_in_conf("secure.test"));
    ensure!(is_in_conf("named.pattern.test") && is_in_conf("main.test"));
    for request in requests() {
        let by_table = ask(table.http(), None, &request).await;
        let by_conf = ask(conf.http(), None, &request).await;
        let said = String::from_utf8_lossy(&request[..request.len().min(80)]).into_owned();
        let (by_table, by_conf) = (
            by_table.context(said.clone())?,
            by_conf.context(said.clone())?,
        );
        ensure!(
            essence(&by_table.0) == essence(&by_conf.0),
            "{said}: {:?}, with a table {:?}",
            essence(&by_conf.0),
            essence(&by_table.0)
        );
    }
    for sni in HOSTS.iter().filter(|name| name.ends_with("test")) {
        for host in [*sni, "plain.test", "secure.test"] {
            let request = Request::get(host, "/shop").to_bytes();
            let (by_table, presented) = ask(table.https(), Some(sni), &request).await?;
            let (by_conf, expected) = ask(conf.https(), Some(sni), &request).await?;
            ensure!(presented == expected, "certificate for {sni}");
            ensure!(
                essence(&by_table) == essence(&by_conf),
                "{host} on a connection for {sni}: {:?}, with a table {:?}",
                essence(&by_conf),
                essence(&by_table)
            );
        }
    }
    conf.stop()?;
    table.stop()
}

/// Lengths around those that a byte can count.
const LENGTHS: [usize; 8] = [200, 253, 254, 255, 256, 257, 511, 2000];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_paths_take_their_own_requests_and_no_others() -> Result<()> {
    let (network, manifests) = (Network::reserve()?, Manifests::new()?);
    let _pods = Echo::start_all("one", &network.pods(1)).await?;
    manifests.service("default", "one", 80, &network.pods(1))?;
    let path = |length: usize| format!("/{}a", "b".repeat(length - 2));
    let ingress = Ingress::new("default", "long").host("long.test");
    let ingress = LENGTHS.into_iter().fold(ingress, |ingress, length| {
        ingress.path(&path(length), "one", 80)
    });
    manifests.ingress(&ingress)?;
    Pair::renew(&manifests, "default", &["default.test"])?;
    let plain = Ingress::new("default", "plain").host("plain.test");
    manifests.ingress(&plain.path("/", "one", 80))?;
    for mode in ["auto", "off"] {
        let sluice = started(&manifests, mode).await?;
        for length in LENGTHS {
            let exact = path(length);
            let bare = exact.trim_end_matches('a');
            for (path, status) in [
                (exact.as_str(), 200),
                (&format!("{exact}/below"), 200),
                (&format!("{exact}b"), 404),
                (bare, 404),
                (&format!("{bare}b"), 404),
            ] {
                let found = sluice.get("long.test", path).await?.status;
                ensure!(
                    found == status,
                    "{mode}, {length} bytes: {found}, not {status}"
                );
            }
        }
        sluice.stop()?;
    }
    Ok(())
}
