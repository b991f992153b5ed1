//! ModSecurity: the same rules, with the core rules as Debian has them, on every data plane.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST};
use crate::setup::{Plane, on_every_plane};

on_every_plane!(
    an_attack_is_rejected_where_the_engine_is_on_and_nowhere_else,
    rules_of_a_snippet_hold_for_its_paths,
    the_configmap_is_for_all_that_do_not_switch_it_off,
    rules_that_the_engine_refuses_close_their_own_paths_only,
    redirects_and_bodies_pass_a_firewall_unchanged,
    core_rules_leave_hosts_without_them_alone,
    core_rules_of_some_paths_disarm_no_rules_of_all,
    limits_and_a_firewall_hold_together,
);

pub(crate) const OTHER: &str = "other.test";
pub(crate) const ATTACK: &str = "/?q=1%27%20or%20%271%27=%271%27--%20-";
pub(crate) const SWITCHED_ON: &str = "SecRuleEngine On";
const CORE: &str = "Include /etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf";
pub(crate) const DENIES_BAD: &str =
    "SecRuleEngine On\nSecRule ARGS:q \"@streq bad\" \"id:1,phase:1,deny\"";

pub(crate) type Annotations<'a> = &'a [(&'a str, &'a str)];

pub(crate) const WITH_CORE_RULES: Annotations<'_> = &[
    ("enable-modsecurity", "true"),
    ("enable-owasp-core-rules", "true"),
    ("modsecurity-snippet", SWITCHED_ON),
];

/// An Ingress of a host with all its paths, and these annotations.
pub(crate) fn ingress(host: &str, annotations: Annotations<'_>) -> Ingress {
    let ingress = Ingress::new("default", &host.replace('.', "-"))
        .host(host)
        .path("/", "web", 80);
    annotations.iter().fold(ingress, |ingress, (name, value)| {
        ingress.annotation(name, value)
    })
}

/// These hosts beside one without annotations, under a ConfigMap.
pub(crate) async fn site(
    settings: &[(&str, &str)],
    hosts: &[(&str, Annotations<'_>)],
) -> Result<(Fixture, Options)> {
    let fixture = Fixture::start(1, 1).await?;
    for (host, annotations) in hosts {
        fixture.manifests.ingress(&ingress(host, annotations))?;
    }
    let mut data =
        json!({"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"});
    for (key, value) in settings {
        data[*key] = json!(value);
    }
    fixture.manifests.object(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "sluice"},
        "data": data,
    }))?;
    let arguments = ["--configmap", "default/sluice"].map(str::to_owned).into();
    let options = Options::new(&fixture.manifests).arguments(arguments);
    Ok((fixture, options))
}

pub(crate) async fn start(options: Options) -> Result<Sluice> {
    let sluice = options.start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    Ok(sluice)
}

pub(crate) async fn ensure_status(
    sluice: &Sluice,
    host: &str,
    target: &str,
    status: u16,
) -> Result<()> {
    let answer = sluice.get(host, target).await?;
    ensure!(
        answer.status == status,
        "{host}{target}: expected {status}, got {answer:?}\n{}",
        sluice.log().tail()
    );
    Ok(())
}

/// A form of this length.
pub(crate) fn form(host: &str, length: usize) -> Request {
    Request::new("POST", host, "/")
        .header("content-type", "application/x-www-form-urlencoded")
        .body("x".repeat(length))
}

