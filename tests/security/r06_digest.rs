//! R6: an answer of digest authentication opens the request that it was made for, once.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use sluice_tests::digest::User;
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::Ingress;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    digest_answer_opens_its_request_once,
    digest_headers_outside_the_grammar_open_nothing,
);

const HOST: &str = "digest.test";
const ADA: User<'_> = User {
    name: "ada",
    realm: "the shop",
    password: "secret",
};

/// As a client may send them: what a data plane makes of a path is the same resource.
const TARGETS: &[&str] = &[
    "/",
    "/a",
    "/a?b=/c%2f",
    "/a%2fb",
    "/a%2Fb?c",
    "/%61",
    "/a//b",
    "/a;b,c=\"d\"",
    "/a%2f?",
    "/a/./b",
    "/x/../a",
];

fn protect(tenants: &Tenants) -> Result<()> {
    let metadata = json!({"namespace": OWNER, "name": "users"});
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"auth": ADA.line()},
    });
    let annotations = [
        ("auth-type", "digest"),
        ("auth-secret", "users"),
        ("auth-realm", ADA.realm),
    ];
    let ingress = Ingress::new(OWNER, "digest")
        .host(HOST)
        .path("/", "web", 80);
    let ingress = annotations.iter().fold(ingress, |ingress, (name, value)| {
        ingress.annotation(name, value)
    });
    tenants.write("all.yaml", &[secret, ingress.to_json()])
}

async fn send(addr: SocketAddr, method: &str, target: &str, answers: &[&str]) -> Result<Response> {
    let request = Request::new(method, HOST, target);
    let request = answers.iter().fold(request, |request, answer| {
        request.header("authorization", answer)
    });
    http::send(addr, &request).await
}

async fn challenge(addr: SocketAddr, target: &str) -> Result<String> {
    let refused = send(addr, "GET", target, &[]).await?;
    ensure!(
        refused.status == 401 && refused.pod().is_none(),
        "{refused:?}"
    );
    let challenge = refused.header("www-authenticate").context("no challenge")?;
    ensure!(
        challenge.starts_with("Digest realm=\"the shop\", qop=\"auth\", algorithm=MD5"),
        "{challenge}"
    );
    Ok(challenge.to_owned())
}

async fn digest_answer_opens_its_request_once(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    protect(&tenants)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status(HOST, "/", 401).await?;
    let addr = sluice.http();
    for target in TARGETS {
        let quoted = target.replace('"', "\\\"");
        let asked = challenge(addr, target).await?;
        for count in 1..4 {
            let answer = ADA
                .answer(&asked, "GET", target, count)?
                .replace(target, &quoted);
            for (method, other) in [("POST", *target), ("GET", "/other"), ("DELETE", target)] {
                let refused = send(addr, method, other, &[&answer]).await?;
                ensure!(
                    refused.status == 401,
                    "{method} {other} for {target}: {refused:?}"
                );
            }
            let opened = send(addr, "GET", target, &[&answer]).await?;
            ensure!(opened.pod() == Some(OWNER), "{target}, {count}: {opened:?}");
            let seen = opened.text().to_lowercase();
            ensure!(!seen.contains("authorization"), "{target}: {seen}");
            let replayed = send(addr, "GET", target, &[&answer]).await?;
            let asks = replayed.header("www-authenticate").unwrap_or_default();
            ensure!(
                replayed.status == 401 && asks.ends_with("stale=true"),
                "{replayed:?}"
            );
        }
    }
    sluice.stop()
}

async fn digest_headers_outside_the_grammar_open_nothing(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    protect(&tenants)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status(HOST, "/", 401).await?;
    let (addr, asked) = (sluice.http(), challenge(sluice.http(), "/").await?);
    let good = ADA.answer(&asked, "GET", "/", 1)?;
    let zeros = "0".repeat(32);
    for (from, to) in [
        ("Digest ", "Basic "),
        ("qop=auth, ", ""),
        ("qop=auth, nc=00000001, cnonce=\"c0ffee\"", "x=y"),
        ("qop=auth", "qop=auth-int"),
        ("algorithm=MD5", "algorithm=MD5-sess"),
        ("algorithm=MD5", "algorithm=SHA-256"),
        ("nc=00000001", "nc=1"),
        ("nc=00000001", "nc=00000000"),
        ("uri=\"/\"", "uri=\"/\", uri=\"/\""),
        ("uri=\"/\"", "uri=\"http://digest.test/\""),
        ("username=\"ada\"", "username=\"nobody\""),
        ("username=\"ada\"", "username=\"\""),
        ("username=\"ada\"", "username*=UTF-8''ada"),
        ("username=\"ada\"", "username=\"ada\", userhash=true"),
        ("response=\"", "response=\"0"),
        ("realm=\"the shop\"", "realm=\"\""),
        ("cnonce=\"c0ffee\"", "cnonce=\"c0ffee"),
    ] {
        let refused = send(addr, "GET", "/", &[&good.replace(from, to)]).await?;
        ensure!(
            refused.status == 401 && refused.pod().is_none(),
            "{to}: {refused:?}"
        );
    }
    let unknown = format!("Digest username=\"nobody\", realm=\"the shop\", response=\"{zeros}\"");
    for lines in [
        &[unknown.as_str(), good.as_str()][..],
        &[good.as_str(), good.as_str()],
    ] {
        let refused = send(addr, "GET", "/", lines).await?;
        ensure!(
            [400, 401].contains(&refused.status),
            "{lines:?}: {refused:?}"
        );
    }
    let opened = send(addr, "GET", "/", &[&good]).await?;
    ensure!(opened.pod() == Some(OWNER), "{opened:?}");
    sluice.stop()
}
