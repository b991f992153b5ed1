//! Copies of requests, at the mirror's own path, with the host of the request and without their bodies.

use anyhow::{Result, ensure};
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Received, Setup};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::setup::{Plane, on_every_plane};

on_every_plane!(
    copies_have_the_path_of_their_target,
    copies_have_a_body_unless_it_is_left_out,
    copies_have_the_host_of_their_request,
);

/// A mirror's path in its target, and the one that a copy of a request has.
const PATHS: &[(&str, &str, &str)] = &[
    ("", "/some/path?a=1", "/some/path?a=1"),
    ("$request_uri", "/some%2fpath?a=%2f", "/some%2fpath?a=%2f"),
    ("/$request_uri", "/x", "/x"),
    ("/fixed", "/some%2fpath?a=1?b", "/fixed?a=1?b"),
    ("/fixed", "/some", "/fixed"),
    ("/", "/some?a", "/?a"),
    (
        "/%2fREQ(host)%25/&$request_uri",
        "/a",
        "/%2fREQ(host)%25/&/a",
    ),
    (
        "/100%25/a$request_uri",
        "/some%2fpath?a=1",
        "/100%25/a/some%2fpath?a=1",
    ),
    // Names of the Ingress are constants.
    (
        "/$namespace/${service_name}:$service_port$request_uri",
        "/a?b",
        "/default/web:80/a?b",
    ),
    // What the pod gets is rewritten.
    ("$request_uri", "/in/x%2fy?a=1", "/in/x%2fy?a=1"),
    ("/fixed", "/in/x?a=1", "/fixed?a=1"),
];

/// A host for each path, whose requests are copied to a pod that keeps them.
struct Mirrored {
    manifests: Manifests,
    heard: Journal,
    _pods: [Echo; 2],
    _network: Network,
}

impl Mirrored {
    async fn start() -> Result<Mirrored> {
        let (network, manifests, heard) =
            (Network::reserve()?, Manifests::new()?, Journal::default());
        let listens = Setup {
            journal: Some(heard.clone()),
            ..Setup::default()
        };
        let web = Echo::start(network.pod(0), EchoIdentity::of("web", "web-0")).await?;
        let copies = Echo::start_with(
            network.pod(1),
            EchoIdentity::of("copies", "copies-0"),
            listens,
        )
        .await?;
        manifests.service("default", "web", 80, &[web.addr()])?;
        manifests.service("default", "copies", 80, &[copies.addr()])?;
        Ok(Mirrored {
            manifests,
            heard,
            _pods: [web, copies],
            _network: network,
        })
    }

    fn mirror(&self, name: &str, path: &str, bodies: &str) -> Result<()> {
        let target = format!("http://copies.default.svc.cluster.local{path}");
        let ingress = Ingress::new("default", name)
            .host(&format!("{name}.test"))
            .annotation("mirror-target", &target)
            .annotation("mirror-request-body", bodies)
            .annotation("use-regex", "true")
            .annotation("rewrite-target", "/r/$2")
            .typed_path("ImplementationSpecific", "/(in/)?(.*)", "web", 80);
        self.manifests.ingress(&ingress)
    }

    async fn serve(&self, options: Options) -> Result<Sluice> {
        let sluice = options.start().await?;
        sluice.wait_for_status("host-0.test", "/", 200).await?;
        Ok(sluice)
    }

    /// The copy of a request, which `name` tells from others. The pod of its host gets that one itself.
    async fn copy_of(&self, sluice: &Sluice, request: Request, name: &str) -> Result<Received> {
        let request = request.header("x-probe", name);
        let answer = http::send(sluice.http(), &request).await?;
        ensure!(answer.pod() == Some("web-0"), "{}", answer.status);
        ensure!(!answer.text().contains("x-sluice-"), "{}", answer.text());
        let came = async || {
            let heard = self.heard.since(0).into_iter();
            heard
                .rev()
                .find(|copy| copy.header("x-probe").as_deref() == Some(name))
        };
        let (copy, _) = wait::until("the copy", came).await?;
        let ours = copy.headers.keys().find(|name| name.contains("sluice"));
        ensure!(ours.is_none(), "{copy:?}");
        Ok(copy)
    }
}

fn target(received: &Received) -> String {
    let query = received.query.as_ref().map(|query| format!("?{query}"));
    received.path.clone() + &query.unwrap_or_default()
}

