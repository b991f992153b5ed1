//! A header that is missing, empty, or in several lines: conditions of snippets and canaries read it as ingress-nginx does.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Sluice;

use crate::setup::{Plane, on_every_plane, snippet_flags, snippets_permitted};

on_every_plane!(header_lines_are_compared_as_one_value);

/// The lines of a request.
const LINES: &[&[&str]] = &[
    &[],
    &[""],
    &["0"],
    &["a"],
    &["a, b"],
    &["a,b"],
    &["a", "b"],
    &["b", "a"],
    &["a", ""],
    &["", "a"],
    &["", ""],
    &["a", "b", "a"],
    &["always"],
    &["always", "never"],
];

/// nginx has variables of their own for some headers.
const NAMES: [&str; 4] = ["x-key", "user-agent", "referer", "via"];
/// Envoy joins lines of these itself, without a blank and without those that are empty.
const OF_ENVOY: [&str; 2] = ["user-agent", "via"];

type Holds = fn(&str) -> bool;

/// Conditions, and the values that they hold for. To them a header that is missing is empty.
const CONDITIONS: &[(&str, Holds)] = &[
    ("", |value| !matches!(value, "" | "0")),
    ("= ''", str::is_empty),
    ("!= ''", |value| !value.is_empty()),
    ("~ ^$", str::is_empty),
    ("= a", |value| value == "a"),
    ("!= a", |value| value != "a"),
    ("~ ^a$", |value| value == "a"),
    ("= 'a, b'", |value| value == "a, b"),
    ("~* ^A.*B$", |value| {
        value.starts_with('a') && value.ends_with('b')
    }),
    ("!~ b", |value| !value.contains('b')),
];

/// Rules of a canary, and the values that they hold for. To them a header that is missing is none.
const CANARIES: &[(&str, &str, Holds)] = &[
    ("", "", |value| value == "always"),
    ("value", "a", |value| value == "a"),
    ("pattern", "^$", str::is_empty),
    ("pattern", "^a$", |value| value == "a"),
    ("pattern", "^a, b$", |value| value == "a, b"),
    ("pattern", "^(|a.*b.*)$", |value| {
        value.is_empty() || value.starts_with('a') && value.contains('b')
    }),
];

fn conditions() -> impl Iterator<Item = (String, &'static str, &'static str, Holds)> {
    let of = |(name, header): (usize, &'static str)| {
        let all = CONDITIONS.iter().enumerate();
        all.map(move |(n, (condition, holds))| {
            (format!("if-{name}-{n}.test"), header, *condition, *holds)
        })
    };
    NAMES.into_iter().enumerate().flat_map(of)
}

fn canaries() -> impl Iterator<Item = (String, &'static str, (&'static str, &'static str), Holds)> {
    let of = |(name, header): (usize, &'static str)| {
        let all = CANARIES.iter().enumerate();
        all.map(move |(n, (kind, value, holds))| {
            (
                format!("canary-{name}-{n}.test"),
                header,
                (*kind, *value),
                *holds,
            )
        })
    };
    NAMES.into_iter().enumerate().flat_map(of)
}

/// Rules are those of two Services, so each canary has its own, with the same pods.
fn write(manifests: &Manifests, [main, new]: [SocketAddr; 2]) -> Result<()> {
    for (host, header, condition, _) in conditions() {
        let variable = format!("$http_{}", header.replace('-', "_"));
        let snippet = format!("if ({variable} {condition}) {{ return 403; }}");
        let ingress = Ingress::new("default", &host.replace(".test", "")).host(&host);
        let ingress = ingress.annotation("configuration-snippet", &snippet);
        manifests.ingress(&ingress.path("/", "main", 80))?;
    }
    for (host, header, (kind, value), _) in canaries() {
        let name = host.replace(".test", "");
        let ingress = |name: &str| Ingress::new("default", name).host(&host);
        manifests.service("default", &name, 80, &[main])?;
        manifests.ingress(&ingress(&name).path("/", &name, 80))?;
        let service = format!("{name}-new");
        manifests.service("default", &service, 80, &[new])?;
        let canary = ingress(&service)
            .annotation("canary", "true")
            .annotation("canary-by-header", header);
        let canary = match kind {
            "" => canary,
            kind => canary.annotation(&format!("canary-by-header-{kind}"), value),
        };
        manifests.ingress(&canary.path("/", &service, 80))?;
    }
    Ok(())
}

fn joined(plane: Plane, header: &str, lines: &[&str], between: &str) -> String {
    if plane == Plane::Nginx || !OF_ENVOY.contains(&header) {
        return lines.join(between);
    }
    let lines = lines.iter().filter(|line| !line.is_empty());
    lines.copied().collect::<Vec<_>>().join(",")
}

async fn answer(
    sluice: &Sluice,
    host: &str,
    header: &'static str,
    lines: &[&'static str],
) -> Result<http::Response> {
    let request = Request::get(host, "/");
    let request = lines
        .iter()
        .fold(request, |it, line| it.header(header, line));
    http::send(sluice.http(), &request).await
}

async fn header_lines_are_compared_as_one_value(plane: Plane) -> Result<()> {
    let (network, manifests) = (Network::reserve()?, Manifests::new()?);
    let [main, new] = [network.pod(0), network.pod(1)];
    let mut pods = Echo::start_all("main", &[main]).await?;
    pods.extend(Echo::start_all("new", &[new]).await?);
    manifests.service("default", "main", 80, &[main])?;
    manifests.object(&snippets_permitted())?;
    write(&manifests, [main, new])?;
    let options = plane.options(&manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    let last = format!("canary-{}-0.test", NAMES.len() - 1);
    sluice.wait_for_status(&last, "/", 200).await?;
    // Envoy puts no blank between lines where it looks for a route.
    let between = if plane == Plane::Nginx { ", " } else { "," };
    let mut seen = [0; 2];
    // Envoy takes away a `Referer` that is no URL.
    let is_kept = |header: &str| plane == Plane::Nginx || header != "referer";
    for lines in LINES {
        for (host, header, condition, holds) in conditions().filter(|it| is_kept(it.1)) {
            let expected = holds(&joined(plane, header, lines, between));
            let got = answer(&sluice, &host, header, lines).await?.status == 403;
            ensure!(got == expected, "{header} {lines:?}: {condition}: {got}");
            seen[usize::from(got)] += 1;
        }
        for (host, header, rule, holds) in canaries().filter(|it| is_kept(it.1)) {
            let value = joined(plane, header, lines, ", ");
            let expected = !lines.is_empty() && holds(&value);
            let response = answer(&sluice, &host, header, lines).await?;
            let pod = response.pod().context("no pod")?.to_owned();
            ensure!(
                (pod == "new-0") == expected,
                "{header} {lines:?}: {rule:?}: {pod}"
            );
            seen[usize::from(expected)] += 1;
        }
    }
    ensure!(seen.iter().all(|count| *count > 200), "{seen:?}");
    sluice.stop()
}