async fn an_attack_is_rejected_where_the_engine_is_on_and_nowhere_else(plane: Plane) -> Result<()> {
    let on: Annotations<'_> = &[
        ("enable-modsecurity", "true"),
        ("enable-owasp-core-rules", "true"),
        ("modsecurity-snippet", SWITCHED_ON),
        ("modsecurity-transaction-id", "$request_id"),
    ];
    let with = |rest: &str| format!("{CORE}\n{SWITCHED_ON}\n{rest}");
    let (included, removed) = (with(""), with("SecRuleRemoveById 942100"));
    let included: Annotations<'_> = &[
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", &included),
    ];
    // Of the core rules it is the one that finds the attack.
    let removed: Annotations<'_> = &[
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", &removed),
    ];
    let detects: Annotations<'_> = &[
        ("enable-modsecurity", "true"),
        ("enable-owasp-core-rules", "true"),
    ];
    let hosts = [
        ("on.test", on),
        ("included.test", included),
        ("removed.test", removed),
        ("detects.test", detects),
    ];
    let (_fixture, options) = site(&[], &hosts).await?;
    let sluice = start(plane.on(options)).await?;
    for host in ["on.test", "included.test"] {
        ensure_status(&sluice, host, ATTACK, 403).await?;
        ensure_status(&sluice, host, &format!("/%61dmin%2f{ATTACK}"), 403).await?;
        ensure_status(&sluice, host, "/?q=shoes", 200).await?;
    }
    for host in ["detects.test", "removed.test", HOST] {
        ensure_status(&sluice, host, ATTACK, 200).await?;
    }
    sluice.stop()
}

/// nginx has them around both hosts, because they are parsed once.
async fn core_rules_leave_hosts_without_them_alone(plane: Plane) -> Result<()> {
    let rules = format!("{SWITCHED_ON}\nSecRule ARGS:q \"@streq bad\" \"id:900500,phase:2,deny\"");
    let own: Annotations<'_> = &[
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", &rules),
    ];
    let hosts = [
        ("a.test", WITH_CORE_RULES),
        ("b.test", WITH_CORE_RULES),
        ("own.test", own),
    ];
    let of_all = format!("{SWITCHED_ON}\nSecRule ARGS:a \"@streq bad\" \"id:900600,phase:2,deny\"");
    let settings = [
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", &of_all),
    ];
    let (_fixture, options) = site(&settings, &hosts).await?;
    let sluice = start(plane.on(options)).await?;
    if plane == Plane::Nginx {
        ensure_parsed_once(&sluice)?;
    }
    for host in ["a.test", "b.test"] {
        ensure_status(&sluice, host, ATTACK, 403).await?;
    }
    for host in ["own.test", HOST] {
        ensure_status(&sluice, host, ATTACK, 200).await?;
    }
    ensure_status(&sluice, "own.test", "/?q=bad", 403).await?;
    for host in ["a.test", "own.test", HOST] {
        ensure_status(&sluice, host, "/?a=bad", 403).await?;
    }
    sluice.stop()
}

/// The core rules as they are installed are in one place of nginx.conf.
fn ensure_parsed_once(sluice: &Sluice) -> Result<()> {
    let folder = sluice.run_dir().join("nginx");
    let text = std::fs::read_to_string(folder.join("nginx.conf"))?;
    let mut places = 0;
    for file in std::fs::read_dir(folder.join("certificates"))? {
        let path = file?.path();
        let rules = std::fs::read(&path)?;
        let includes = rules.starts_with(b"Include ");
        let name = path.file_name().context("a file")?.to_string_lossy();
        places += usize::from(includes) * text.matches(&*name).count();
    }
    ensure!(places == 1, "{places} places: {text}");
    Ok(())
}

