//! A path that was decoded to find its location is passed on as it was sent, unless the location rewrites it.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Received, Setup};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Network;
use sluice_tests::script::Script;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    rewrites_decode_and_reencode_the_path,
    auth_requests_and_redirects_keep_the_path_as_sent,
    canaries_mirrors_and_error_services_receive_the_path_as_sent,
);

/// As ingress-nginx has answered (recorded), but for a pod of `/in/(.*)` rewritten to `/r/$1`.
const REWRITTEN: &[(&str, &str)] = &[
    ("/in/x", "/r/x"),
    ("/in%2fx", "/r/x"),
    ("/i%6e/x", "/r/x"),
    ("/In%2Fx?a=%2f", "/r/x?a=%2f"),
    ("/x/..%2fin/y", "/r/y"),
    ("/in/a%2fb", "/r/a/b"),
    ("/in/a%20b", "/r/a%20b"),
    ("/in/%25", "/r/%25"),
    ("/in/%3f", "/r/%3F"),
    ("/in/%e9", "/r/%E9"),
    ("/in/%26", "/r/&"),
    ("/in/a;b%2f", "/r/a;b/"),
];

async fn rewrites_decode_and_reencode_the_path(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let ingress = Ingress::new(OWNER, "in")
        .host("in.test")
        .annotation("rewrite-target", "/r/$1");
    let ingress = ingress.annotation("use-regex", "true");
    tenants.write(
        "all.yaml",
        &[ingress
            .typed_path("ImplementationSpecific", "/in/(.*)", "web", 80)
            .to_json()],
    )?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("in.test", "/in/x", 200).await?;
    for (target, expected) in REWRITTEN {
        let answer = sluice.get("in.test", target).await?;
        ensure!(answer.pod().is_some(), "{target}: {}", answer.status);
        let seen = super::target_of(&answer)?;
        ensure!(seen == *expected, "{target} arrives as {seen}");
        ensure!(!answer.text().contains("x-sluice-"), "{}", answer.text());
    }
    let answer = sluice.get("in.test", "/out%2fx").await?;
    ensure!(answer.status == 404, "{}", answer.status);
    sluice.stop()
}

const TARGETS: &[&str] = &["/x", "/a%2fb", "/a%2Fb?c=%2f", "/%c3%a9", "/a%20b"];

/// Redirects of ingress-nginx take a slash away.
const UNSLASHED: &[(&str, &str)] = &[
    ("/a%2fb/", "/a%2fb"),
    ("/a%2fb/?c=%2f", "/a%2fb/?c=%2f"),
    ("/a%2fb", "/a%2fb"),
];

async fn redirects_keep_what_was_sent(sluice: &Sluice) -> Result<()> {
    for (target, expected) in UNSLASHED {
        let answer = sluice.get("moved.test", target).await?;
        let location = answer.header("location").unwrap_or_default();
        ensure!(
            location == format!("https://moved.test{expected}"),
            "{target} is sent to {location}"
        );
        let answer = sluice.get("www.to.test", target).await?;
        let location = answer.header("location").unwrap_or_default();
        ensure!(
            location.ends_with(&format!("to.test:80{expected}"))
                || location.ends_with(&format!("to.test{expected}")),
            "{target} is sent to {location}"
        );
    }
    Ok(())
}

