//! R11: an answer that no authentication service has given admits nobody. An `auth-url` may lead to a host of Sluice's own, where the
//! data plane answers for a service that is not there or may not be asked; what clients send goes along, and can bring that about.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::Ingress;
use sluice_tests::script::{Answer, Script};
use sluice_tests::service::Service;
use sluice_tests::sluice::Sluice;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(errors_in_front_of_an_auth_service_admit_nobody);

/// The host of the service, whose addresses lead to Sluice.
const AUTH: &str = "back.owner.svc";

type Annotations = &'static [(&'static str, &'static str)];

/// Paths of that host, with the Service and what else is said there; nobody is let in by any of them.
const DENIALS: &[(&str, &str, Annotations)] = &[
    ("refused", "auth", &[]),
    ("behind-another-envoy", "auth", &[]),
    ("nobody-there", "nobody", &[]),
    ("no-such-service", "absent", &[]),
    (
        "not-allowed",
        "auth",
        &[("allowlist-source-range", "192.0.2.0/24")],
    ),
    ("unreadable", "auth", &[("auth-type", "xbasic")]),
    (
        "counted-refused",
        "auth",
        &[("limit-rps", "1"), ("limit-burst-multiplier", "1")],
    ),
];
const ADMITTED: &str = "admitted";
/// None has an Ingress.
const NO_PATH: &str = "no-path";

const MEDIA_TYPES: &[&str] = &[
    "application/grpc",
    "application/grpc+proto",
    "application/grpc-web",
    "text/plain",
    "",
];
/// Marks of this Sluice that a client writes: none, and as many as a request may have or more.
const MARKS: [u32; 4] = [0, 1, sluice_ir::MAX_LOOPS, sluice_ir::MAX_LOOPS + 1];

/// Two hosts for each path: one asks each time, one keeps what it has heard.
fn guarded(name: &str) -> [Ingress; 2] {
    let ingress = |host: &str| {
        Ingress::new(OWNER, host)
            .host(&format!("{host}.test"))
            .path("/", "web", 80)
            .annotation("auth-url", &format!("http://{AUTH}/{name}"))
    };
    let keeping = ingress(&format!("{name}-kept"))
        .annotation("auth-cache-key", "$http_authorization")
        .annotation("auth-cache-duration", "200 5m");
    [ingress(name), keeping]
}

fn script() -> Script {
    let answer = |status, headers| Answer {
        status,
        headers,
        ..Answer::default()
    };
    let unavailable = vec![("grpc-status".to_owned(), "14".to_owned())];
    Script::status(401)
        .answer("/behind-another-envoy", answer(200, unavailable))
        .answer(&format!("/{ADMITTED}"), answer(200, Vec::new()))
}

async fn ask(
    sluice: &Sluice,
    host: &str,
    (media_type, marks): (&str, &str),
    method: &str,
) -> Result<Response> {
    let request = Request::new(method, &format!("{host}.test"), "/")
        .header("authorization", "Bearer a")
        .header("content-type", media_type)
        .header("cdn-loop", marks);
    http::send(sluice.http(), &request).await
}

/// The mark that pods see.
async fn own_mark(sluice: &Sluice) -> Result<String> {
    let seen = sluice.get("open.test", "/").await?.json()?;
    let mark = seen["headers"]["cdn-loop"][0].as_str();
    Ok(mark.context("a mark")?.to_owned())
}

/// To a client of gRPC Envoy says everything with 200, which no cache must keep for others.
fn is_told(plane: Plane, media_type: &str, response: &Response) -> bool {
    let is_grpc = ["application/grpc", "application/grpc+proto"].contains(&media_type);
    match plane {
        Plane::EnvoyTable | Plane::EnvoyScopes if is_grpc => {
            let is_error = response
                .header("grpc-status")
                .is_some_and(|status| status != "0");
            is_error && response.header("cache-control") == Some("no-store")
        }
        _ => response.status >= 400,
    }
}

/// All hosts, and the paths of the service.
fn ingresses() -> Vec<Value> {
    let served = |(name, service, annotations): &(&str, &str, Annotations)| {
        let path = format!("/{name}");
        let ingress = Ingress::new(OWNER, &format!("auth-{name}"))
            .host(AUTH)
            .path(&path, service, 80);
        let all = annotations.iter();
        all.fold(ingress, |all, (name, value)| all.annotation(name, value))
    };
    let open = Ingress::new(OWNER, "open").host("open.test");
    let open = open.path("/", "web", 80);
    let all = names().flat_map(guarded);
    let all = all.chain(DENIALS.iter().map(served));
    let all = all.chain([served(&(ADMITTED, "auth", &[])), open]);
    all.map(|ingress| ingress.to_json()).collect()
}

fn names() -> impl Iterator<Item = &'static str> {
    let denied = DENIALS.iter().map(|(name, ..)| *name);
    denied.chain([NO_PATH, ADMITTED])
}

async fn errors_in_front_of_an_auth_service_admit_nobody(plane: Plane) -> Result<()> {
    let (tenants, back) = (Tenants::start().await?, Service::start().await?);
    let (auth, asked) = tenants.auth_service().await?;
    auth.script(script());
    tenants.manifests.service(OWNER, "nobody", 80, &[])?;
    let addresses = [back.addr()];
    tenants.manifests.service(OWNER, "back", 80, &addresses)?;
    tenants.write("all.yaml", &ingresses())?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("open.test", "/", 200).await?;
    back.add(sluice.http(), sluice.health()).await?;
    sluice.wait_for_status("admitted.test", "/", 200).await?;
    let own = own_mark(&sluice).await?;
    for name in names() {
        for host in [name.to_owned(), format!("{name}-kept")] {
            let before = tenants.owner.hits();
            let admitted = ensure_denied_unless_admitted(&sluice, &host, &own, plane).await?;
            ensure!(tenants.owner.hits() - before == admitted, "{host}");
        }
    }
    // A service may look at the media type of what is asked for, and is never asked in gRPC.
    let types = asked.since(0).into_iter();
    let types: Vec<_> = types.filter_map(|it| it.header("content-type")).collect();
    ensure!(
        types.iter().any(|it| it == "text/plain") && !types.iter().any(|it| it.contains("grpc")),
        "{types:?}"
    );
    sluice.stop()
}

/// How many requests its pod has to have had.
async fn ensure_denied_unless_admitted(
    sluice: &Sluice,
    host: &str,
    own: &str,
    plane: Plane,
) -> Result<u64> {
    let mut admitted = 0;
    for (place, media_type) in MEDIA_TYPES.iter().enumerate() {
        for marks in MARKS {
            let method = if place % 2 == 0 { "GET" } else { "POST" };
            let sent = vec![own; usize::try_from(marks)?].join(", ");
            let answer = ask(sluice, host, (media_type, &sent), method).await?;
            let is_right = if host.starts_with(ADMITTED) && marks <= sluice_ir::MAX_LOOPS {
                admitted += 1;
                answer.status == 200 && answer.pod() == Some(OWNER)
            } else {
                answer.pod().is_none() && is_told(plane, media_type, &answer)
            };
            ensure!(is_right, "{host}: {media_type}, {marks} marks: {answer:?}");
        }
    }
    Ok(admitted)
}
