//! A service decides who may come in: the controller asks it, for each request that Envoy asks about.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Received, Setup};
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Port;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST};

const PROTECTED: &str = "guarded.test";

/// The site again, and external authentication for a part of it.
struct ExternalAuth {
    fixture: Fixture,
    service: Echo,
    journal: Journal,
    _port: Port,
    sluice: Sluice,
}

impl ExternalAuth {
    async fn start(annotations: &[(&str, &str)]) -> Result<ExternalAuth> {
        let fixture = Fixture::start(1, 1).await?;
        let (port, journal) = (Port::reserve()?, Journal::default());
        let setup = Setup {
            journal: Some(journal.clone()),
            ..Setup::default()
        };
        let service =
            Echo::start_with(port.addr(), EchoIdentity::of("auth", "auth-0"), setup).await?;
        fixture
            .manifests
            .service("default", "auth", 80, &[port.addr()])?;
        let protected = Ingress::new("default", "guarded")
            .host(PROTECTED)
            .path("/", "web", 80);
        let url = (
            "auth-url",
            "http://auth.default.svc/verify?for=$request_uri",
        );
        let all = [url].into_iter().chain(annotations.iter().copied());
        let protected = all.fold(protected, |ingress, (name, value)| {
            ingress.annotation(name, value)
        });
        fixture.manifests.ingress(&protected)?;
        let sluice = Sluice::start(&fixture.manifests).await?;
        let ready = async || {
            (http::get(sluice.http(), PROTECTED, "/").await.ok()?.status == 200).then_some(())
        };
        wait::until("the guarded host to be served", ready).await?;
        Ok(ExternalAuth {
            fixture,
            service,
            journal,
            _port: port,
            sluice,
        })
    }

    fn respond_with(&self, status: u16, headers: &[(&str, &str)]) {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        self.service.script(Script::echo().answer(
            "*",
            Answer {
                status,
                headers,
                ..Answer::default()
            },
        ));
    }

    async fn send(&self, request: Request) -> Result<Response> {
        http::send(self.addr(), &request).await
    }

    fn addr(&self) -> SocketAddr {
        self.sluice.http()
    }

    async fn send_and_capture(&self, request: Request) -> Result<(Response, Received)> {
        let place = self.journal.len();
        let answer = self.send(request).await?;
        let auth_request = self.journal.since(place).pop().context("nobody asked")?;
        Ok((answer, auth_request))
    }
}

fn page() -> Request {
    Request::get(PROTECTED, "/cart?id=1")
}

#[tokio::test]
async fn auth_service_sees_the_request_and_pods_see_its_response_headers() -> Result<()> {
    let auth = ExternalAuth::start(&[("auth-response-headers", "X-User, X-Absent")]).await?;
    auth.respond_with(
        200,
        &[
            ("X-User", "ada"),
            ("Set-Cookie", "a=1; Path=/"),
            ("Set-Cookie", "b=2, c"),
        ],
    );
    let request = page()
        .header("x-user", "forged")
        .header("x-absent", "forged")
        .header("x-original-method", "forged")
        .header("ssl-client-verify", "SUCCESS")
        .header("cookie", "session=1");
    let request = Request {
        method: "POST".to_owned(),
        ..request.body("a body")
    };
    let (answer, auth_request) = auth.send_and_capture(request).await?;
    ensure!(answer.status == 200, "{answer:?}");
    let pod = answer.json()?;
    ensure!(
        pod["headers"]["x-user"][0] == "ada" && pod["headers"]["x-absent"].is_null(),
        "{pod}"
    );
    ensure!(pod["body_bytes"] == 6, "{pod}");
    let cookies: Vec<&str> = answer.headers("set-cookie").collect();
    ensure!(cookies == ["a=1; Path=/", "b=2, c"], "{answer:?}");
    let is_ours = |(name, _): &(String, String)| name.starts_with("x-sluice");
    ensure!(!answer.headers.iter().any(is_ours), "{answer:?}");
    let header = |name: &str| auth_request.header(name).unwrap_or_default();
    ensure!(
        auth_request.method == "GET"
            && auth_request.path == "/verify"
            && auth_request.body_bytes == 0,
        "{auth_request:?}"
    );
    ensure!(
        auth_request.query.as_deref() == Some("for=/cart?id=1"),
        "{auth_request:?}"
    );
    let url = format!("http://{PROTECTED}/cart?id=1");
    for (name, expected) in [
        ("host", "auth.default.svc"),
        ("x-original-url", url.as_str()),
        ("x-original-method", "POST"),
        ("x-sent-from", "nginx-ingress-controller"),
        ("x-auth-request-redirect", "/cart?id=1"),
        ("x-real-ip", "127.0.0.1"),
        ("cookie", "session=1"),
        ("ssl-client-verify", ""),
        ("x-forwarded-proto", ""),
    ] {
        ensure!(header(name) == expected, "{name}: {auth_request:?}");
    }
    auth.sluice.stop()
}