async fn auth_requests_and_redirects_keep_the_path_as_sent(plane: Plane) -> Result<()> {
    let (tenants, network) = (Tenants::start().await?, Network::reserve()?);
    let heard = Journal::default();
    let listens = || Setup {
        journal: Some(heard.clone()),
        ..Setup::default()
    };
    let addr: SocketAddr = network.pod(0);
    let _auth = Echo::start_with(addr, EchoIdentity::of("auth", "auth"), listens()).await?;
    tenants.manifests.service(OWNER, "auth", 80, &[addr])?;
    let asks = Ingress::new(OWNER, "asks")
        .host("asks.test")
        .path("/", "web", 80);
    let asks = asks.annotation("auth-url", "http://auth.owner.svc/");
    let moved = Ingress::new(OWNER, "moved")
        .host("moved.test")
        .path("/", "web", 80);
    let moved = moved.annotation("force-ssl-redirect", "true");
    let to = Ingress::new(OWNER, "to")
        .host("to.test")
        .path("/", "web", 80);
    let to = to.annotation("from-to-www-redirect", "true");
    tenants.write("all.yaml", &[asks.to_json(), moved.to_json(), to.to_json()])?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("asks.test", "/", 200).await?;
    sluice.wait_for_status("moved.test", "/", 308).await?;
    redirects_keep_what_was_sent(&sluice).await?;
    for target in TARGETS {
        let place = heard.len();
        let answer = sluice.get("asks.test", target).await?;
        ensure!(
            super::target_of(&answer)? == *target,
            "{target} arrives as {}",
            super::target_of(&answer)?
        );
        let asked = heard
            .since(place)
            .into_iter()
            .next()
            .context("nobody is asked")?;
        let url = asked.header("x-original-url").unwrap_or_default();
        ensure!(
            url == format!("http://asks.test{target}"),
            "{target} is asked about as {url}"
        );
        let answer = sluice.get("moved.test", target).await?;
        let location = answer.header("location").unwrap_or_default();
        ensure!(
            location == format!("https://moved.test{target}"),
            "{target} is sent to {location}"
        );
    }
    sluice.stop()
}

async fn canaries_mirrors_and_error_services_receive_the_path_as_sent(plane: Plane) -> Result<()> {
    let (tenants, network) = (Tenants::start().await?, Network::reserve()?);
    let heard = Journal::default();
    let listens = || Setup {
        journal: Some(heard.clone()),
        ..Setup::default()
    };
    let addr: SocketAddr = network.pod(0);
    let _other = Echo::start_with(addr, EchoIdentity::of("other", "other"), listens()).await?;
    tenants.manifests.service(OWNER, "other", 80, &[addr])?;
    let bad = Echo::start(network.pod(1), EchoIdentity::of("bad", "bad")).await?;
    bad.script(Script::status(404));
    tenants.manifests.service(OWNER, "bad", 80, &[bad.addr()])?;
    let ingress = |name: &str, service: &str| {
        Ingress::new(OWNER, name)
            .host(&format!("{name}.test"))
            .path("/", service, 80)
    };
    let canary = Ingress::new(OWNER, "canary").annotation("canary", "true");
    let canary = canary.annotation("canary-by-header", "x-canary");
    let canary = canary.host("main.test").path("/", "other", 80);
    let copied =
        ingress("copied", "web").annotation("mirror-target", "http://other.owner.svc$request_uri");
    let failing = ingress("failing", "bad")
        .annotation("custom-http-errors", "404")
        .annotation("default-backend", "other");
    let all = [ingress("main", "web"), canary, copied, failing].map(|ingress| ingress.to_json());
    tenants.write("all.yaml", &all)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    for host in ["main.test", "copied.test", "failing.test"] {
        sluice.wait_for_status(host, "/", 200).await?;
    }
    for target in TARGETS {
        let ask = async |host: &str, header: (&str, &str)| -> Result<Received> {
            let place = heard.len();
            let request = Request::get(host, target).header(header.0, header.1);
            http::send(sluice.http(), &request).await?;
            let came = async || heard.since(place).into_iter().next();
            Ok(wait::until("the other pod to hear of it", came).await?.0)
        };
        for (host, header) in [
            ("main.test", ("x-canary", "always")),
            ("copied.test", ("x-a", "b")),
        ] {
            let seen = ask(host, header).await?;
            let query = seen.query.as_ref().map(|query| format!("?{query}"));
            let seen = seen.path + &query.unwrap_or_default();
            ensure!(seen == *target, "{host}: {target} arrives as {seen}");
        }
        let seen = ask("failing.test", ("x-a", "b")).await?;
        let uri = seen.header("x-original-uri").unwrap_or_default();
        ensure!(uri == *target, "{target} fails as {uri}");
    }
    sluice.stop()
}