/// The default actions of the core rules let requests pass, and come behind others or in front of them. A path without the core rules
/// has a `block` of the operator's as it has it alone; one with them has both, and the operator's come last.
async fn core_rules_of_some_paths_disarm_no_rules_of_all(plane: Plane) -> Result<()> {
    let of_all = [
        SWITCHED_ON,
        r#"SecDefaultAction "phase:2,log,deny,status:403""#,
        r#"SecRule ARGS "@contains evil" "id:1000,phase:2,block""#,
        r#"SecRule ARGS:q "@streq bad" "id:900500,phase:2,deny""#,
    ]
    .join("\n");
    let settings = [
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", &of_all),
    ];
    let hosts = [("a.test", WITH_CORE_RULES), ("b.test", WITH_CORE_RULES)];
    let (fixture, options) = site(&settings, &hosts).await?;
    // And a host with core rules on two of its paths.
    let paths = |name: &str, paths: &[&str]| {
        let ingress = Ingress::new("default", name).host(OTHER);
        let mut paths = paths.iter();
        paths
            .by_ref()
            .fold(ingress, |ingress, path| ingress.path(path, "web", 80))
    };
    let some = paths("some", &["/x", "/y"]).annotation("enable-owasp-core-rules", "true");
    for ingress in [&some, &paths("others", &["/"])] {
        fixture.manifests.ingress(ingress)?;
    }
    let sluice = start(plane.on(options)).await?;
    let places = [
        (HOST, "/"),
        (OTHER, "/"),
        (OTHER, "/x"),
        ("a.test", "/"),
        ("b.test", "/"),
    ];
    for (host, path) in places {
        for (query, status) in [("a=good", 200), ("a=evil", 403), ("q=bad", 403)] {
            ensure_status(&sluice, host, &format!("{path}?{query}"), status).await?;
        }
    }
    sluice.stop()
}

/// Envoy has policies of a route that is counted in another place than those of others.
async fn limits_and_a_firewall_hold_together(plane: Plane) -> Result<()> {
    let limited: Annotations<'_> = &[
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", DENIES_BAD),
        ("limit-rps", "1"),
        ("limit-burst-multiplier", "10"),
        ("denylist-source-range", "10.0.0.0/8"),
    ];
    let (_fixture, options) = site(&[], &[("limited.test", limited)]).await?;
    let sluice = start(plane.on(options)).await?;
    for target in ["/?q=bad", "/%61?q=bad", "/?q=%62ad"] {
        ensure_status(&sluice, "limited.test", target, 403).await?;
    }
    ensure_status(&sluice, "limited.test", "/", 200).await?;
    for _ in 0..60 {
        let answer = sluice.get("limited.test", "/").await?;
        if answer.status == 503 {
            // What is over the limit is not let through by what the firewall says, and the other way round.
            let bad = sluice.get("limited.test", "/?q=bad").await?;
            ensure!(matches!(bad.status, 403 | 503), "{bad:?}");
            return sluice.stop();
        }
        ensure!(answer.status == 200, "{answer:?}");
    }
    bail!("60 requests of a second were within the limit")
}

async fn rules_of_a_snippet_hold_for_its_paths(plane: Plane) -> Result<()> {
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
        r#"SecRule ARGS:c "@rx (?i)\x3cscript[\x22\x27\x3E]" "id:5,phase:2,deny""#,
    ]
    .join("\n")
    .replace('\\', "\\\\");
    let own: Annotations<'_> = &[
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", &rules),
    ];
    let (_fixture, options) = site(&[], &[("own.test", own)]).await?;
    let sluice = start(plane.on(options)).await?;
    ensure_status(&sluice, "own.test", "/?q=bad", 418).await?;
    ensure_status(&sluice, HOST, "/?q=bad", 200).await?;
    ensure_status(&sluice, "own.test", "/?a=x", 200).await?;
    ensure_status(&sluice, "own.test", "/?a=x&b=Y", 403).await?;
    for (argument, status) in [
        ("%3CSCRIPT%27", 403),
        ("%3Cscript%3E", 403),
        ("script%3E", 200),
    ] {
        ensure_status(&sluice, "own.test", &format!("/?c={argument}"), status).await?;
    }
    let agent = |agent: &str| Request::get("own.test", "/").header("user-agent", agent);
    let evil = http::send(sluice.http(), &agent("\"evil1%")).await?;
    ensure!(evil.status == 403, "{evil:?}");
    let good = http::send(sluice.http(), &agent("evil1")).await?;
    ensure!(good.status == 200, "{good:?}");
    for (length, is_served) in [(1000, true), (3000, false)] {
        let answer = http::send(sluice.http(), &form("own.test", length)).await?;
        ensure!((answer.status == 200) == is_served, "{length}: {answer:?}");
    }
    let bad = form("own.test", 0).body("b=y&a=x");
    let answer = http::send(sluice.http(), &bad).await?;
    ensure!(answer.status == 403, "a body: {answer:?}");
    sluice.stop()
}

