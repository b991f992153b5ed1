//! R5: however slow the hashes of one tenant are and however many ask for them, another tenant's users come in next, and who
//! finds no room is told so.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::Ingress;
use tokio::task::JoinSet;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(slow_logins_of_one_tenant_delay_no_other);

/// Enough for one to take longer than a request.
const SLOW: u32 = 11;
/// More than may wait.
const LOGINS: usize = 100;
const SECRETS: usize = 8;

fn host(namespace: &str, number: usize) -> String {
    format!("{namespace}-{number}.test")
}

async fn log_in(addr: SocketAddr, host: &str, user: &str, password: &str) -> Result<Response> {
    let credentials = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
    http::send(
        addr,
        &Request::get(host, "/").header("authorization", &credentials),
    )
    .await
}

fn protect(tenants: &Tenants, namespace: &str, number: usize, cost: u32) -> Result<()> {
    let name = format!("users-{number}");
    let line = format!("ada:{}\n", bcrypt::hash("secret", cost)?);
    let metadata = json!({"namespace": namespace, "name": name});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"auth": line}});
    let ingress = Ingress::new(namespace, &name)
        .host(&host(namespace, number))
        .path("/", "web", 80);
    let ingress = ingress
        .annotation("auth-type", "basic")
        .annotation("auth-secret", &name);
    tenants.write(
        &format!("{namespace}-{number}.yaml"),
        &[secret, ingress.to_json()],
    )
}

async fn slow_logins_of_one_tenant_delay_no_other(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    for number in 0..SECRETS {
        protect(&tenants, FOREIGN, number, SLOW)?;
    }
    protect(&tenants, OWNER, 0, 4)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    let mine = host(OWNER, 0);
    sluice.wait_for_status(&mine, "/", 401).await?;
    sluice
        .wait_for_status(&host(FOREIGN, SECRETS - 1), "/", 401)
        .await?;
    let (addr, answered) = (sluice.http(), Arc::new(AtomicUsize::new(0)));
    let mut crowd = JoinSet::new();
    for number in 0..LOGINS {
        let answered = Arc::clone(&answered);
        crowd.spawn(async move {
            // Who is not known costs as much as who is.
            let user = if number % 2 == 0 { "ada" } else { "nobody" };
            let password = format!("wrong-{number}");
            let answer = log_in(addr, &host(FOREIGN, number % SECRETS), user, &password).await;
            answered.fetch_add(1, Ordering::Relaxed);
            answer
        });
    }
    // Those who found no room are told at once: then there is none.
    let first = crowd.join_next().await.context("nobody")???;
    let before = answered.load(Ordering::Relaxed);
    let answer = log_in(addr, &mine, "ada", "secret").await?;
    let meanwhile = answered.load(Ordering::Relaxed) - before;
    ensure!(answer.status == 200, "{answer:?}");
    ensure!(
        meanwhile < LOGINS / 2,
        "{meanwhile} of the crowd were answered before"
    );
    let mut answers = vec![first];
    while let Some(answer) = crowd.join_next().await {
        answers.push(answer??);
    }
    let busy = answers.iter().filter(|answer| answer.status == 503);
    ensure!(
        busy.clone()
            .all(|answer| answer.header("retry-after") == Some("2")),
        "{answers:?}"
    );
    ensure!(busy.count() > LOGINS / 10, "there was room for all of them");
    ensure!(
        answers
            .iter()
            .all(|answer| [401, 503].contains(&answer.status)),
        "{answers:?}"
    );
    let alone = log_in(addr, &host(FOREIGN, 0), "ada", "secret").await?;
    ensure!(alone.status == 200, "the crowd is gone: {alone:?}");
    sluice.stop()
}
