//! R6: what a service has said of one client is kept for no other, and what it has said of one place for no other.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use sluice_tests::echo::{Echo, EchoIdentity, Received, Setup};
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Port;
use sluice_tests::script::Answer;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    cached_auth_answer_admits_no_other_client,
    cached_auth_answer_holds_only_for_its_route,
);

/// Services that know one session: by its cookie, whose name has no case to them.
fn known_session_is_admitted(request: &Received) -> Option<Answer> {
    let cookies = request.header("cookie").unwrap_or_default().to_lowercase();
    let mut cookies = cookies.split(';').map(str::trim);
    let status = if cookies.any(|cookie| cookie == "sid=valid") {
        200
    } else {
        401
    };
    Some(Answer {
        status,
        ..Answer::default()
    })
}

/// Lets everybody in.
fn everybody_is_admitted(_: &Received) -> Option<Answer> {
    Some(Answer::default())
}

async fn service(
    tenants: &Tenants,
    namespace: &str,
    reflex: fn(&Received) -> Option<Answer>,
) -> Result<(Echo, Port)> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let (port, number) = (Port::reserve()?, NUMBER.fetch_add(1, Ordering::Relaxed));
    let setup = Setup {
        reflex: Some(reflex),
        ..Setup::default()
    };
    let pod = Echo::start_with(
        port.addr(),
        EchoIdentity::of("auth", &format!("auth-{number}")),
        setup,
    )
    .await?;
    tenants
        .manifests
        .service(namespace, "auth", 80, &[port.addr()])?;
    Ok((pod, port))
}

fn protected(namespace: &str, name: &str, key: &str) -> Ingress {
    let url = format!("http://auth.{namespace}.svc/");
    let ingress = Ingress::new(namespace, name)
        .host(&format!("{name}.test"))
        .path("/", "web", 80);
    ingress
        .annotation("auth-url", &url)
        .annotation("auth-cache-key", key)
        .annotation("auth-cache-duration", "200 401 5m")
}

async fn request_with(sluice: &Sluice, name: &str, cookie: Option<&str>) -> Result<Response> {
    let request = Request::get(&format!("{name}.test"), "/");
    let request = cookie
        .iter()
        .fold(request, |request, cookie| request.header("cookie", cookie));
    http::send(sluice.http(), &request).await
}

async fn cached_auth_answer_admits_no_other_client(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let (auth, _port) = service(&tenants, OWNER, known_session_is_admitted).await?;
    let keys = [
        ("cookie", "$cookie_sid"),
        ("cookie-and-method", "$cookie_sid$request_method"),
        ("cookie-and-address", "$remote_addr-$cookie_sid"),
        ("cookie-in-capitals", "$cookie_SID"),
        ("two-cookies", "$cookie_sid$cookie_token"),
        ("header", "$http_cookie"),
    ];
    let ingresses: Vec<_> = keys
        .iter()
        .map(|(name, key)| protected(OWNER, name, key).to_json())
        .collect();
    tenants.write("all.yaml", &ingresses)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    for (name, key) in keys {
        sluice
            .wait_for_status(&format!("{name}.test"), "/", 401)
            .await?;
        for known in [
            "SID=valid",
            "sid=valid",
            "other=1; Sid=valid",
            "sid=; sid=valid",
        ] {
            ensure!(
                request_with(&sluice, name, Some(known)).await?.status == 200,
                "{key}: {known:?} is refused"
            );
            for unknown in [
                None,
                Some("sid="),
                Some("SID="),
                Some("sid"),
                Some("other=valid"),
                Some("sid=vali"),
                Some("token=valid"),
            ] {
                let answer = request_with(&sluice, name, unknown).await?;
                ensure!(
                    answer.status == 401,
                    "{key}: {unknown:?} comes in behind {known:?}"
                );
            }
        }
        let asked = auth.hits();
        ensure!(request_with(&sluice, name, Some("sid=valid")).await?.status == 200);
        ensure!(auth.hits() == asked, "{key}: an answer is kept");
    }
    sluice.stop()
}

async fn cached_auth_answer_holds_only_for_its_route(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let (_mine, _port) = service(&tenants, OWNER, known_session_is_admitted).await?;
    let (theirs, _other) = service(&tenants, FOREIGN, everybody_is_admitted).await?;
    // The same key for all, so that nothing else tells requests apart.
    let open = protected(FOREIGN, "open", "fixed");
    let closed = protected(OWNER, "closed", "fixed");
    let wildcard = Ingress::new(OWNER, "any")
        .host("*.any.test")
        .path("/", "web", 80);
    let wildcard = wildcard
        .annotation("auth-url", "http://auth.foreign.svc/$host")
        .annotation("auth-cache-key", "fixed");
    tenants.write(
        "all.yaml",
        &[open.to_json(), closed.to_json(), wildcard.to_json()],
    )?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("open.test", "/", 200).await?;
    ensure!(
        request_with(&sluice, "closed", None).await?.status == 401,
        "another route's answer holds"
    );
    // Asked anew for each method and each host.
    for (method, host) in [
        ("GET", "a.any.test"),
        ("PUT", "a.any.test"),
        ("GET", "b.any.test"),
    ] {
        let asked = theirs.hits();
        for _ in 0..2 {
            ensure!(
                http::send(sluice.http(), &Request::new(method, host, "/"))
                    .await?
                    .status
                    == 200
            );
        }
        ensure!(
            theirs.hits() == asked + 1,
            "{method} {host}: {} questions",
            theirs.hits() - asked
        );
    }
    // Who asks somebody else from now on takes nothing of what was said before.
    let moved =
        protected(FOREIGN, "open", "fixed").annotation("auth-url", "http://auth.owner.svc/");
    tenants.write("all.yaml", &[moved.to_json(), closed.to_json()])?;
    let refused =
        async || (request_with(&sluice, "open", None).await.ok()?.status == 401).then_some(());
    wait::until("the other service to be asked", refused).await?;
    sluice.stop()
}
