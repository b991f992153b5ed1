//! Sessions: a client comes back to its pod, also when there are more of them, and while its pod terminates.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use sluice_tests::http::{self, Response};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST, page};

const CLIENTS: usize = 24;

/// A client that keeps its cookie.
#[derive(Default)]
pub(crate) struct Client {
    cookie: Option<String>,
}

impl Client {
    /// One request; says which pod answered.
    pub(crate) async fn visit(&mut self, addr: SocketAddr) -> Result<String> {
        let response = self.ask(addr).await?;
        ensure!(response.status == 200, "{}", response.text());
        response.pod().map(str::to_owned).context("a pod answers")
    }

    async fn ask(&mut self, addr: SocketAddr) -> Result<Response> {
        let request = self
            .cookie
            .iter()
            .fold(page(), |request, cookie| request.header("cookie", cookie));
        let response = http::send(addr, &request).await?;
        if let Some(set) = response.header("set-cookie") {
            self.cookie = set.split(';').next().map(str::to_owned);
        }
        Ok(response)
    }
}

/// An Ingress with sessions of this mode.
pub(crate) fn sticky_ingress(mode: &str) -> Ingress {
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    ingress
        .annotation("affinity", "cookie")
        .annotation("affinity-mode", mode)
}

/// New clients, and the pods that they came to.
pub(crate) async fn new_clients(addr: SocketAddr, count: usize) -> Result<Vec<(Client, String)>> {
    let mut clients = Vec::new();
    for _ in 0..count {
        let mut client = Client::default();
        let pod = client.visit(addr).await?;
        ensure!(client.cookie.is_some(), "a new client gets a cookie");
        clients.push((client, pod));
    }
    Ok(clients)
}

/// The clients come back; says how many of them moved.
async fn revisit(addr: SocketAddr, clients: &mut [(Client, String)]) -> Result<usize> {
    let mut moved = 0;
    for (client, home) in clients {
        let pod = client.visit(addr).await?;
        moved += usize::from(pod != *home);
    }
    Ok(moved)
}

/// Waits until clients without a session come to this pod.
pub(crate) async fn wait_until_used(addr: SocketAddr, pod: &str) -> Result<()> {
    let used = async || (Client::default().visit(addr).await.ok()?.as_str() == pod).then_some(());
    wait::until(&format!("a new client on {pod}"), used)
        .await
        .map(drop)
}

#[tokio::test]
async fn persistent_sessions_stay_when_pods_are_added() -> Result<()> {
    let fixture = Fixture::start(5, 2).await?;
    fixture.manifests.ingress(&sticky_ingress("persistent"))?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let mut before = new_clients(sluice.http(), CLIENTS).await?;
    fixture.endpoints(&[0, 1, 2, 3, 4])?;
    wait_until_used(sluice.http(), "web-4").await?;
    ensure!(
        revisit(sluice.http(), &mut before).await? == 0,
        "a session moved"
    );
    sluice.stop()
}

#[tokio::test]
async fn balanced_sessions_partly_move_when_pods_are_added() -> Result<()> {
    let fixture = Fixture::start(4, 2).await?;
    fixture.manifests.ingress(&sticky_ingress("balanced"))?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let mut before = new_clients(sluice.http(), CLIENTS).await?;
    ensure!(
        revisit(sluice.http(), &mut before).await? == 0,
        "a session moved without a reason"
    );
    fixture.endpoints(&[0, 1, 2, 3])?;
    wait_until_used(sluice.http(), "web-3").await?;
    let moved = revisit(sluice.http(), &mut before).await?;
    // A half, give or take five standard deviations.
    ensure!(
        (1..CLIENTS).contains(&moved),
        "{moved} of {CLIENTS} sessions moved"
    );
    sluice.stop()
}

#[tokio::test]
async fn session_of_a_removed_pod_moves_once() -> Result<()> {
    let fixture = Fixture::start(3, 3).await?;
    fixture.manifests.ingress(&sticky_ingress("persistent"))?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let mut sessions = new_clients(sluice.http(), CLIENTS).await?;
    let on_first = sessions.iter().filter(|(_, pod)| pod == "web-0").count();
    fixture.endpoints(&[1, 2])?;
    fixture.wait_until_idle(0).await?;
    let pods_of = async |sessions: &mut [(Client, String)]| {
        let mut pods_of = BTreeMap::new();
        for (n, (client, _)) in sessions.iter_mut().enumerate() {
            pods_of.insert(n, client.visit(sluice.http()).await?);
        }
        anyhow::Ok(pods_of)
    };
    let after = pods_of(&mut sessions).await?;
    let moved = sessions
        .iter()
        .zip(after.values())
        .filter(|((_, before), after)| before != *after)
        .count();
    ensure!(
        moved == on_first,
        "{on_first} sessions lost their pod, {moved} moved"
    );
    ensure!(
        pods_of(&mut sessions).await? == after,
        "those that moved stay where they are"
    );
    sluice.stop()
}
