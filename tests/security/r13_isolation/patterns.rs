//! Regular expressions, and what becomes one in a data plane: whatever their size, they cost nobody but their owner.

use anyhow::{Result, ensure};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;

use super::{ensure_changes_are_accepted, ensure_reported, neighbour};
use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    oversized_patterns_block_no_updates,
    usual_patterns_are_served_at_any_length,
    many_cors_origins_are_compared,
    protected_path_with_a_rejected_pattern_is_closed,
);

/// Patterns that an engine refuses, each with what is said of it.
const TOO_LARGE: &[(&str, &str)] = &[
    ("/(a{50}){50}", "multiply to 2500, more than 1000"),
    ("/a{1001}", "more than 1000 repetitions"),
    ("/(?:(?:a{10}){10}){11}", "multiply to 1100, more than 1000"),
    ("/[^s]{900}", "instructions, more than 2000"),
    ("/(?:.{500}|s{500}|k{500})", "instructions, more than 2000"),
    (
        "/(?:(?:(?:(?:a)))){900}",
        "bytes when compiled, more than 60000",
    ),
    ("/[:alpha:]", "a class that is written [:alpha:]"),
    ("/^*", "a repetition of an assertion"),
];

async fn oversized_patterns_block_no_updates(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.manifests.ingress(&neighbour("own.test"))?;
    let large: String = "s".repeat(1000);
    let mut patterns: Vec<(&str, &str)> = TOO_LARGE.to_vec();
    let long = format!("/{large}");
    patterns.push((&long, "1001 bytes are more than 1000"));
    for (number, (pattern, _)) in patterns.iter().enumerate() {
        let (name, host) = (format!("large-{number}"), format!("large-{number}.test"));
        let ingress = Ingress::new(FOREIGN, &name)
            .annotation("use-regex", "true")
            .host(&host);
        tenants
            .manifests
            .ingress(&ingress.path(pattern, "web", 80).path("/small", "web", 80))?;
    }
    let sluice = plane.options(&tenants.manifests).start().await?;
    ensure!(sluice.get("own.test", "/").await?.pod() == Some(OWNER));
    for (number, (_, said)) in patterns.iter().enumerate() {
        ensure_reported(
            &sluice,
            &format!("Ingress {FOREIGN}/large-{number}: "),
            &["spec.rules[0].http.paths[0].path", said],
        )?;
        let other_path = sluice
            .get(&format!("large-{number}.test"), "/small")
            .await?;
        ensure!(
            other_path.pod() == Some(FOREIGN),
            "what it does not concern is served"
        );
    }
    ensure_changes_are_accepted(&sluice, &tenants).await?;
    sluice.stop()
}

async fn usual_patterns_are_served_at_any_length(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let words = "users|orders|products|carts|payments|shipments|returns|accounts|sessions";
    let nine_words = format!("/api/v1/({words})/([0-9]+)(/|$)(.*)");
    let literal = format!("/{}", "segment/".repeat(14));
    let own = Ingress::new(OWNER, "patterns")
        .annotation("use-regex", "true")
        .host("own.test");
    let own = own
        .path(&nine_words, "web", 80)
        .path("/(.*)/(.*)/end", "web", 80)
        .path(&literal, "web", 80);
    tenants.manifests.ingress(&own)?;
    // A second Ingress without patterns, on a host that has some.
    let beside = Ingress::new(OWNER, "beside").host("own.test").path(
        &format!("/b{}", "b".repeat(150)),
        "web",
        80,
    );
    tenants.manifests.ingress(&beside)?;
    let suffix = format!("{}.{}.test", "s".repeat(60), "k".repeat(60));
    let wild = Ingress::new(OWNER, "wild").host(&format!("*.{suffix}"));
    tenants.manifests.ingress(&wild.path("/", "web", 80))?;
    let statuses: Vec<String> = (400..=599).map(|status| status.to_string()).collect();
    let errors =
        Ingress::new(OWNER, "errors").annotation("custom-http-errors", &statuses.join(","));
    tenants.manifests.ingress(
        &errors
            .annotation("default-backend", "web")
            .host("errors.test")
            .path("/", "web", 80),
    )?;

    let sluice = plane.options(&tenants.manifests).start().await?;
    let long = format!("/b{}/x", "b".repeat(150));
    for path in [
        "/api/v1/sessions/7/x",
        "/a/b/c/end",
        &literal,
        &literal.to_uppercase(),
        &long,
    ] {
        ensure!(
            sluice.get("own.test", path).await?.pod() == Some(OWNER),
            "{path}"
        );
    }
    for (label, is_served) in [("a", true), ("A-1", true), ("a.b", false)] {
        let answer = sluice.get(&format!("{label}.{suffix}"), "/").await?;
        ensure!(
            (answer.pod() == Some(OWNER)) == is_served,
            "{label}.{suffix}: {}",
            answer.status
        );
    }
    ensure!(sluice.get("errors.test", "/").await?.pod() == Some(OWNER));
    ensure_changes_are_accepted(&sluice, &tenants).await?;
    sluice.stop()
}