#[tokio::test]
async fn only_2xx_allows_and_every_failure_denies() -> Result<()> {
    let mut auth = ExternalAuth::start(&[]).await?;
    for (said, expected) in [
        (204, 200),
        (401, 401),
        (403, 403),
        (302, 500),
        (404, 500),
        (500, 500),
    ] {
        auth.respond_with(
            said,
            &[
                ("WWW-Authenticate", "Basic realm=\"x\""),
                ("Location", "http://evil.test/"),
            ],
        );
        let answer = auth.send(page()).await?;
        ensure!(answer.status == expected, "{said}: {answer:?}");
        ensure!(
            (answer.pod().is_some()) == (expected == 200),
            "{said}: {answer:?}"
        );
        ensure!(
            answer.header("www-authenticate").is_some() == (expected == 401),
            "{said}: {answer:?}"
        );
    }
    auth.service.script(Script::hang_up());
    ensure!(
        auth.send(page()).await?.status == 500,
        "a service that hangs up lets in"
    );
    auth.service.stop().await;
    ensure!(
        auth.send(page()).await?.status == 500,
        "a service that is gone lets in"
    );
    let open = auth.sluice.get(HOST, "/").await?;
    ensure!(open.status == 200, "{open:?}");
    auth.sluice.stop()
}

#[tokio::test]
async fn unauthenticated_client_is_redirected_to_signin_with_a_return_url() -> Result<()> {
    let auth = ExternalAuth::start(&[("auth-signin", "http://$host/start")]).await?;
    auth.respond_with(401, &[("Set-Cookie", "csrf=1")]);
    let answer = auth.send(page()).await?;
    let place = format!("http://{PROTECTED}/start?rd=http://{PROTECTED}%2Fcart%3Fid%3D1");
    ensure!(
        answer.status == 302 && answer.header("location") == Some(&place),
        "{answer:?}"
    );
    ensure!(answer.header("set-cookie") == Some("csrf=1"), "{answer:?}");
    auth.respond_with(403, &[]);
    ensure!(
        auth.send(page()).await?.status == 403,
        "403 is no reason to sign in"
    );
    auth.sluice.stop()
}

#[tokio::test]
async fn satisfy_any_accepts_an_allowed_address_without_asking() -> Result<()> {
    let allowed = [
        ("satisfy", "any"),
        ("whitelist-source-range", "127.0.0.0/8"),
    ];
    let auth = ExternalAuth::start(&allowed).await?;
    auth.respond_with(401, &[]);
    ensure!(
        auth.send(page()).await?.status == 200,
        "the address is enough"
    );
    ensure!(auth.journal.is_empty(), "nobody has to be asked");
    auth.sluice.stop()?;
    let not_allowed = [
        ("satisfy", "any"),
        ("whitelist-source-range", "192.0.2.0/24"),
    ];
    let auth = ExternalAuth::start(&not_allowed).await?;
    auth.respond_with(403, &[]);
    ensure!(auth.send(page()).await?.status == 403, "neither lets in");
    auth.sluice.stop()
}

#[tokio::test]
async fn auth_requests_follow_endpoint_changes() -> Result<()> {
    let mut auth = ExternalAuth::start(&[]).await?;
    let port = Port::reserve()?;
    let another = Echo::start(port.addr(), EchoIdentity::of("auth", "auth-1")).await?;
    auth.service.stop().await;
    auth.fixture
        .manifests
        .endpoints("default", "auth", &[port.addr()])?;
    let answered = async || (auth.send(page()).await.ok()?.status == 200).then_some(());
    wait::until("the other pod to be asked", answered).await?;
    ensure!(another.hits() > 0, "nobody asked it");
    auth.sluice.stop()
}
