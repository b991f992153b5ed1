//! Refusals of a data plane cost only their culprit. The translation accepts a pattern that this Envoy, with a lower limit than
//! it should have, really refuses; and a test adds a word to nginx's configuration.

use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::Ingress;

use super::neighbour;
use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

mod fixture;
mod guards;

use fixture::{Fixture, REFUSED};

on_every_plane!(
    rejected_host_affects_no_other_and_is_served_once_fixed,
    rejected_ingress_closes_only_its_own_paths_on_a_shared_host,
    last_accepted_configuration_keeps_serving,
    many_rejected_objects_are_found_at_startup_and_after_restarts,
);

fn host(number: usize) -> String {
    format!("own-{number}.test")
}

fn rejected_ingress(name: &str, host: &str) -> Ingress {
    let ingress = Ingress::new(FOREIGN, name)
        .annotation("use-regex", "true")
        .host(host);
    ingress.path(&format!("/bad/{REFUSED}"), "web", 80)
}

fn fixed_ingress(name: &str, host: &str) -> Ingress {
    Ingress::new(FOREIGN, name)
        .annotation("use-regex", "true")
        .host(host)
        .path("/bad/[a-f]+", "web", 80)
}

async fn rejected_host_affects_no_other_and_is_served_once_fixed(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    for number in 0..30 {
        tenants.manifests.ingress(&neighbour(&host(number)))?;
    }
    let fixture = Fixture::start(plane, tenants).await?;
    fixture.wait_until_served("own-29.test", "/", OWNER).await?;
    let traffic = fixture.traffic("own-7.test").await?;

    // In one change with what is others', before and behind it.
    let others = || {
        [
            neighbour("a.test").to_json(),
            neighbour("late.test").to_json(),
        ]
    };
    let together = |ingress: Ingress| {
        fixture.tenants.write(
            "together.yaml",
            &[&others()[..], &[ingress.to_json()]].concat(),
        )
    };
    together(rejected_ingress("bad", "bad.test"))?;
    fixture.wait_until_served("a.test", "/", OWNER).await?;
    fixture.wait_until_served("late.test", "/", OWNER).await?;
    fixture.wait_until_closed("bad.test", "/bad/aaa").await?;
    fixture
        .sluice
        .log()
        .wait_for("Ingress foreign/bad: spec.rules of host bad.test: refused by the data plane")
        .await?;
    // Later changes of others do not wait, and what is held stays held.
    fixture.write(&neighbour("later.test"))?;
    fixture.wait_until_served("later.test", "/", OWNER).await?;
    fixture.wait_until_closed("bad.test", "/bad/aaa").await?;
    for number in 0..30 {
        ensure!(
            fixture.sluice.get(&host(number), "/").await?.pod() == Some(OWNER),
            "{number}"
        );
    }
    fixture.wait_for_held_metric(true).await?;

    together(fixed_ingress("bad", "bad.test"))?;
    fixture
        .wait_until_served("bad.test", "/bad/aaa", FOREIGN)
        .await?;
    fixture.wait_until_served("a.test", "/", OWNER).await?;
    fixture.wait_until_served("late.test", "/", OWNER).await?;
    fixture.wait_for_held_metric(false).await?;
    fixture.ensure_no_failures(traffic).await?;
    fixture.stop().await
}

async fn rejected_ingress_closes_only_its_own_paths_on_a_shared_host(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let own = || {
        Ingress::new(OWNER, "own")
            .host("shared.test")
            .path("/", "web", 80)
            .path("/own", "web", 80)
    };
    tenants.manifests.ingress(&own())?;
    let fixture = Fixture::start(plane, tenants).await?;
    fixture
        .wait_until_served("shared.test", "/own", OWNER)
        .await?;
    let traffic = fixture.traffic("shared.test").await?;
    fixture.write(&rejected_ingress("bad", "shared.test"))?;
    fixture.wait_until_closed("shared.test", "/bad/aaa").await?;
    fixture
        .wait_until_served("shared.test", "/own", OWNER)
        .await?;
    // The other one goes on as it likes.
    fixture.write(&own().path("/more", "web", 80).path(
        "/bad/own-and-longer-than-the-pattern",
        "web",
        80,
    ))?;
    fixture
        .wait_until_served("shared.test", "/bad/own-and-longer-than-the-pattern", OWNER)
        .await?;
    fixture.wait_until_closed("shared.test", "/bad/aaa").await?;
    fixture
        .sluice
        .log()
        .wait_for("its paths on this host answer 503")
        .await?;
    let log = fixture.sluice.log().lines();
    ensure!(
        !log.iter()
            .any(|line| line.contains("Ingress owner/own: ") && line.contains("refused by"))
    );
    fixture.write(&fixed_ingress("bad", "shared.test"))?;
    fixture
        .wait_until_served("shared.test", "/bad/aaa", FOREIGN)
        .await?;
    fixture
        .wait_until_served("shared.test", "/more", OWNER)
        .await?;
    fixture.ensure_no_failures(traffic).await?;
    fixture.stop().await
}

