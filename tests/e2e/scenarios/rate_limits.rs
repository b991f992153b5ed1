//! Requests of one client, one a minute and two at once. Of both data planes.

use anyhow::{Result, ensure};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;

use crate::fixture::{Fixture, HOST};

/// Nobody is let in there.
const DENIED_HOST: &str = "denied.test";
/// Its errors are those of the default backend, which there is none of: 404.
const PAGES_HOST: &str = "pages.test";
const EXEMPT_HOST: &str = "exempt.test";
/// Falls under a wildcard.
const WILDCARD_HOST: &str = "a.wild.test";
/// Has the limit of [`HOST`] for itself.
const OTHER_HOST: &str = "other.test";

/// A site with these hosts, each of an Ingress of its own.
pub(crate) async fn fixture() -> Result<Fixture> {
    let fixture = Fixture::start(1, 1).await?;
    let limited = |name: &str, host: &str| {
        let ingress = Ingress::new("default", name)
            .host(host)
            .path("/", "web", 80)
            .path("/more", "web", 80);
        ingress
            .annotation("limit-rpm", "1")
            .annotation("limit-burst-multiplier", "2")
    };
    let loopback = "127.0.0.0/8";
    for ingress in [
        limited("web", HOST),
        limited("other", OTHER_HOST),
        limited("wildcard", "*.wild.test"),
        limited("denied", DENIED_HOST).annotation("denylist-source-range", loopback),
        limited("pages", PAGES_HOST).annotation("custom-http-errors", "503"),
        limited("exempt", EXEMPT_HOST).annotation("limit-allowlist", loopback),
        open("open", "open.test"),
    ] {
        fixture.manifests.ingress(&ingress)?;
    }
    Ok(fixture)
}

fn open(name: &str, host: &str) -> Ingress {
    Ingress::new("default", name)
        .host(host)
        .path("/", "web", 80)
}

/// All paths, methods and spellings of an Ingress are counted together, before access control, and no change of another
/// Ingress begins anew.
pub(crate) async fn are_those_of_an_ingress(fixture: &Fixture, sluice: &Sluice) -> Result<()> {
    sluice.wait_for_status("open.test", "/", 200).await?;
    let paths = ["/", "/more", "/%6dore/of/it", "/", "/mor%65"];
    answers(sluice, HOST, &paths, [200, 200, 200, 503, 503]).await?;
    let posted = http::send(sluice.http(), &Request::new("POST", HOST, "/")).await?;
    ensure!(posted.status == 503, "POST: {}", posted.status);
    answers(sluice, OTHER_HOST, &paths, [200, 200, 200, 503, 503]).await?;
    answers(sluice, WILDCARD_HOST, &paths, [200, 200, 200, 503, 503]).await?;
    answers(sluice, "b.wild.test", &["/"], [503]).await?;
    answers(sluice, EXEMPT_HOST, &paths, [200; 5]).await?;
    answers(
        sluice,
        DENIED_HOST,
        &["/", "/more", "/", "/", "/more"],
        [403, 403, 403, 503, 503],
    )
    .await?;
    answers(sluice, PAGES_HOST, &paths, [200, 200, 200, 404, 404]).await?;
    fixture.manifests.ingress(&open("new", "new.test"))?;
    sluice.wait_for_status("new.test", "/", 200).await?;
    answers(sluice, HOST, &paths, [503; 5]).await
}

async fn answers<const N: usize>(
    sluice: &Sluice,
    host: &str,
    paths: &[&str; N],
    expected: [u16; N],
) -> Result<()> {
    let mut statuses = Vec::new();
    for path in paths {
        statuses.push(sluice.get(host, path).await?.status);
    }
    ensure!(statuses == expected, "{host}: {statuses:?}");
    Ok(())
}
