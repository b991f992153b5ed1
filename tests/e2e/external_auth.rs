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

use crate::fixture::{HOST, Site};

const GUARDED: &str = "guarded.test";

/// The site again, and external authentication for a part of it.
struct Asked {
    site: Site,
    service: Echo,
    journal: Journal,
    _port: Port,
    sluice: Sluice,
}

impl Asked {
    async fn start(of: &[(&str, &str)]) -> Result<Asked> {
        let site = Site::start(1, 1).await?;
        let (port, journal) = (Port::reserve()?, Journal::default());
        let setup = Setup {
            journal: Some(journal.clone()),
            ..Setup::default()
        };
        let service =
            Echo::start_with(port.addr(), EchoIdentity::of("auth", "auth-0"), setup).await?;
        site.manifests
            .service("default", "auth", 80, &[port.addr()])?;
        let guarded = Ingress::new("default", "guarded")
            .host(GUARDED)
            .path("/", "web", 80);
        let url = (
            "auth-url",
            "http://auth.default.svc/verify?for=$request_uri",
        );
        let all = [url].into_iter().chain(of.iter().copied());
        let guarded = all.fold(guarded, |ingress, (name, value)| {
            ingress.annotation(name, value)
        });
        site.manifests.ingress(&guarded)?;
        let sluice = Sluice::start(&site.manifests).await?;
        let ready = async || {
            (http::get(sluice.http(), GUARDED, "/").await.ok()?.status == 200).then_some(())
        };
        wait::until("the guarded host to be served", ready).await?;
        Ok(Asked {
            site,
            service,
            journal,
            _port: port,
            sluice,
        })
    }

    fn says(&self, status: u16, headers: &[(&str, &str)]) {
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

    async fn last(&self, request: Request) -> Result<(Response, Received)> {
        let place = self.journal.len();
        let answer = self.send(request).await?;
        let question = self.journal.since(place).pop().context("nobody asked")?;
        Ok((answer, question))
    }
}

fn page() -> Request {
    Request::get(GUARDED, "/cart?id=1")
}

#[tokio::test]
async fn auth_service_sees_the_request_and_pods_see_its_response_headers() -> Result<()> {
    let asked = Asked::start(&[("auth-response-headers", "X-User, X-Absent")]).await?;
    asked.says(
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
    let (answer, question) = asked.last(request).await?;
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
    let header = |name: &str| question.header(name).unwrap_or_default();
    ensure!(
        question.method == "GET" && question.path == "/verify" && question.body_bytes == 0,
        "{question:?}"
    );
    ensure!(
        question.query.as_deref() == Some("for=/cart?id=1"),
        "{question:?}"
    );
    let url = format!("http://{GUARDED}/cart?id=1");
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
        ensure!(header(name) == expected, "{name}: {question:?}");
    }
    asked.sluice.stop()
}

#[tokio::test]
async fn only_2xx_allows_and_every_failure_denies() -> Result<()> {
    let mut asked = Asked::start(&[]).await?;
    for (said, told) in [
        (204, 200),
        (401, 401),
        (403, 403),
        (302, 500),
        (404, 500),
        (500, 500),
    ] {
        asked.says(
            said,
            &[
                ("WWW-Authenticate", "Basic realm=\"x\""),
                ("Location", "http://evil.test/"),
            ],
        );
        let answer = asked.send(page()).await?;
        ensure!(answer.status == told, "{said}: {answer:?}");
        ensure!(
            (answer.pod().is_some()) == (told == 200),
            "{said}: {answer:?}"
        );
        ensure!(
            answer.header("www-authenticate").is_some() == (told == 401),
            "{said}: {answer:?}"
        );
    }
    asked.service.script(Script::hang_up());
    ensure!(
        asked.send(page()).await?.status == 500,
        "a service that hangs up lets in"
    );
    asked.service.stop().await;
    ensure!(
        asked.send(page()).await?.status == 500,
        "a service that is gone lets in"
    );
    let open = asked.sluice.get(HOST, "/").await?;
    ensure!(open.status == 200, "{open:?}");
    asked.sluice.stop()
}

#[tokio::test]
async fn unauthenticated_client_is_redirected_to_signin_with_a_return_url() -> Result<()> {
    let asked = Asked::start(&[("auth-signin", "http://$host/start")]).await?;
    asked.says(401, &[("Set-Cookie", "csrf=1")]);
    let answer = asked.send(page()).await?;
    let place = format!("http://{GUARDED}/start?rd=http://{GUARDED}%2Fcart%3Fid%3D1");
    ensure!(
        answer.status == 302 && answer.header("location") == Some(&place),
        "{answer:?}"
    );
    ensure!(answer.header("set-cookie") == Some("csrf=1"), "{answer:?}");
    asked.says(403, &[]);
    ensure!(
        asked.send(page()).await?.status == 403,
        "403 is no reason to sign in"
    );
    asked.sluice.stop()
}

#[tokio::test]
async fn satisfy_any_accepts_an_allowed_address_without_asking() -> Result<()> {
    let near = [
        ("satisfy", "any"),
        ("whitelist-source-range", "127.0.0.0/8"),
    ];
    let asked = Asked::start(&near).await?;
    asked.says(401, &[]);
    ensure!(
        asked.send(page()).await?.status == 200,
        "the address is enough"
    );
    ensure!(asked.journal.is_empty(), "nobody has to be asked");
    asked.sluice.stop()?;
    let far = [
        ("satisfy", "any"),
        ("whitelist-source-range", "192.0.2.0/24"),
    ];
    let asked = Asked::start(&far).await?;
    asked.says(403, &[]);
    ensure!(asked.send(page()).await?.status == 403, "neither lets in");
    asked.sluice.stop()
}

#[tokio::test]
async fn auth_requests_follow_endpoint_changes() -> Result<()> {
    let mut asked = Asked::start(&[]).await?;
    let port = Port::reserve()?;
    let another = Echo::start(port.addr(), EchoIdentity::of("auth", "auth-1")).await?;
    asked.service.stop().await;
    asked
        .site
        .manifests
        .endpoints("default", "auth", &[port.addr()])?;
    let answered = async || (asked.send(page()).await.ok()?.status == 200).then_some(());
    wait::until("the other pod to be asked", answered).await?;
    ensure!(another.hits() > 0, "nobody asked it");
    asked.sluice.stop()
}
