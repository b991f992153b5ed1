//! A host that is no name of one is nobody's: it is reported, takes no request (neither those of a catch-all nor those of another
//! host), and costs the other rules of its Ingress nothing.

use anyhow::{Context, Result, ensure};
use sluice_tests::connection::Connection;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::wait;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    host_is_answered_by_its_owner_in_every_form,
    invalid_host_takes_no_requests,
    no_redirect_names_a_port_that_is_none,
    word_of_the_data_plane_is_a_host,
);

/// Words that mean something to nginx or to Envoy, where hosts may stand.
const WORDS: &[&str] = &[
    "default",
    "include",
    "hostnames",
    "volatile",
    "ranges",
    "proxy",
    "delete",
    "server",
    "location",
    "on",
    "off",
    "any",
    "all",
    "none",
    "blocked",
    "unix",
    "localhost",
    "default.test",
    "include.test",
];

/// Wildcards that are too wide, words and patterns of nginx, other spellings of the neighbour's host, and no names at all.
const INVALID_HOSTS: &[&str] = &[
    "*",
    "**",
    "*.",
    "*.*",
    "*.*.test",
    "a.*.test",
    "*a.test",
    "neigh*.test",
    "*.test*",
    "_",
    "\"\"",
    "''",
    "~.*",
    "~^(?<x>.+)$",
    ".test",
    ".neighbour.test",
    "neighbour.test.",
    "neighbour.test:80",
    "neighbour.test ",
    " neighbour.test",
    "neighbour.test\t",
    "neighbour.test\n",
    "neighbour.test;",
    "neighbour.test/",
    "neighbour.test,other.test",
    "neighbour.test other.test",
    "http://neighbour.test",
    "neighbour.test#",
    "neighbour.test\u{0}",
    "neighbour\u{2024}test",
    "n\u{eb}ighbour.test",
    "\u{ff4e}eighbour.test",
    "a_b.test",
    "-a.test",
    "a-.test",
    "..",
    "/",
    "[::1]",
    "$host",
    "${host}",
    "default_server",
    "%6eeighbour.test",
    "\\neighbour.test",
    " ",
    "\t",
    "{",
    "}",
];

const UNCLAIMED_HOSTS: [&str; 6] = [
    "any.test",
    "a.neighbour.test",
    "other.example",
    "a.b.test",
    "localhost",
    "127.0.0.1",
];

/// A data plane looks at a host more than once, without its port and with it, and each look has to find the same one.
async fn host_is_answered_by_its_owner_in_every_form(plane: Plane) -> Result<()> {
    const HOSTS: [(&str, &str); 5] = [
        ("exact.test", OWNER),
        ("a.wild.test", OWNER),
        ("a.b.wild.test", FOREIGN),
        ("wild.test", FOREIGN),
        ("other.test", FOREIGN),
    ];
    const ENDS: [&str; 8] = ["", ".", ":", ".:", ":80", ".:80", ":8080", ":0"];
    let tenants = Tenants::start().await?;
    let named = Ingress::new(OWNER, "named").host("exact.test");
    let named = named.path("/", "web", 80).host("*.wild.test");
    let others = Ingress::new(FOREIGN, "others").path("/", "web", 80);
    let objects = [named.path("/", "web", 80).to_json(), others.to_json()];
    tenants.write("all.yaml", &objects)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    for (host, owner) in HOSTS {
        sluice.wait_for_pod(host, owner).await?;
        for name in [host.to_owned(), host.to_uppercase()] {
            for end in ENDS {
                let asked = format!("{name}{end}");
                let page = http::get(sluice.http(), &asked, "/").await?;
                let (status, pod) = (page.status, page.pod());
                ensure!(pod == Some(owner), "{asked}: {status} {pod:?}");
            }
        }
    }
    sluice.stop()
}

/// It is served, and so is what comes after it.
async fn word_of_the_data_plane_is_a_host(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let neighbour = Ingress::new(OWNER, "neighbour").host("neighbour.test");
    tenants.manifests.ingress(&neighbour.path("/", "web", 80))?;
    let (hosts, aliases) = WORDS.split_at(WORDS.len() / 2);
    let words = hosts
        .iter()
        .fold(Ingress::new(FOREIGN, "words"), |ingress, host| {
            ingress.host(host).path("/", "web", 80)
        });
    let aliased = Ingress::new(FOREIGN, "aliases").annotation("server-alias", &aliases.join(","));
    let aliased = aliased.host("aliased.test").path("/", "web", 80);
    let passed = Ingress::new(FOREIGN, "passed").annotation("ssl-passthrough", "true");
    let passed = passed.host("volatile.default").path("/", "web", 80);
    tenants.write(
        "words.yaml",
        &[words.to_json(), aliased.to_json(), passed.to_json()],
    )?;
    let flags = vec!["--enable-ssl-passthrough".to_owned()];
    let options = plane.options(&tenants.manifests).arguments(flags);
    let sluice = options.start().await?;
    for host in WORDS {
        sluice.wait_for_pod(host, FOREIGN).await?;
        let page = Connection::open_tls(sluice.https(), host)
            .await?
            .send(&Request::get(host, "/"))
            .await?;
        ensure!(page.pod() == Some(FOREIGN), "{host} over TLS: {page:?}");
    }
    let later = Ingress::new(OWNER, "later").host("later.test");
    tenants.manifests.ingress(&later.path("/", "web", 80))?;
    sluice.wait_for_pod("later.test", OWNER).await?;
    sluice.wait_for_pod("neighbour.test", OWNER).await?;
    sluice.stop()
}

