//! R6: the server that takes a request is the one that its guards are asked about, and that its pods hear of, however a client
//! names another one beside it.

use anyhow::{Context as _, Result, ensure};
use sluice_tests::dial::Dial;
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Received, Setup};
use sluice_tests::http::{self, Request, Response};
use sluice_tests::http2;
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Network;
use sluice_tests::script::Answer;
use sluice_tests::sluice::Sluice;
use sluice_tests::tls::ClientTls;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(auth_service_is_asked_about_the_server_that_serves);

/// Prefix of the attacker's hosts; the owner's have another.
const ATTACKER: &str = "evil";

const WILDCARD: &str = "wildcard";

type Annotations = &'static [(&'static str, &'static str)];

/// Guards that say where they were asked for. The service lets everybody in who asks for an attacker's host.
const ACCESS_CONTROLS: &[(&str, Annotations)] = &[
    (
        "host-in-url",
        &[("auth-url", "http://auth.owner.svc/$host")],
    ),
    (
        "header-in-url",
        &[("auth-url", "http://auth.owner.svc/?to=$http_host")],
    ),
    ("original-url", &[("auth-url", "http://auth.owner.svc/")]),
    (
        "way-back",
        &[
            ("auth-url", "http://auth.owner.svc/"),
            ("auth-request-redirect", "$scheme://$host/back"),
        ],
    ),
    (
        "sign-in",
        &[
            ("auth-url", "http://auth.owner.svc/$host"),
            ("auth-signin", "https://$host/start?at=$http_host"),
        ],
    ),
    (
        "remembered",
        &[
            ("auth-url", "http://auth.owner.svc/$host"),
            ("auth-cache-key", "$host$http_host"),
        ],
    ),
    (
        "either",
        &[
            ("auth-url", "http://auth.owner.svc/$host"),
            ("satisfy", "any"),
        ],
    ),
    ("address", &[("whitelist-source-range", "192.0.2.0/24")]),
    (
        "password",
        &[("auth-type", "basic"), ("auth-secret", "users")],
    ),
    // A host that a client may choose a part of.
    (WILDCARD, &[("auth-url", "http://auth.owner.svc/$host")]),
    // Nobody is asked, and pods hear which host it was.
    ("open", &[]),
];

fn admits_attacker_hosts(heard: &Received) -> Option<Answer> {
    let status = if description(heard).contains(ATTACKER) {
        200
    } else {
        401
    };
    Some(Answer {
        status,
        ..Answer::default()
    })
}

/// All that somebody heard.
fn description(heard: &Received) -> String {
    format!("{} {:?} {:?}", heard.path, heard.query, heard.headers)
}

struct Fixture {
    sluice: Sluice,
    journal: Journal,
    _auth: Echo,
    _tenants: Tenants,
    _network: Network,
}

impl Fixture {
    async fn start(plane: Plane) -> Result<Fixture> {
        let (tenants, network, journal) = (
            Tenants::start().await?,
            Network::reserve()?,
            Journal::default(),
        );
        let identity = EchoIdentity {
            pod: "auth".to_owned(),
            service: "auth".to_owned(),
            namespace: OWNER.to_owned(),
        };
        let reflex: Option<sluice_tests::echo::Reflex> = Some(admits_attacker_hosts);
        let setup = Setup {
            journal: Some(journal.clone()),
            reflex,
            ..Setup::default()
        };
        let auth = Echo::start_with(network.pod(0), identity, setup).await?;
        tenants
            .manifests
            .service(OWNER, "auth", 80, &[auth.addr()])?;
        let mut ingresses = vec![serde_json::json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "users", "namespace": OWNER},
            "stringData": {"auth": "ada:{PLAIN}secret\n"},
        })];
        for (name, annotations) in ACCESS_CONTROLS {
            let guarded = Ingress::new(OWNER, name)
                .host(&host_of(name))
                .path("/", "web", 80);
            let guarded = annotations.iter().fold(guarded, |guarded, (name, value)| {
                guarded.annotation(name, value)
            });
            ingresses.push(guarded.annotation("ssl-redirect", "false").to_json());
        }
        let open = Ingress::new(FOREIGN, "open")
            .host(&attacker_name())
            .path("/", "web", 80);
        ingresses.push(open.to_json());
        tenants.write("all.yaml", &ingresses)?;
        let sluice = plane.options(&tenants.manifests).start().await?;
        sluice.wait_for_status(&attacker_name(), "/", 200).await?;
        Ok(Fixture {
            sluice,
            journal,
            _auth: auth,
            _tenants: tenants,
            _network: network,
        })
    }

    async fn send(&self, request: Request) -> Result<(String, Response)> {
        let answer = http::send(self.sluice.http(), &request).await?;
        Ok((format!("{request:?}"), answer))
    }

    /// Responses to requests that name `server` in one place and `other` in another, in every form that has both.
    async fn answers(&self, server: &str, other: &str) -> Result<Vec<(String, Response)>> {
        let mut answers = Vec::new();
        for target in [
            format!("http://{server}/x"),
            format!("HTTP://{}/x", server.to_uppercase()),
            format!("http://{server}:80/x"),
            format!("http://{server}./x"),
            format!("https://{server}/x"),
        ] {
            for host in [
                other.to_owned(),
                format!("{other}:80"),
                format!("{other}."),
                format!("{server}.{other}"),
            ] {
                answers.push(self.send(Request::get(&host, &target)).await?);
            }
        }
        let named = Request::get(server, "/x")
            .header("x-forwarded-host", other)
            .header("x-original-host", other);
        answers.push(self.send(named).await?);
        let parent = server.split_once('.').map_or(server, |(_, parent)| parent);
        for host in [
            format!("{server}:{other}"),
            format!("{server}:80@{other}"),
            format!("{other}:1.{parent}:80"),
            format!("{other}:80@a.{parent}"),
            format!("{other}/.{parent}"),
        ] {
            answers.push(self.send(Request::get(&host, "/x")).await?);
        }
        let both = Request::get(server, "/x").header("host", other);
        let tls = ClientTls {
            sni: Some(server.to_owned()),
            http2: true,
            ..ClientTls::default()
        };
        let dialled = Dial {
            tls: Some(tls),
            ..Dial::plain(self.sluice.https())
        }
        .connect()
        .await?;
        // It may be refused as no request at all.
        if let Ok(answer) = http2::send(dialled.stream, &both, true, false).await {
            answers.push((format!("http/2 {both:?}"), answer));
        }
        Ok(answers)
    }
}