async fn copies_have_the_path_of_their_target(plane: Plane) -> Result<()> {
    copied_to_paths(|manifests| plane.options(manifests)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_have_the_path_of_their_target_by_wasm() -> Result<()> {
    copied_to_paths(by_wasm).await
}

async fn copied_to_paths(options: impl FnOnce(&Manifests) -> Options) -> Result<()> {
    let mirrored = Mirrored::start().await?;
    for (number, (path, ..)) in PATHS.iter().enumerate() {
        mirrored.mirror(&format!("host-{number}"), path, "on")?;
    }
    let sluice = mirrored.serve(options(&mirrored.manifests)).await?;
    for (number, (path, asked, expected)) in PATHS.iter().enumerate() {
        let request = Request::get(&format!("host-{number}.test"), asked);
        let copy = mirrored
            .copy_of(&sluice, request, &number.to_string())
            .await?;
        let target = target(&copy);
        ensure!(target == *expected, "{path}: {asked} arrives as {target}");
    }
    sluice.stop()
}

async fn copies_have_a_body_unless_it_is_left_out(plane: Plane) -> Result<()> {
    copied_with_bodies(|manifests| plane.options(manifests)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_have_a_body_unless_it_is_left_out_by_wasm() -> Result<()> {
    copied_with_bodies(by_wasm).await
}

async fn copied_with_bodies(options: impl FnOnce(&Manifests) -> Options) -> Result<()> {
    const SIZES: [usize; 3] = [0, 5, 300_000];
    let mirrored = Mirrored::start().await?;
    for (number, bodies) in ["on", "off"].into_iter().enumerate() {
        mirrored.mirror(&format!("host-{number}"), "/fixed", bodies)?;
    }
    let sluice = mirrored.serve(options(&mirrored.manifests)).await?;
    for (number, size) in [0, 1].into_iter().flat_map(|n| SIZES.map(|size| (n, size))) {
        let host = format!("host-{number}.test");
        // More than one on the same connection: what is left of a body would be taken for the next request.
        for turn in 0..3 {
            let body = "b".repeat(size);
            let request = Request::new("POST", &host, "/some");
            let request = if turn == 0 && size > 0 {
                let chunks = format!("{size:x}\r\n{body}\r\n0\r\n\r\n");
                request.header("transfer-encoding", "chunked").body(chunks)
            } else {
                request.body(body)
            };
            let name = format!("{number} {size} {turn}");
            let copy = mirrored.copy_of(&sluice, request, &name).await?;
            let expected = if number == 0 { size } else { 0 };
            ensure!(copy.body_bytes == expected, "{name}: {copy:?}");
            ensure!(copy.method == "POST" && copy.path == "/fixed", "{copy:?}");
        }
    }
    sluice.stop()
}

fn by_wasm(manifests: &Manifests) -> Options {
    let wasm = ["--envoy-filter", "wasm"].map(str::to_owned);
    Options::new(manifests).arguments(wasm.into())
}

/// `$host`: what was asked for, in lower case and without a port, whatever else the client says.
async fn copies_have_the_host_of_their_request(plane: Plane) -> Result<()> {
    const TARGET: &str = "copies.default.svc.cluster.local";
    let mirrored = Mirrored::start().await?;
    let copied = |name: &str| {
        Ingress::new("default", name)
            .annotation("mirror-target", &format!("http://{TARGET}"))
            .annotation("mirror-host", "$host")
            .annotation("upstream-vhost", "pods.test")
    };
    let hosts = copied("hosts").annotation("server-alias", "also.test");
    let hosts = hosts.host("host-0.test").path("/", "web", 80);
    mirrored
        .manifests
        .ingress(&hosts.host("b.test").path("/", "web", 80))?;
    let below = copied("below").host("*.below.test").path("/", "web", 80);
    mirrored.manifests.ingress(&below)?;
    let sluice = mirrored.serve(plane.options(&mirrored.manifests)).await?;
    sluice.wait_for_status("x.below.test", "/", 200).await?;
    // Of wildcards Envoy knows no more than what the client has written.
    let below = match plane {
        Plane::Nginx => "x.below.test",
        Plane::EnvoyTable | Plane::EnvoyScopes => TARGET,
    };
    for (number, (asked, path, expected)) in [
        ("host-0.test", "/", "host-0.test"),
        ("HOST-0.test:8080", "/", "host-0.test"),
        ("b.test:1", "/%61", "b.test"),
        ("b.test.", "/", "b.test"),
        ("also.test", "/", "also.test"),
        ("X.below.test:80", "/", below),
    ]
    .into_iter()
    .enumerate()
    {
        let request = Request::get(asked, path).header("x-forwarded-host", "forged.test");
        let name = number.to_string();
        let copy = mirrored.copy_of(&sluice, request, &name).await?;
        let host = copy.host.as_deref().unwrap_or_default();
        ensure!(host == expected, "{plane:?}: {asked} arrives as {host}");
    }
    sluice.stop()
}