/// Up to the limit; beyond it nobody is allowed, and the limit is named.
async fn many_cors_origins_are_compared(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let origin = |number: usize| format!("https://{}-{number}.kiosk.example", "s".repeat(40));
    for (host, count) in [("few.test", 7), ("many.test", 199), ("beyond.test", 200)] {
        let mut origins: Vec<String> = (0..count).map(origin).collect();
        origins.push("https://*.wild.example:8443".to_owned());
        let ingress = Ingress::new(FOREIGN, host).annotation("enable-cors", "true");
        let ingress = ingress.annotation("cors-allow-origin", &origins.join(", "));
        tenants
            .manifests
            .ingress(&ingress.host(host).path("/", "web", 80))?;
    }
    let sluice = plane.options(&tenants.manifests).start().await?;
    let told = async |host: &str, method: &str, origin: &str| -> Result<(u16, Option<String>)> {
        let request = Request::new(method, host, "/").header("origin", origin);
        let answer = http::send(sluice.http(), &request).await?;
        let allowed = answer.header("access-control-allow-origin");
        Ok((answer.status, allowed.map(str::to_owned)))
    };
    for (host, last) in [("few.test", 6), ("many.test", 198)] {
        let (exact, wild) = (origin(last), "https://a.wild.example:8443".to_owned());
        for allowed in [exact.clone(), exact.to_uppercase(), wild] {
            let is_told = Some(allowed.clone());
            ensure!(
                told(host, "GET", &allowed).await? == (200, is_told.clone()),
                "{host}: {allowed}"
            );
            ensure!(
                told(host, "OPTIONS", &allowed).await? == (204, is_told),
                "{host}: {allowed}"
            );
        }
        for stranger in [
            format!("{exact}.evil.example"),
            "https://a.b.wild.example:8443".into(),
            "null".into(),
        ] {
            ensure!(
                told(host, "GET", &stranger).await? == (200, None),
                "{host}: {stranger}"
            );
            ensure!(
                told(host, "OPTIONS", &stranger).await? == (200, None),
                "{host}: {stranger}"
            );
        }
        ensure!(
            sluice.get(host, "/").await?.pod() == Some(FOREIGN),
            "who says no origin is served"
        );
    }
    ensure!(told("beyond.test", "GET", &origin(0)).await? == (200, None));
    ensure_reported(
        &sluice,
        "foreign/beyond.test",
        &["cors-allow-origin", "at most 200 origins, got 201"],
    )?;
    ensure_changes_are_accepted(&sluice, &tenants).await?;
    sluice.stop()
}

/// Nothing behind it takes the requests of a path that guards access and cannot be served. What is tried before it, and what it
/// could never take, is served as before.
async fn protected_path_with_a_rejected_pattern_is_closed(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let guarded = |name: &str| {
        let ingress = Ingress::new(OWNER, name).annotation("whitelist-source-range", "192.0.2.1");
        ingress.host(&format!("{name}.test"))
    };
    let open = |host: &str| {
        Ingress::new(OWNER, &format!("open-{host}"))
            .host(host)
            .path("/", "web", 80)
    };
    let refused = guarded("refused").annotation("use-regex", "true");
    let refused = refused.path("/admin/(a{50}){50}", "web", 80);
    tenants
        .manifests
        .ingress(&refused.path(r"/deep/\K.*", "web", 80))?;
    let longer = "/admin/what-is-written-longer-comes-first";
    tenants
        .manifests
        .ingress(&open("refused.test").path(longer, "web", 80))?;
    let unreadable = guarded("unreadable").annotation("rewrite-target", "/$http_x/$2");
    let unreadable = unreadable.path("/admin(/|$)(.*)", "web", 80);
    tenants
        .manifests
        .ingress(&unreadable.path("/deep", "web", 80))?;
    tenants.manifests.ingress(&open("unreadable.test"))?;
    // Nobody is kept out of this one, so nothing is closed.
    let harmless = Ingress::new(OWNER, "harmless")
        .annotation("use-regex", "true")
        .host("harmless.test");
    tenants
        .manifests
        .ingress(&harmless.path("/admin/(a{50}){50}", "web", 80))?;
    tenants.manifests.ingress(&open("harmless.test"))?;

    let sluice = plane.options(&tenants.manifests).start().await?;
    for host in ["refused.test", "unreadable.test"] {
        for path in ["/admin/", "/admin/x", "/deep/y", "/admin/../deep/z"] {
            let answer = sluice.get(host, path).await?;
            ensure!(answer.status == 503, "{host}{path}: {}", answer.status);
        }
        for path in ["/", "/other", "/adm"] {
            ensure!(
                sluice.get(host, path).await?.pod() == Some(OWNER),
                "{host}{path}"
            );
        }
    }
    ensure!(sluice.get("refused.test", longer).await?.pod() == Some(OWNER));
    ensure!(sluice.get("refused.test", "/ADMIN/x").await?.status == 503);
    ensure!(sluice.get("harmless.test", "/admin/aa").await?.pod() == Some(OWNER));
    ensure_reported(
        &sluice,
        "Ingress owner/refused: ",
        &["affected paths answer 503: those that begin with \"/admin/\""],
    )?;
    ensure_changes_are_accepted(&sluice, &tenants).await?;
    sluice.stop()
}
