//! R5: what leads back to Sluice ends, whatever of a request it is that comes back: what is asked of an authentication service, a
//! copy, or the request itself.

use anyhow::{Context, Result, ensure};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::script::Script;
use sluice_tests::service::Service;
use sluice_tests::wait;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    auth_request_that_loops_back_is_denied,
    request_loops_end,
    retries_do_not_multiply_in_a_loop,
    requests_through_other_proxies_are_served,
);

/// The Service that leads back, which is a host of Sluice's, too.
const HOST: &str = "back.owner.svc";
/// The first one and those that may come back.
const PASSES: u64 = 1 + sluice_ir::MAX_LOOPS as u64;

/// Only a request that did not come back yet is retried, so tries add up and do not multiply.
const TRIES: u64 = 3;

async fn auth_request_that_loops_back_is_denied(plane: Plane) -> Result<()> {
    let (tenants, back) = (Tenants::start().await?, Service::start().await?);
    tenants
        .manifests
        .service(OWNER, "back", 80, &[back.addr()])?;
    let open = Ingress::new(OWNER, "open")
        .host("open.test")
        .path("/", "web", 80);
    tenants.manifests.ingress(&open)?;
    let guarded = Ingress::new(OWNER, "guarded")
        .host(HOST)
        .path("/", "web", 80);
    tenants
        .manifests
        .ingress(&guarded.annotation("auth-url", &format!("http://{HOST}/verify")))?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("open.test", "/", 200).await?;
    back.add(sluice.http(), sluice.health()).await?;
    let hits = tenants.owner.hits();
    for mark in ["", "another-proxy", "another; v=1, x"] {
        let request = Request::get(HOST, "/").header("cdn-loop", mark);
        let answer = http::send(sluice.http(), &request).await?;
        ensure!((500..=503).contains(&answer.status), "{mark:?}: {answer:?}");
    }
    ensure!(tenants.owner.hits() == hits, "somebody got in");
    sluice.stop()
}

/// The pod counts passes: it gets the request, or a copy of it, in each.
async fn request_loops_end(plane: Plane) -> Result<()> {
    let (tenants, back) = (Tenants::start().await?, Service::start().await?);
    tenants
        .manifests
        .service(OWNER, "back", 80, &[back.addr()])?;
    let to = |service: &str| format!("http://{service}.{OWNER}.svc$request_uri");
    let host = |host: &str, service: &str, mirror: &str| {
        let ingress = Ingress::new(OWNER, service)
            .host(host)
            .path("/", service, 80);
        ingress
            .annotation("mirror-target", &to(mirror))
            .annotation("mirror-host", host)
            .annotation("proxy-next-upstream", "error timeout http_502 http_503")
            .annotation("proxy-next-upstream-tries", &TRIES.to_string())
    };
    tenants
        .manifests
        .ingress(&host("request.test", "back", "web"))?;
    tenants
        .manifests
        .ingress(&host("copy.test", "web", "back"))?;
    tenants.manifests.ingress(
        &Ingress::new(OWNER, "open")
            .host("open.test")
            .path("/", "web", 80),
    )?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("open.test", "/", 200).await?;
    back.add(sluice.http(), sluice.health()).await?;
    for (host, statuses) in [("request.test", [502, 508]), ("copy.test", [200, 200])] {
        let hits = tenants.owner.hits();
        let answer = http::get(sluice.http(), host, "/").await?;
        ensure!(statuses.contains(&answer.status), "{host}: {answer:?}");
        // nginx may give a copy the very connection that waits for it: more passes come when one of the two gives up.
        let passed = async || (tenants.owner.hits() - hits >= 2).then_some(());
        let came = wait::until("what was sent to come back", passed).await;
        came.with_context(|| host)?;
        sluice.wait_for_status("open.test", "/", 200).await?;
        let all = tenants.owner.hits() - hits;
        ensure!(all <= PASSES * TRIES, "{host}: {all} passes");
    }
    sluice.stop()
}

