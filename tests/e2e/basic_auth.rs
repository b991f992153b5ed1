//! Names and passwords: the controller compares them, for each request that Envoy asks about.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sluice_tests::envoy::Envoy;
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Port;
use sluice_tests::sluice::{self, Options, Sluice};
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST};

const CLOSED: &str = "closed.test";

/// The site again, for those who know a password; `annotations` more annotations.
async fn fixture(annotations: &[(&str, &str)]) -> Result<Fixture> {
    let fixture = Fixture::start(1, 1).await?;
    let guarded = Ingress::new("default", "closed")
        .host(CLOSED)
        .path("/", "web", 80);
    let asked = [
        ("auth-type", "basic"),
        ("auth-secret", "users"),
        ("auth-realm", "the shop"),
    ];
    let all = asked.iter().chain(annotations);
    let guarded = all.fold(guarded, |ingress, (name, value)| {
        ingress.annotation(name, value)
    });
    fixture.manifests.ingress(&guarded)?;
    password(&fixture.manifests, "bar")?;
    Ok(fixture)
}

fn password(manifests: &Manifests, password: &str) -> Result<()> {
    let line = format!("foo:{}\n", bcrypt::hash(password, 4)?);
    manifests.object(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "users", "namespace": "default"},
        "stringData": {"auth": line},
    }))
}

async fn log_in(addr: SocketAddr, credentials: Option<&str>) -> Result<Response> {
    let request = Request::get(CLOSED, "/");
    let encoded = credentials.map(|text| format!("Basic {}", STANDARD.encode(text)));
    let request = encoded.iter().fold(request, |request, value| {
        request.header("authorization", value)
    });
    http::send(addr, &request).await
}

async fn wait_for_answer(addr: SocketAddr, credentials: &str, status: u16) -> Result<()> {
    let answered =
        async || (log_in(addr, Some(credentials)).await.ok()?.status == status).then_some(());
    wait::until(&format!("{status} for {credentials}"), answered)
        .await
        .map(drop)
}

#[tokio::test]
async fn only_the_correct_password_is_accepted_and_pods_never_see_it() -> Result<()> {
    let fixture = fixture(&[]).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    wait_for_answer(sluice.http(), "foo:bar", 200).await?;
    for _ in 0..3 {
        let found = log_in(sluice.http(), Some("foo:bar")).await?;
        ensure!(found.status == 200, "{found:?}");
        ensure!(
            !found.text().to_lowercase().contains("authorization"),
            "{}",
            found.text()
        );
        for wrong in [
            None,
            Some("foo:baz"),
            Some("foo:"),
            Some("nobody:bar"),
            Some(""),
        ] {
            let refused = log_in(sluice.http(), wrong).await?;
            ensure!(
                refused.status == 401 && refused.pod().is_none(),
                "{wrong:?}: {refused:?}"
            );
            ensure!(
                refused.header("www-authenticate") == Some("Basic realm=\"the shop\""),
                "{refused:?}"
            );
        }
    }
    let open = sluice.get(HOST, "/").await?;
    ensure!(open.status == 200, "{open:?}");
    ensure!(!sluice.log().tail().contains("$2"), "a hash is in the log");
    sluice.stop()
}

#[tokio::test]
async fn changed_password_secret_applies_at_once_and_a_deleted_one_denies() -> Result<()> {
    let fixture = fixture(&[]).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    wait_for_answer(sluice.http(), "foo:bar", 200).await?;
    password(&fixture.manifests, "new")?;
    wait_for_answer(sluice.http(), "foo:new", 200).await?;
    let old = log_in(sluice.http(), Some("foo:bar")).await?;
    ensure!(old.status == 401, "{old:?}");
    fixture.manifests.object(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "users", "namespace": "default"},
    }))?;
    wait_for_answer(sluice.http(), "foo:new", 503).await?;
    sluice.stop()
}

#[tokio::test]
async fn satisfy_any_accepts_an_allowed_address() -> Result<()> {
    let near = fixture(&[
        ("satisfy", "any"),
        ("whitelist-source-range", "127.0.0.0/8"),
    ])
    .await?;
    let sluice = Sluice::start(&near.manifests).await?;
    sluice.wait_for_status(CLOSED, "/", 200).await?;
    sluice.stop()?;
    let far = fixture(&[
        ("satisfy", "any"),
        ("whitelist-source-range", "192.0.2.0/24"),
    ])
    .await?;
    let sluice = Sluice::start(&far.manifests).await?;
    wait_for_answer(sluice.http(), "foo:bar", 200).await?;
    let stranger = log_in(sluice.http(), None).await?;
    ensure!(stranger.status == 401, "{stranger:?}");
    sluice.stop()?;
    let both = fixture(&[("whitelist-source-range", "192.0.2.0/24")]).await?;
    let sluice = Sluice::start(&both.manifests).await?;
    sluice.wait_for_status(CLOSED, "/", 403).await?;
    wait_for_answer(sluice.http(), "foo:bar", 403).await?;
    sluice.stop()
}

#[tokio::test]
async fn without_the_controller_logins_are_denied_and_other_hosts_served() -> Result<()> {
    let fixture = fixture(&[]).await?;
    let (http, folder) = (Port::reserve()?, tempfile::tempdir()?);
    let xds = format!("unix:{}", folder.path().join("xds.sock").display());
    let options = Options::new(&fixture.manifests)
        .without_data_plane()
        .http(http.addr())
        .xds(&xds);
    let controller = options.start().await?;
    let mut envoy = Envoy::start(&sluice::bootstrap(&xds, "guarded")?).await?;
    envoy.ready().await?;
    wait_for_answer(http.addr(), "foo:bar", 200).await?;
    controller.stop()?;
    wait_for_answer(http.addr(), "foo:bar", 503).await?;
    let open = http::get(http.addr(), HOST, "/").await?;
    ensure!(open.status == 200, "{open:?}");
    envoy.stop()
}
