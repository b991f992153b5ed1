//! R12: a response ends where its client takes it to end, whatever its status. What follows on a connection that several clients share
//! would else be the response to somebody else's request.

use anyhow::{Context, Result, ensure};
use sluice_tests::connection::Connection;
use sluice_tests::http::Request;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;

use crate::setup::{
    FOREIGN, OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted,
};

on_every_plane!(
    responses_of_tenants_end_where_clients_take_them_to_end,
    redirects_end_where_clients_take_them_to_end,
);

/// Would be a response.
const SMUGGLED: &str = "HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\nevil";

/// Statuses that nginx answers with the end of the connection, some of them with nothing else.
const ENDING: [u16; 8] = [400, 408, 413, 414, 416, 499, 500, 501];
/// Statuses of nginx's own: one closes the connection, the others are 400 to clients.
const OWN: [u16; 5] = [444, 494, 495, 496, 497];

/// Sends requests for a path of the foreign namespace, each followed by one for the owner's on the same connection.
async fn ask(sluice: &Sluice, host: &str, path: &str, status: u16) -> Result<()> {
    for method in ["GET", "HEAD"] {
        let mut connection = Connection::open(sluice.http()).await?;
        let first = connection.send(&Request::new(method, host, path)).await;
        if ENDING.contains(&status) && (first.is_err() || !connection.is_reusable()) {
            continue;
        }
        let first = first.with_context(|| method)?;
        ensure!(first.status == status, "{method}: {}", first.status);
        ensure!(connection.is_reusable(), "{method}: the connection ends");
        let next = connection.send(&Request::get("owner.test", "/")).await;
        let next = next.with_context(|| format!("the response after {method}"))?;
        ensure!(
            next.pod() == Some(OWNER),
            "after {method}: {} {:?}",
            next.status,
            String::from_utf8_lossy(&next.body)
        );
    }
    Ok(())
}

/// Asks for all of these, and says what went wrong.
async fn ask_all(
    sluice: &Sluice,
    host: &str,
    statuses: impl IntoIterator<Item = u16>,
) -> Result<()> {
    let mut wrong = Vec::new();
    for status in statuses {
        if let Err(error) = ask(sluice, host, &format!("/{status}"), status).await {
            wrong.push(format!("{host} {status}: {error:#}"));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn owner() -> serde_json::Value {
    let owner = Ingress::new(OWNER, "a").host("owner.test");
    owner.path("/", "web", 80).to_json()
}

async fn responses_of_tenants_end_where_clients_take_them_to_end(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let mut objects = vec![snippets_permitted(), owner()];
    // The text of a redirect is a URL.
    let statuses = || (200..=599).filter(|status| !OWN.contains(status));
    let texts = || statuses().filter(|status| ![301, 302, 303, 307, 308].contains(status));
    let texts_and_pages = texts()
        .map(|status| ("text", status, format!("return {status} \"{SMUGGLED}\";")))
        .chain(statuses().map(|status| ("page", status, format!("return {status};"))));
    for (kind, status, text) in texts_and_pages {
        let ingress = Ingress::new(FOREIGN, &format!("{kind}-{status}"))
            .annotation("configuration-snippet", &text)
            .host(&format!("{kind}.test"))
            .path(&format!("/{status}"), "web", 80);
        objects.push(ingress.to_json());
    }
    tenants.write("all.yaml", &objects)?;
    let sluice = plane
        .options(&tenants.manifests)
        .arguments(snippet_flags())
        .start()
        .await?;
    sluice.wait_for_status("owner.test", "/", 200).await?;
    ask_all(&sluice, "text.test", texts()).await?;
    ask_all(&sluice, "page.test", statuses()).await?;
    sluice.stop()
}

async fn redirects_end_where_clients_take_them_to_end(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let mut objects = vec![owner()];
    for status in 300..=308 {
        let ingress = Ingress::new(FOREIGN, &format!("r-{status}"))
            .annotation("permanent-redirect", "https://elsewhere.test/")
            .annotation("permanent-redirect-code", &status.to_string())
            .host("redirect.test")
            .path(&format!("/{status}"), "web", 80);
        objects.push(ingress.to_json());
    }
    tenants.write("all.yaml", &objects)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("owner.test", "/", 200).await?;
    ask_all(&sluice, "redirect.test", 300..=308).await?;
    sluice.stop()
}
