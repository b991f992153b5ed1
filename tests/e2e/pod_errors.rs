//! Errors of pods arrive as pods say them, whatever Sluice itself says with the same status: an error page replaces the statuses that it
//! is for, and a 401 leads to the sign-in page where ingress-nginx has it so.

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sluice_tests::digest::User;
use sluice_tests::echo::{Echo, EchoIdentity, Setup};
use sluice_tests::http::{self, Request, Response};
use sluice_tests::ports::Network;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::Sluice;

use crate::firewall::{Annotations, ingress};
use crate::fixture::{Fixture, HOST};
use crate::setup::{Plane, on_every_plane};

on_every_plane!(errors_of_pods_arrive_unless_a_page_replaces_them);

const STATUSES: &[u16] = &[400, 401, 403, 404, 429, 500, 502, 503, 504];
const REPLACED: &[u16] = &[404, 503];

const EXTERNAL: (&str, &str) = ("auth-url", "http://auth.default.svc/");
const SIGN_IN: (&str, &str) = ("auth-signin", "http://login.test/start");
const BASIC: [(&str, &str); 2] = [("auth-type", "basic"), ("auth-secret", "users")];

/// Access control that lets the client in.
const CONTROLS: &[(&str, Annotations<'_>)] = &[
    ("open", &[]),
    ("basic", &BASIC),
    (
        "digest",
        &[
            ("auth-type", "digest"),
            ("auth-secret", "digests"),
            ("auth-realm", "shop"),
        ],
    ),
    ("external", &[EXTERNAL]),
    ("signin", &[EXTERNAL, SIGN_IN]),
    ("both", &[BASIC[0], BASIC[1], EXTERNAL, SIGN_IN]),
    (
        "any",
        &[
            ("satisfy", "any"),
            ("allowlist-source-range", "127.0.0.0/8"),
            BASIC[0],
            BASIC[1],
            EXTERNAL,
            SIGN_IN,
        ],
    ),
];

/// Error pages of the same Ingress.
const PAGES: &[(&str, Annotations<'_>)] = &[
    ("none", &[]),
    (
        "replaced",
        &[
            ("custom-http-errors", "404,503"),
            ("default-backend", "errors"),
        ],
    ),
    (
        "kept",
        &[
            ("custom-http-errors", "404,503"),
            ("default-backend", "errors"),
            ("disable-proxy-intercept-errors", "true"),
        ],
    ),
];

/// As digest authentication knows the client.
const ADA: User<'_> = User {
    name: "ada",
    realm: "shop",
    password: "secret",
};

struct Site {
    sluice: Sluice,
    _fixture: Fixture,
    _others: [Echo; 2],
    _network: Network,
}

impl Site {
    async fn start(plane: Plane) -> Result<Site> {
        let (fixture, network) = (Fixture::start(1, 1).await?, Network::reserve()?);
        let start = |number, name: &'static str| {
            let addr = network.pod(number);
            Echo::start_with(addr, EchoIdentity::of(name, name), Setup::default())
        };
        let others = [start(0, "auth").await?, start(1, "errors").await?];
        for (echo, name) in others.iter().zip(["auth", "errors"]) {
            fixture
                .manifests
                .service("default", name, 80, &[echo.addr()])?;
        }
        for (name, line) in [
            ("users", format!("ada:{}\n", bcrypt::hash("secret", 4)?)),
            ("digests", ADA.line()),
        ] {
            fixture.manifests.object(&json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"},
                "stringData": {"auth": line},
            }))?;
        }
        for (control, guarding) in CONTROLS {
            for (pages, more) in PAGES {
                let all = [*guarding, *more].concat();
                fixture
                    .manifests
                    .ingress(&ingress(&host(control, pages), &all))?;
            }
        }
        fixture.pods[0].script(STATUSES.iter().fold(Script::echo(), |script, status| {
            script.answer(&format!("/{status}"), said(*status))
        }));
        let sluice = plane.options(&fixture.manifests).start().await?;
        sluice.wait_for_status(HOST, "/", 200).await?;
        Ok(Site {
            sluice,
            _fixture: fixture,
            _others: others,
            _network: network,
        })
    }

    async fn get(&self, host: &str, target: &str, credentials: Option<&str>) -> Result<Response> {
        let request = credentials
            .iter()
            .fold(Request::get(host, target), |request, value| {
                request.header("authorization", value)
            });
        http::send(self.sluice.http(), &request).await
    }

    /// Value of `Authorization` that lets the client in.
    async fn credentials(&self, control: &str, host: &str, target: &str) -> Result<Option<String>> {
        match control {
            "basic" | "both" => Ok(Some(format!("Basic {}", STANDARD.encode("ada:secret")))),
            "digest" => {
                let asked = self.get(host, target, None).await?;
                let challenge = asked.header("www-authenticate").context("no challenge")?;
                ADA.answer(challenge, "GET", target, 1).map(Some)
            }
            _ => Ok(None),
        }
    }
}

fn host(control: &str, pages: &str) -> String {
    format!("{control}.{pages}.test")
}

fn said(status: u16) -> Answer {
    let headers = [("X-Said", "by the pod"), ("WWW-Authenticate", "Bearer")];
    Answer {
        status,
        headers: headers
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        body: Some(format!("{{\"said\": {status}}}")),
        ..Answer::default()
    }
}

/// ingress-nginx has an `error_page 401` for the sign-in page, and looks at answers of pods as soon as there are pages of any status.
fn leads_to_sign_in(control: &str, pages: &str, status: u16) -> bool {
    pages == "replaced" && status == 401 && ["signin", "both", "any"].contains(&control)
}

async fn errors_of_pods_arrive_unless_a_page_replaces_them(plane: Plane) -> Result<()> {
    let site = Site::start(plane).await?;
    for (control, _) in CONTROLS {
        for (pages, _) in PAGES {
            let host = host(control, pages);
            for status in STATUSES {
                let target = format!("/{status}");
                let credentials = site.credentials(control, &host, &target).await?;
                let answer = site.get(&host, &target, credentials.as_deref()).await?;
                let describe = || format!("{host}{target}: {answer:?}");
                if leads_to_sign_in(control, pages, *status) {
                    let place = format!("http://login.test/start?rd=http://{host}%2F401");
                    let location = answer.header("location");
                    ensure!(
                        answer.status == 302 && location == Some(&place),
                        "{}",
                        describe()
                    );
                } else if *pages == "replaced" && REPLACED.contains(status) {
                    ensure!(
                        answer.status == 200 && answer.pod() == Some("errors"),
                        "{}",
                        describe()
                    );
                } else {
                    let said = answer.header("x-said") == Some("by the pod")
                        && answer.header("www-authenticate") == Some("Bearer");
                    let body = answer.json().with_context(describe)?;
                    let is_its = answer.status == *status && said && body["said"] == *status;
                    ensure!(is_its, "{}", describe());
                }
            }
        }
    }
    site.sluice.stop()
}