async fn the_configmap_is_for_all_that_do_not_switch_it_off(plane: Plane) -> Result<()> {
    let off: Annotations<'_> = &[("enable-modsecurity", "false")];
    let exempt: Annotations<'_> = &[("modsecurity-snippet", "SecRuleRemoveByTag OWASP_CRS")];
    let settings = [
        ("enable-modsecurity", "true"),
        ("enable-owasp-modsecurity-crs", "true"),
        (
            "modsecurity-snippet",
            "SecRuleEngine On\nSecAuditLog /dev/stdout\nSecAuditEngine RelevantOnly",
        ),
    ];
    let hosts = [("off.test", off), ("exempt.test", exempt), (OTHER, &[])];
    let (_fixture, options) = site(&settings, &hosts).await?;
    let sluice = start(plane.on(options)).await?;
    for host in [HOST, OTHER] {
        ensure_status(&sluice, host, ATTACK, 403).await?;
        ensure_status(&sluice, host, "/", 200).await?;
    }
    for host in ["off.test", "exempt.test"] {
        ensure_status(&sluice, host, ATTACK, 200).await?;
    }
    sluice.stop()
}

/// The engine refuses an id that the core rules have.
async fn rules_that_the_engine_refuses_close_their_own_paths_only(plane: Plane) -> Result<()> {
    let (fixture, options) = site(&[], &[("good.test", WITH_CORE_RULES)]).await?;
    let sluice = start(plane.on(options)).await?;
    ensure_status(&sluice, "good.test", ATTACK, 403).await?;
    let refused = "SecRuleEngine On\nSecRule ARGS:q \"@streq bad\" \"id:901100,phase:1,deny\"";
    let bad: Annotations<'_> = &[
        ("enable-modsecurity", "true"),
        ("enable-owasp-core-rules", "true"),
        ("modsecurity-snippet", refused),
    ];
    fixture.manifests.ingress(&ingress("bad.test", bad))?;
    fixture.manifests.ingress(&ingress("later.test", &[]))?;
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
    let is_reported = async || ensure_logged(&sluice, "901100", "default/bad-test").ok();
    wait::until("the report", is_reported)
        .await
        .with_context(|| sluice.log().tail())?;
    sluice.stop()
}

pub(crate) fn ensure_logged(sluice: &Sluice, one: &str, other: &str) -> Result<()> {
    let lines = sluice.log().lines();
    ensure!(
        lines
            .iter()
            .any(|line| line.contains(one) && line.contains(other)),
        "{}",
        sluice.log().tail()
    );
    Ok(())
}

/// Redirects are behind the firewall, limits of bodies are in front of it.
async fn redirects_and_bodies_pass_a_firewall_unchanged(plane: Plane) -> Result<()> {
    let redirects: Annotations<'_> = &[
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", DENIES_BAD),
        ("permanent-redirect", "https://elsewhere.test/"),
    ];
    let detects: Annotations<'_> = &[("enable-modsecurity", "true")];
    let hosts = [("moved.test", redirects), ("detects.test", detects)];
    let (_fixture, options) = site(&[], &hosts).await?;
    let sluice = start(plane.on(options)).await?;
    ensure_status(&sluice, "moved.test", "/", 301).await?;
    ensure_status(&sluice, "moved.test", "/?q=bad", 403).await?;
    let answer = http::send(sluice.http(), &form("detects.test", 100_000)).await?;
    ensure!(answer.status == 200, "{answer:?}");
    let answer = http::send(sluice.http(), &form("detects.test", 2_000_000)).await?;
    ensure!(answer.status == 413, "beyond proxy-body-size: {answer:?}");
    sluice.stop()
}
