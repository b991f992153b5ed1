//! Certificates from Secrets, while clients come and stay.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::certificate::{Pair, presented, presents};
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::unix;

use crate::fixture::{Fixture, HOST};
use crate::scenarios::certificate_rotation::{Clients, ManyHosts, Rotation};

#[tokio::test]
async fn certificate_renewal_keeps_open_connections() -> Result<()> {
    let rotation = Rotation::start().await?;
    let sluice = rotation.options().start().await?;
    rotation.renews_without_closing_connections(&sluice).await?;
    sluice.stop()
}

/// The chain that they share does not name them: `filter_chain_matcher` does, by which Envoy drains nothing. What drains is served
/// for minutes yet, so connections alone would not tell.
#[tokio::test]
async fn hosts_that_share_a_secret_come_and_go_without_closing_connections() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let manifests = &fixture.manifests;
    manifests.object(&presented("web", HOST, "web"))?;
    let default = Pair::renew(manifests, "default", &["default.test"])?;
    let shared = Pair::renew(manifests, "web", &[HOST, "*.more.test"])?;
    let arguments = ["--default-ssl-certificate", "default/default"].map(str::to_owned);
    let options = Options::new(manifests).arguments(arguments.into());
    let sluice = options.start().await?;
    presents(&sluice, HOST, &shared).await?;
    let mut clients = Clients::connect(&sluice).await?;
    let (before, draining) = chain_updates(&sluice).await?;
    for n in 0..3 {
        let host = format!("h{n}.more.test");
        let ingress = presented(&format!("more-{n}"), &host, "web");
        manifests.object(&ingress)?;
        for sni in [&host, &host.to_uppercase(), &format!("{host}.")] {
            presents(&sluice, sni, &shared).await?;
        }
        clients.are_served().await.context("one more")?;
        manifests.remove_object(&ingress)?;
        presents(&sluice, &host, &default).await?;
        clients.are_served().await.context("one less")?;
    }
    let (after, still) = chain_updates(&sluice).await?;
    ensure!(after >= before + 6, "{before} and {after} updates in place");
    ensure!(still == draining, "{draining} and {still} chains drain");
    sluice.stop()
}

/// Updates of listeners in place, and chains that drain.
async fn chain_updates(sluice: &Sluice) -> Result<(u64, u64)> {
    let admin = sluice.run_dir().join("envoy-admin.sock");
    let stats = unix::get(&admin, "/stats?filter=^listener_manager").await?;
    let stat = |name: &str| {
        let value = stats.lines().find_map(|line| {
            line.strip_prefix("listener_manager.")?
                .strip_prefix(name)?
                .strip_prefix(": ")
        });
        value
            .with_context(|| format!("{name}: {stats}"))?
            .parse()
            .context("a number")
    };
    Ok((
        stat("listener_in_place_updated")?,
        stat("total_filter_chains_draining")?,
    ))
}

#[tokio::test]
async fn invalid_or_deleted_secret_falls_back_to_the_default_certificate() -> Result<()> {
    let rotation = Rotation::start().await?;
    let sluice = rotation.options().start().await?;
    let clients = Clients::connect(&sluice).await?;
    rotation.falls_back_and_recovers(&sluice, clients).await?;
    sluice.stop()
}

#[tokio::test]
async fn thousand_hosts_present_their_own_certificates() -> Result<()> {
    let many = ManyHosts::start().await?;
    let options = Options::new(&many.fixture.manifests).within(Duration::from_secs(50));
    let sluice = options.start().await?;
    many.present_own_certificates(&sluice).await?;
    sluice.stop()
}