async fn invalid_host_takes_no_requests(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let long = ["a".repeat(64), format!("{}.test", "a.".repeat(130))];
    let odd: Vec<&str> = INVALID_HOSTS
        .iter()
        .copied()
        .chain(long.iter().map(String::as_str))
        .collect();
    // Older than the neighbour, so that nothing is its own only because it came first.
    let ingress = odd
        .iter()
        .fold(Ingress::new(FOREIGN, "a-odd"), |ingress, host| {
            ingress.host(host).path("/", "web", 80)
        });
    let ingress = ingress.host("good.test").path("/", "web", 80);
    let mut object = ingress.to_json();
    object["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z".into();
    tenants.write("odd.yaml", &[object])?;
    let neighbour = Ingress::new(OWNER, "neighbour")
        .host("neighbour.test")
        .path("/", "web", 80);
    tenants.manifests.ingress(&neighbour)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    // The other rule of the same Ingress.
    sluice.wait_for_pod("good.test", FOREIGN).await?;
    sluice.wait_for_pod("neighbour.test", OWNER).await?;
    for host in UNCLAIMED_HOSTS {
        let page = http::get(sluice.http(), host, "/").await?;
        ensure!(
            page.status == 404 && page.pod().is_none(),
            "{host}: {} {:?}",
            page.status,
            page.pod()
        );
    }
    for host in &odd {
        // What is no header at all ends the connection.
        let Ok(page) = http::get(sluice.http(), host, "/").await else {
            continue;
        };
        ensure!(page.pod() != Some(FOREIGN), "{host:?} is served");
    }
    let page = Connection::open_tls(sluice.https(), "any.test")
        .await?
        .send(&Request::get("any.test", "/"))
        .await?;
    ensure!(page.status == 404, "over TLS: {}", page.status);
    let told = sluice.log().lines();
    for (number, host) in odd.iter().enumerate() {
        let field = format!("Ingress {FOREIGN}/a-odd: spec.rules[{number}].host: ");
        told.iter()
            .find(|line| line.contains(&field))
            .with_context(|| format!("{host:?} is not reported"))?;
    }
    sluice.stop()
}

/// Envoy answers 400. nginx passes them on as the original's does, and names none in a redirect.
async fn no_redirect_names_a_port_that_is_none(plane: Plane) -> Result<()> {
    const PORTS: [&str; 8] = [
        "@evil.test",
        "80x",
        "x80",
        "-1",
        "80:90",
        "8%30",
        "80@a:1",
        "80,81",
    ];
    let tenants = Tenants::start().await?;
    let annotated = [
        ("app", "app-root", "/app"),
        ("secure", "force-ssl-redirect", "true"),
        ("bare", "from-to-www-redirect", "true"),
    ];
    for (name, annotation, value) in annotated {
        let ingress = Ingress::new(OWNER, name)
            .annotation(annotation, value)
            .host(&format!("{name}.test"))
            .path("/", "web", 80);
        tenants.manifests.ingress(&ingress)?;
    }
    let sluice = plane.options(&tenants.manifests).start().await?;
    for (name, _, _) in annotated {
        let host = format!("{name}.test");
        let asked = if name == "bare" {
            format!("www.{host}")
        } else {
            host
        };
        let redirected = async || {
            let page = http::get(sluice.http(), &asked, "/").await.ok()?;
            (300..309).contains(&page.status).then_some(())
        };
        wait::until(&asked, redirected).await?;
        for valid in ["", ":", ":80", ":8080"] {
            let page = http::get(sluice.http(), &format!("{asked}{valid}"), "/").await?;
            ensure!(
                (300..309).contains(&page.status),
                "{asked}{valid}: {}",
                page.status
            );
        }
        for port in PORTS {
            let page = http::get(sluice.http(), &format!("{asked}:{port}"), "/").await?;
            let location = page.header("location").unwrap_or_default();
            ensure!(!location.contains(port), "{asked}:{port}: {location}");
            ensure!(
                plane == Plane::Nginx || page.status == 400,
                "{asked}:{port}: {}",
                page.status
            );
        }
    }
    sluice.stop()
}