fn host_of(control: &str) -> String {
    if control == WILDCARD {
        format!("*.{control}.test")
    } else {
        format!("{control}.test")
    }
}

/// A name that leads to it.
fn owner_name(control: &str) -> String {
    host_of(control).replace('*', "a")
}

fn attacker_name() -> String {
    format!("{ATTACKER}.test")
}

/// No request at all, one of another scheme, or a server of neither.
fn is_rejected(answer: &Response) -> bool {
    answer.pod().is_none()
        && answer.header("location").is_none()
        && [400, 403, 404].contains(&answer.status)
}

async fn auth_service_is_asked_about_the_server_that_serves(plane: Plane) -> Result<()> {
    let fixture = Fixture::start(plane).await?;
    let mut wrong = Vec::new();
    for (name, _) in ACCESS_CONTROLS {
        let host = owner_name(name);
        let plain = fixture.sluice.get(&host, "/x").await?;
        ensure!(
            plain.pod().is_some() == (*name == "open"),
            "{name}: {plain:?}"
        );
        for (request, answer) in fixture
            .answers(&host, &attacker_name())
            .await
            .with_context(|| host.clone())?
        {
            // Or the attacker's own server, which is open.
            if is_rejected(&answer) || answer.pod() == Some(FOREIGN) {
                continue;
            }
            let same = answer.status == plain.status && answer.pod() == plain.pod();
            let mut told = format!("{:?} {}", answer.header("location"), answer.text());
            // Upstreams may see under these names what the client sent beside the host.
            for header in ["x-original-forwarded-host", "x-original-host"] {
                told = told.replace(&format!("\"{header}\":[\"{}\"]", attacker_name()), "");
            }
            // Where nobody is asked, pods hear a port as it was written.
            let is_written = *name == "open" && request.contains(&format!("{host}:"));
            if !same || (told.contains(ATTACKER) && !is_written) {
                wrong.push(format!(
                    "{name}: {request}: {} {:?} {told}",
                    answer.status,
                    answer.pod()
                ));
            }
        }
        // And nobody who names the attacker's host there and the owner's beside it gets to the owner's pod.
        for (request, answer) in fixture.answers(&attacker_name(), &host).await? {
            if answer.pod() == Some(OWNER) && *name != "open" {
                wrong.push(format!("{name}: {request}: {}", answer.status));
            }
        }
    }
    let asked = fixture.journal.since(0);
    ensure!(
        asked.len() > ACCESS_CONTROLS.len(),
        "the service was asked {} times",
        asked.len()
    );
    wrong.extend(
        asked
            .iter()
            .map(description)
            .filter(|heard| heard.contains(ATTACKER)),
    );
    ensure!(wrong.is_empty(), "{plane:?}:\n{}", wrong.join("\n"));
    fixture.sluice.stop()
}
