//! R11: who was kept out is out, whatever else the host does with requests and answers: no error page, canary, copy, retry,
//! session, second server or Ingress of somebody else turns a denial into an answer of a pod.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Setup};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{self, Ingress};
use sluice_tests::ports::Network;
use sluice_tests::script::Script;
use sluice_tests::sluice::Sluice;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(no_feature_turns_a_denial_into_a_response);

type Annotations = &'static [(&'static str, &'static str)];

/// Each lets nobody in who sends no credentials from 127.0.0.1.
#[rustfmt::skip]
const ACCESS_CONTROLS: &[(&str, Annotations)] = &[
    ("external-401", &[("auth-url", "http://auth401.owner.svc/")]),
    ("external-403", &[("auth-url", "http://auth403.owner.svc/")]),
    ("external-500", &[("auth-url", "http://auth500.owner.svc/")]),
    ("external-gone", &[("auth-url", "http://absent.owner.svc/")]),
    ("sign-in", &[("auth-url", "http://auth401.owner.svc/"), ("auth-signin", "http://login.example/")]),
    ("basic", &[("auth-type", "basic"), ("auth-secret", "users")]),
    ("allowed", &[("allowlist-source-range", "192.0.2.0/24")]),
    ("denied", &[("denylist-source-range", "127.0.0.0/8")]),
    ("unreadable", &[("auth-type", "xbasic")]),
    ("snippet", &[("configuration-snippet", "deny all;")]),
    ("any", &[("satisfy", "any"), ("allowlist-source-range", "192.0.2.0/24"), ("auth-type", "basic"), ("auth-secret", "users")]),
];

/// Other features of the same Ingress.
#[rustfmt::skip]
const FEATURES: &[(&str, Annotations)] = &[
    ("alone", &[]),
    ("errors", &[("custom-http-errors", "401,403,404,500,502,503"), ("default-backend", "errors")]),
    ("kept-errors", &[("custom-http-errors", "401,403,503"), ("default-backend", "errors"), ("disable-proxy-intercept-errors", "true")]),
    ("mirror", &[("mirror-target", "http://copies.owner.svc")]),
    ("retry", &[("proxy-next-upstream", "error timeout http_403 http_500 http_502 http_503 non_idempotent"), ("proxy-next-upstream-tries", "5")]),
    ("session", &[("affinity", "cookie"), ("affinity-mode", "persistent")]),
    ("rewrite", &[("use-regex", "true"), ("rewrite-target", "/open")]),
    ("cached", &[("auth-cache-key", "$remote_addr"), ("auth-cache-duration", "200 202 401 5m")]),
    ("cors", &[("enable-cors", "true"), ("cors-allow-origin", "*")]),
    ("root", &[("app-root", "/open")]),
    ("limits", &[("limit-rps", "1000"), ("limit-connections", "1000")]),
];

/// A canary of the same path that would take everything, of the owner and of the foreign namespace.
const CANARIES: [(&str, &str); 3] = [("none", ""), ("own", OWNER), ("theirs", FOREIGN)];

struct Fixture {
    tenants: Tenants,
    heard: Journal,
    _others: Vec<Echo>,
    _network: Network,
}

impl Fixture {
    async fn start() -> Result<Fixture> {
        let (tenants, network, heard) = (
            Tenants::start().await?,
            Network::reserve()?,
            Journal::default(),
        );
        let mut others = Vec::new();
        for (number, name) in ["errors", "copies", "auth401", "auth403", "auth500"]
            .into_iter()
            .enumerate()
        {
            let identity = EchoIdentity {
                namespace: OWNER.to_owned(),
                ..EchoIdentity::of(name, name)
            };
            let addr = network.pod(u16::try_from(number)?);
            let setup = Setup {
                journal: (name == "copies").then(|| heard.clone()),
                ..Setup::default()
            };
            let echo = Echo::start_with(addr, identity, setup).await?;
            if let Some(status) = name.strip_prefix("auth") {
                echo.script(Script::status(status.parse()?));
            }
            let mut service = manifests::service(OWNER, name, 80, &[addr]);
            if name == "copies" {
                // nginx sends copies to the Service's own address.
                service["spec"]["clusterIP"] = json!(addr.ip());
                service["spec"]["ports"][0]["port"] = json!(addr.port());
            }
            tenants.manifests.object(&service)?;
            tenants.manifests.endpoints(OWNER, name, &[addr])?;
            others.push(echo);
        }
        tenants.manifests.object(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "users", "namespace": OWNER},
            "stringData": {"auth": "ada:{PLAIN}secret\n"},
        }))?;
        Ok(Fixture {
            tenants,
            heard,
            _others: others,
            _network: network,
        })
    }
}

