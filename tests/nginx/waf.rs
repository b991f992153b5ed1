//! ModSecurity in nginx, with its module and the core rules as Debian has them.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST};

const OTHER: &str = "other.test";
const ATTACK: &str = "/?q=1%27%20or%20%271%27=%271%27--%20-";
const SWITCHED_ON: &str = "SecRuleEngine On";
const CORE: &str = "Include /etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf";

/// An Ingress of a host with all its paths, and these annotations.
fn ingress(name: &str, host: &str, annotations: &[(&str, &str)]) -> Ingress {
    let ingress = Ingress::new("default", name)
        .host(host)
        .path("/", "web", 80);
    annotations.iter().fold(ingress, |ingress, (name, value)| {
        ingress.annotation(name, value)
    })
}

/// Serves these hosts beside one without annotations, under a ConfigMap.
async fn serve(
    settings: &[(&str, &str)],
    hosts: &[(&str, &[(&str, &str)])],
) -> Result<(Fixture, Sluice)> {
    let fixture = Fixture::start(1, 1).await?;
    for (host, annotations) in hosts {
        let name = host.replace('.', "-");
        fixture
            .manifests
            .ingress(&ingress(&name, host, annotations))?;
    }
    configure(&fixture, settings)?;
    let arguments = ["--configmap", "default/sluice"].map(str::to_owned).into();
    let options = Options::new(&fixture.manifests)
        .arguments(arguments)
        .data_plane("nginx");
    let sluice = options.start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    Ok((fixture, sluice))
}

fn configure(fixture: &Fixture, settings: &[(&str, &str)]) -> Result<()> {
    let mut data =
        json!({"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"});
    for (key, value) in settings {
        data[*key] = json!(value);
    }
    fixture.manifests.object(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "sluice"},
        "data": data,
    }))
}

async fn ensure_status(sluice: &Sluice, host: &str, target: &str, status: u16) -> Result<()> {
    let answer = sluice.get(host, target).await?;
    ensure!(
        answer.status == status,
        "{host}{target}: expected {status}, got {answer:?}\n{}",
        sluice.log().tail()
    );
    Ok(())
}

#[tokio::test]
async fn an_attack_is_rejected_where_the_engine_is_on_and_nowhere_else() -> Result<()> {
    let on: &[(&str, &str)] = &[
        ("enable-modsecurity", "true"),
        ("enable-owasp-core-rules", "true"),
        ("modsecurity-snippet", SWITCHED_ON),
        ("modsecurity-transaction-id", "$request_id"),
    ];
    let with = |rest: &str| format!("{CORE}\n{SWITCHED_ON}\n{rest}");
    let (included, removed) = (with(""), with("SecRuleRemoveById 942100"));
    let included: &[(&str, &str)] = &[
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", &included),
    ];
    // Of the core rules it is the one that finds the attack.
    let removed: &[(&str, &str)] = &[
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", &removed),
    ];
    let detects: &[(&str, &str)] = &[
        ("enable-modsecurity", "true"),
        ("enable-owasp-core-rules", "true"),
    ];
    let (_fixture, sluice) = serve(
        &[],
        &[
            ("on.test", on),
            ("included.test", included),
            ("removed.test", removed),
            ("detects.test", detects),
        ],
    )
    .await?;
    for host in ["on.test", "included.test"] {
        ensure_status(&sluice, host, ATTACK, 403).await?;
        ensure_status(&sluice, host, "/?q=shoes", 200).await?;
    }
    for host in ["detects.test", "removed.test", HOST] {
        ensure_status(&sluice, host, ATTACK, 200).await?;
    }
    sluice.stop()
}

#[tokio::test]
async fn rules_of_a_snippet_hold_for_its_paths() -> Result<()> {
    let rules = [
        SWITCHED_ON,
        "SecRequestBodyAccess On",
        "SecRequestBodyLimit 2000",
        "SecRequestBodyNoFilesLimit 2000",
        "SecRequestBodyLimitAction Reject",
        r#"SecRule ARGS:q "@streq bad" "id:1,phase:2,deny,status:418,msg:'no, never'""#,
        r#"SecRule REQUEST_HEADERS:User-Agent "@rx ^\"evil\d+%$" "id:2,phase:1,deny""#,
        r#"SecRule ARGS:a "@rx ^x" "id:3,phase:2,deny,chain""#,
        r#"SecRule ARGS:b "@rx ^y" "t:lowercase""#,
        r#"SecRule RESPONSE_HEADERS:X-Pod "@rx ." "id:4,phase:3,pass,nolog""#,
    ]
    .join("\n")
    .replace('\\', "\\\\");
    let own: &[(&str, &str)] = &[
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", &rules),
    ];
    let (_fixture, sluice) = serve(&[], &[("own.test", own)]).await?;
    ensure_status(&sluice, "own.test", "/?q=bad", 418).await?;
    ensure_status(&sluice, HOST, "/?q=bad", 200).await?;
    ensure_status(&sluice, "own.test", "/?a=x", 200).await?;
    ensure_status(&sluice, "own.test", "/?a=x&b=Y", 403).await?;
    let agent = |agent: &str| Request::get("own.test", "/").header("user-agent", agent);
    let evil = http::send(sluice.http(), &agent("\"evil1%")).await?;
    ensure!(evil.status == 403, "{evil:?}");
    let good = http::send(sluice.http(), &agent("evil1")).await?;
    ensure!(good.status == 200, "{good:?}");
    let body = |length: usize| {
        Request::new("POST", "own.test", "/")
            .header("content-type", "application/x-www-form-urlencoded")
            .body("x".repeat(length))
    };
    for (length, status) in [(1000, 200), (3000, 403)] {
        let answer = http::send(sluice.http(), &body(length)).await?;
        ensure!(
            (answer.status == 200) == (status == 200),
            "{length}: {answer:?}"
        );
    }
    sluice.stop()
}