async fn last_accepted_configuration_keeps_serving(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.manifests.ingress(&neighbour("own.test"))?;
    tenants
        .manifests
        .ingress(&fixed_ingress("app", "app.test"))?;
    let fixture = Fixture::start(plane, tenants).await?;
    fixture
        .wait_until_served("app.test", "/bad/aaa", FOREIGN)
        .await?;
    let traffic = fixture.traffic("own.test").await?;
    let path = Request::get("app.test", "/bad/aaa").header("connection", "close");
    let app = Load::new(fixture.sluice.http(), path)
        .pause(Duration::from_millis(2))
        .start();
    fixture.write(&rejected_ingress("app", "app.test").path("/new", "web", 80))?;
    fixture
        .sluice
        .log()
        .wait_for("what was accepted before is served")
        .await?;
    fixture.write(&neighbour("late.test"))?;
    fixture.wait_until_served("late.test", "/", OWNER).await?;
    fixture
        .wait_until_served("app.test", "/bad/aaa", FOREIGN)
        .await?;
    fixture.write(&fixed_ingress("app", "app.test").path("/new", "web", 80))?;
    fixture
        .wait_until_served("app.test", "/new", FOREIGN)
        .await?;
    fixture.ensure_no_failures(app).await?;
    fixture.ensure_no_failures(traffic).await?;
    fixture.stop().await
}

async fn many_rejected_objects_are_found_at_startup_and_after_restarts(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let culprits = [3, 11, 12, 25];
    write_many(&tenants, &culprits)?;
    let mut fixture = Fixture::start(plane, tenants).await?;
    ensure_only_culprits_are_held(&fixture, &culprits).await?;

    let traffic = fixture.traffic("own-5.test").await?;
    fixture.restart_controller().await?;
    fixture.write(&neighbour("late.test"))?;
    fixture.wait_until_served("late.test", "/", OWNER).await?;
    ensure_only_culprits_are_held(&fixture, &culprits).await?;
    fixture.ensure_no_failures(traffic).await?;

    let place = fixture.sluice.log().len();
    fixture.restart_data_plane().await?;
    ensure_only_culprits_are_held(&fixture, &culprits).await?;
    let told = fixture.sluice.log().lines().split_off(place);
    ensure!(
        !told.iter().any(|line| line.contains("NACK")),
        "{}",
        told.join("\n")
    );

    for number in culprits {
        fixture.write(&fixed_ingress(
            &format!("bad-{number}"),
            &format!("bad-{number}.test"),
        ))?;
    }
    fixture.write(&fixed_ingress("shared", "own-5.test"))?;
    fixture.write(&fixed_ingress("wild", "*.wild.test"))?;
    for host in [
        "bad-3.test",
        "bad-12.test",
        "bad-25.test",
        "own-5.test",
        "a.wild.test",
    ] {
        fixture.wait_until_served(host, "/bad/abc", FOREIGN).await?;
    }
    fixture.stop().await
}

/// Forty hosts of the owner, and objects that are rejected: of their own hosts, on a shared one, and under a wildcard.
fn write_many(tenants: &Tenants, culprits: &[usize]) -> Result<()> {
    let manifests = &tenants.manifests;
    for number in 0..40 {
        manifests.ingress(&neighbour(&host(number)))?;
    }
    for number in culprits {
        manifests.ingress(&rejected_ingress(
            &format!("bad-{number}"),
            &format!("bad-{number}.test"),
        ))?;
    }
    manifests.ingress(&rejected_ingress("shared", "own-5.test"))?;
    manifests.ingress(&rejected_ingress("wild", "*.wild.test"))?;
    let wildcard = Ingress::new(OWNER, "wild").host("*.kind.test");
    manifests.ingress(&wildcard.path("/", "web", 80))
}

async fn ensure_only_culprits_are_held(fixture: &Fixture, culprits: &[usize]) -> Result<()> {
    for number in 0..40 {
        fixture.wait_until_served(&host(number), "/", OWNER).await?;
    }
    fixture.wait_until_served("a.kind.test", "/", OWNER).await?;
    for number in culprits {
        fixture
            .wait_until_closed(&format!("bad-{number}.test"), "/bad/abc")
            .await?;
    }
    fixture.wait_until_closed("own-5.test", "/bad/abc").await?;
    fixture.wait_until_closed("a.wild.test", "/bad/abc").await?;
    // The last ones are tried in the background: they are more than are looked for in one namespace at once.
    let named = |number: &usize| (format!("bad-{number}"), format!("bad-{number}.test"));
    let others = [("shared", "own-5.test"), ("wild", "*.wild.test")];
    let others = others.map(|(name, host)| (name.to_owned(), host.to_owned()));
    for (name, host) in culprits.iter().map(named).chain(others) {
        let refused =
            format!("Ingress foreign/{name}: spec.rules of host {host}: refused by the data plane");
        fixture.sluice.log().wait_for(&refused).await?;
    }
    Ok(())
}