fn objects() -> (Vec<String>, Vec<Value>) {
    let (mut hosts, mut objects) = (Vec::new(), Vec::new());
    for (control, guarding) in ACCESS_CONTROLS {
        for (feature, more) in FEATURES {
            for (canary, namespace) in CANARIES {
                let name = format!("{control}-{feature}-{canary}");
                let host = format!("{name}.test");
                let ingress = Ingress::new(OWNER, &name).host(&host).path("/", "web", 80);
                let all = guarding.iter().chain(*more);
                objects.push(
                    all.fold(ingress, |ingress, (name, value)| {
                        ingress.annotation(name, value)
                    })
                    .to_json(),
                );
                if !namespace.is_empty() {
                    let canary = Ingress::new(namespace, &format!("{name}-canary"))
                        .host(&host)
                        .path("/", "web", 80);
                    let canary = canary
                        .annotation("canary", "true")
                        .annotation("canary-weight", "100");
                    let mut canary = canary.annotation("canary-by-header", "x-canary").to_json();
                    canary["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:02Z");
                    objects.push(canary);
                }
                hosts.push(host);
            }
        }
    }
    (hosts, objects)
}

async fn ensure_denied(sluice: &Sluice, host: &str) -> Result<()> {
    for (method, path) in [
        ("GET", "/"),
        ("POST", "/x/%2e%2e/open"),
        ("OPTIONS", "/open"),
        ("HEAD", "/"),
    ] {
        let request = Request::new(method, host, path)
            .header("x-canary", "always")
            .header("x-code", "200");
        let request = request
            .header("origin", "https://other.example")
            .header("connection", "close");
        let answer = http::send(sluice.http(), &request).await?;
        // The page of an error is the error service's, also its status. What a browser asks before it asks is answered
        // without a pod; app-root leads to another path of the same host.
        let is_page = answer.pod() == Some("errors") && host.contains("-errors-");
        let is_preflight = method == "OPTIONS" && answer.status == 204 && answer.pod().is_none();
        let is_told = answer.status >= 300 && answer.pod().is_none();
        ensure!(
            is_page || is_preflight || is_told,
            "{method} {path} at {host}: {answer:?}"
        );
    }
    Ok(())
}

async fn no_feature_turns_a_denial_into_a_response(plane: Plane) -> Result<()> {
    let fixture = Fixture::start().await?;
    let (hosts, mut objects) = objects();
    objects.push(
        Ingress::new(FOREIGN, "last")
            .host("last.test")
            .path("/", "web", 80)
            .to_json(),
    );
    fixture.tenants.write("all.yaml", &objects)?;
    let sluice = plane.options(&fixture.tenants.manifests).start().await?;
    sluice.wait_for_pod("last.test", FOREIGN).await?;
    let (own, theirs) = (fixture.tenants.owner.hits(), fixture.tenants.foreign.hits());
    for host in &hosts {
        ensure_denied(&sluice, host).await?;
    }
    ensure!(
        fixture.tenants.owner.hits() == own,
        "a pod of the owner was asked"
    );
    ensure!(
        fixture.tenants.foreign.hits() == theirs,
        "a pod of the foreign namespace was asked"
    );
    ensure!(
        fixture.heard.is_empty(),
        "a copy was sent of what was denied"
    );
    sluice.stop()
}