/// Three hosts lead back, over several addresses each, and the last one to a pod that fails.
async fn retries_do_not_multiply_in_a_loop(plane: Plane) -> Result<()> {
    const HOSTS: [&str; 4] = ["one.test", "two.test", "three.test", "last.test"];
    let tenants = Tenants::start().await?;
    let mut backs = Vec::new();
    for _ in 0..TRIES {
        backs.push(Service::start().await?);
    }
    let addresses: Vec<_> = backs.iter().map(Service::addr).collect();
    tenants.manifests.service(OWNER, "back", 80, &addresses)?;
    for (place, host) in HOSTS.iter().enumerate() {
        let next = HOSTS.get(place + 1);
        let service = if next.is_some() { "back" } else { "web" };
        let ingress = Ingress::new(OWNER, &format!("i{place}"))
            .host(host)
            .path("/", service, 80);
        let ingress = next.iter().fold(ingress, |ingress, next| {
            ingress.annotation("upstream-vhost", next)
        });
        let on = "error timeout http_500 http_502 http_503 http_504 http_404 http_429";
        let ingress = ingress.annotation("proxy-next-upstream", on);
        tenants
            .manifests
            .ingress(&ingress.annotation("proxy-next-upstream-tries", &TRIES.to_string()))?;
    }
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("last.test", "/", 200).await?;
    for back in &backs {
        back.add(sluice.http(), sluice.health()).await?;
    }
    sluice.wait_for_status("one.test", "/", 200).await?;
    for status in [500, 502, 503, 504, 404, 429] {
        tenants.owner.script(Script::status(status));
        let hits = tenants.owner.hits();
        let answer = http::get(sluice.http(), "one.test", "/").await?;
        ensure!(answer.status >= 400, "{status}: {answer:?}");
        let hits = tenants.owner.hits() - hits;
        ensure!(
            (1..=TRIES).contains(&hits),
            "{status}: {hits} hits of one request"
        );
    }
    sluice.stop()
}

/// Only our own marks count, however many others there are; a pod sees all of them.
async fn requests_through_other_proxies_are_served(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.manifests.ingress(
        &Ingress::new(OWNER, "open")
            .host("open.test")
            .path("/", "web", 80),
    )?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("open.test", "/", 200).await?;
    let served_with_marks = async |sent: &[&str]| -> Result<(u16, String)> {
        let request = Request::get("open.test", "/");
        let request = sent
            .iter()
            .fold(request, |request, line| request.header("cdn-loop", line));
        let answer = http::send(sluice.http(), &request).await?;
        let seen = answer.json().unwrap_or_default()["headers"]["cdn-loop"].take();
        let seen: Vec<String> = serde_json::from_value(seen).unwrap_or_default();
        Ok((answer.status, seen.join(", ")))
    };
    let (_, own) = served_with_marks(&[]).await?;
    ensure!(own.starts_with("sluice-") && !own.contains(','), "{own:?}");
    let others = ["another; v=1, sluice-another, x"; 9].join(", ");
    for times in 0..=PASSES + 1 {
        let mut sent = vec![own.as_str(); usize::try_from(times)?];
        sent.push(&others);
        let in_one_line = sent.join(", ");
        let behind_an_empty_one: Vec<&str> =
            std::iter::once("").chain(sent.iter().copied()).collect();
        for lines in [&[in_one_line.as_str()][..], &sent, &behind_an_empty_one] {
            let (status, seen) = served_with_marks(lines).await?;
            let is_served = times < PASSES;
            ensure!(
                (status == 200) == is_served,
                "{times} in {} lines: {status}",
                lines.len()
            );
            let count = u64::try_from(seen.matches(&own).count())?;
            ensure!(
                !is_served || (count == times + 1 && seen.contains(&others)),
                "{times}: {seen}"
            );
        }
    }
    sluice.stop()
}