#[tokio::test]
async fn the_configmap_is_for_all_that_do_not_switch_it_off() -> Result<()> {
    let off: &[(&str, &str)] = &[("enable-modsecurity", "false")];
    let exempt: &[(&str, &str)] = &[("modsecurity-snippet", "SecRuleRemoveByTag OWASP_CRS")];
    let (_fixture, sluice) = serve(
        &[
            ("enable-modsecurity", "true"),
            ("enable-owasp-modsecurity-crs", "true"),
            (
                "modsecurity-snippet",
                "SecRuleEngine On\nSecAuditLog /dev/stdout\nSecAuditEngine RelevantOnly",
            ),
        ],
        &[("off.test", off), ("exempt.test", exempt), (OTHER, &[])],
    )
    .await?;
    for host in [HOST, OTHER] {
        ensure_status(&sluice, host, ATTACK, 403).await?;
        ensure_status(&sluice, host, "/", 200).await?;
    }
    for host in ["off.test", "exempt.test"] {
        ensure_status(&sluice, host, ATTACK, 200).await?;
    }
    sluice.stop()
}

/// The core rules are around both hosts, as the other one has them, too.
#[tokio::test]
async fn a_host_without_core_rules_is_left_alone_by_those_of_others() -> Result<()> {
    let core: &[(&str, &str)] = &[
        ("enable-modsecurity", "true"),
        ("enable-owasp-core-rules", "true"),
        ("modsecurity-snippet", SWITCHED_ON),
    ];
    let rules = format!("{SWITCHED_ON}\nSecRule ARGS:q \"@streq bad\" \"id:900500,phase:2,deny\"");
    let own: &[(&str, &str)] = &[
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", &rules),
    ];
    let (fixture, sluice) = serve(
        &[],
        &[("a.test", core), ("b.test", core), ("own.test", own)],
    )
    .await?;
    let text = std::fs::read_to_string(sluice.run_dir().join("nginx/nginx.conf"))?;
    ensure!(text.matches("modsecurity on;").count() == 3, "{text}");
    for host in ["a.test", "b.test"] {
        ensure_status(&sluice, host, ATTACK, 403).await?;
    }
    ensure_status(&sluice, "own.test", ATTACK, 200).await?;
    ensure_status(&sluice, "own.test", "/?q=bad", 403).await?;
    drop(fixture);
    sluice.stop()
}

/// The engine refuses an id that the core rules have.
#[tokio::test]
async fn rules_that_the_engine_refuses_close_their_own_paths_only() -> Result<()> {
    let core: &[(&str, &str)] = &[
        ("enable-modsecurity", "true"),
        ("enable-owasp-core-rules", "true"),
        ("modsecurity-snippet", SWITCHED_ON),
    ];
    let (fixture, sluice) = serve(&[], &[("good.test", core)]).await?;
    ensure_status(&sluice, "good.test", ATTACK, 403).await?;
    let refused = "SecRuleEngine On\nSecRule ARGS:q \"@streq bad\" \"id:901100,phase:1,deny\"";
    let bad: &[(&str, &str)] = &[
        ("enable-modsecurity", "true"),
        ("enable-owasp-core-rules", "true"),
        ("modsecurity-snippet", refused),
    ];
    fixture
        .manifests
        .ingress(&ingress("bad", "bad.test", bad))?;
    fixture
        .manifests
        .ingress(&ingress("later", "later.test", &[]))?;
    let served = async || {
        let later = sluice.get("later.test", "/").await.ok()?;
        (later.status == 200).then_some(())
    };
    wait::until("the other Ingress to be served", served)
        .await
        .with_context(|| sluice.log().tail())?;
    ensure_status(&sluice, "good.test", ATTACK, 403).await?;
    let answer = sluice.get("bad.test", "/").await?;
    ensure!(answer.status != 200, "{answer:?}");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let lines = sluice.log().lines();
    ensure!(
        lines
            .iter()
            .any(|line| line.contains("901100") && line.contains("default/bad")),
        "{}",
        sluice.log().tail()
    );
    sluice.stop()
}

/// Nobody gets around a firewall by the spelling of a path, and what is internal has none.
#[tokio::test]
async fn redirects_and_bodies_pass_a_firewall_unchanged() -> Result<()> {
    let redirects: &[(&str, &str)] = &[
        ("enable-modsecurity", "true"),
        (
            "modsecurity-snippet",
            "SecRuleEngine On\nSecRule ARGS:q \"@streq bad\" \"id:1,phase:1,deny\"",
        ),
        ("permanent-redirect", "https://elsewhere.test/"),
    ];
    let detects: &[(&str, &str)] = &[("enable-modsecurity", "true")];
    let (_fixture, sluice) =
        serve(&[], &[("moved.test", redirects), ("detects.test", detects)]).await?;
    ensure_status(&sluice, "moved.test", "/", 301).await?;
    ensure_status(&sluice, "moved.test", "/?q=bad", 403).await?;
    let request = Request::new("POST", "detects.test", "/").body("x".repeat(100_000));
    let answer = http::send(sluice.http(), &request).await?;
    ensure!(answer.status == 200, "{answer:?}");
    sluice.stop()
}
