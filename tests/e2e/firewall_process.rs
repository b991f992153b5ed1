//! The process that looks at requests for Envoy: its life, what it sees of long bodies, and who reaches it.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use sluice_tests::data_plane::{Authority, CONTROLLER, DataPlane};
use sluice_tests::http;
use sluice_tests::ports::Port;
use sluice_tests::sluice::{self, Sluice};
use sluice_tests::{proc, process, wait};

use crate::firewall::{
    ATTACK, Annotations, DENIES_BAD, OTHER, SWITCHED_ON, WITH_CORE_RULES, ensure_logged,
    ensure_status, form, site, start,
};
use crate::fixture::HOST;

/// Of a longer body than rules look at, the rest goes by where they say so; else none of it does.
#[tokio::test]
async fn a_long_body_is_looked_at_as_far_as_rules_say() -> Result<()> {
    let rules = |action: &str| {
        let limits = "SecRequestBodyLimit 1500000\nSecRequestBodyNoFilesLimit 1500000";
        format!(
            "{SWITCHED_ON}\nSecRequestBodyAccess On\n{limits}\nSecRequestBodyLimitAction {action}"
        )
    };
    let (rejects, partial) = (rules("Reject"), rules("ProcessPartial"));
    let with = |rules| {
        [
            ("enable-modsecurity", "true"),
            ("modsecurity-snippet", rules),
            ("proxy-body-size", "8m"),
        ]
    };
    let (rejects, partial) = (with(rejects.as_str()), with(partial.as_str()));
    let hosts = [("rejects.test", &rejects[..]), ("partial.test", &partial)];
    let (_fixture, options) = site(&[], &hosts).await?;
    let sluice = start(options).await?;
    for (host, length, status) in [
        ("rejects.test", 1_400_000, 200),
        ("rejects.test", 1_600_000, 403),
        ("rejects.test", 6_000_000, 403),
        ("partial.test", 1_600_000, 200),
        ("partial.test", 6_000_000, 200),
    ] {
        let answer = http::send(sluice.http(), &form(host, length)).await?;
        ensure!(
            answer.status == status,
            "{host}, {length} bytes: {}",
            answer.status
        );
    }
    sluice.stop()
}

/// The engine opens its audit log by name: in a file of its own position lines would be lost to whoever else writes there.
#[tokio::test]
async fn no_line_of_the_audit_log_is_lost_in_a_regular_file() -> Result<()> {
    const REQUESTS: usize = 12;
    let rules = format!("{DENIES_BAD}\nSecAuditEngine On");
    let rules = [
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", rules.as_str()),
    ];
    let (_fixture, options) = site(&[], &[("own.test", &rules[..])]).await?;
    let file = tempfile::NamedTempFile::new()?;
    let sluice = start(
        options
            .arguments(vec!["--access-log".to_owned()])
            .output(file.reopen()?),
    )
    .await?;
    for _ in 0..REQUESTS {
        ensure_status(&sluice, "own.test", "/?q=bad", 403).await?;
    }
    let all = async || {
        let text = fs::read_to_string(file.path()).ok()?;
        let count = |part: &str| text.lines().filter(|line| line.contains(part)).count();
        let (audited, accessed) = (
            count("\"transaction\""),
            count("\"GET /?q=bad HTTP/1.1\" 403"),
        );
        (audited == REQUESTS && accessed == REQUESTS).then_some(())
    };
    let seen = wait::until("all lines of both logs", all).await;
    seen.with_context(|| fs::read_to_string(file.path()).unwrap_or_default())?;
    sluice.stop()
}

/// Without its process nothing is let through, and everybody else is served.
#[tokio::test]
async fn a_firewall_whose_process_is_killed_lets_nothing_through_and_comes_back() -> Result<()> {
    let rules: Annotations<'_> = &[
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", DENIES_BAD),
    ];
    let (_fixture, options) = site(&[], &[("own.test", rules)]).await?;
    let sluice = start(options).await?;
    ensure_status(&sluice, "own.test", "/?q=bad", 403).await?;
    let first = firewall_of(&sluice).context("no process")?;
    process::signal_by_name(first, "STOP")?;
    let (stopped, _) = tokio::join!(sluice.get("own.test", "/?q=bad"), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        process::kill(first);
    });
    // Where it came late, it met the next process.
    let stopped = stopped?.status;
    ensure!(
        matches!(stopped, 403 | 503),
        "while it was looked at: {stopped}"
    );
    for _ in 0..20 {
        let answer = sluice.get("own.test", "/?q=bad").await?;
        ensure!([403, 503].contains(&answer.status), "{answer:?}");
        ensure_status(&sluice, HOST, "/?q=bad", 200).await?;
    }
    sluice.wait_for_status("own.test", "/", 200).await?;
    ensure_status(&sluice, "own.test", "/?q=bad", 403).await?;
    ensure!(firewall_of(&sluice) != Some(first), "another one");
    sluice.stop()
}

fn firewall_of(sluice: &Sluice) -> Option<u32> {
    let mut children = proc::children(sluice.pid()).into_iter();
    children.find(|pid| proc::name(*pid).is_some_and(|name| name.contains("sluice")))
}

/// Paths whose rules only detect are served without them. The owner is told what to install.
#[tokio::test]
async fn without_the_library_what_may_reject_is_closed() -> Result<()> {
    let rejects: Annotations<'_> = &[
        ("enable-modsecurity", "true"),
        ("modsecurity-snippet", DENIES_BAD),
    ];
    let detects: Annotations<'_> = &[("enable-modsecurity", "true")];
    let hosts = [("rejects.test", rejects), ("detects.test", detects)];
    let (_fixture, options) = site(&[], &hosts).await?;
    let sluice = start(options.environment("MODSECURITY_LIBRARY", "/nonexistent.so")).await?;
    ensure_status(&sluice, "rejects.test", "/", 503).await?;
    ensure_status(&sluice, "detects.test", "/", 200).await?;
    ensure_logged(&sluice, "default/rejects-test", "libmodsecurity3")?;
    ensure_logged(&sluice, "default/detects-test", "is served without")?;
    sluice.stop()
}

/// A data plane on another machine reaches the firewall where it reaches the controller.
#[tokio::test]
async fn a_data_plane_elsewhere_has_the_firewall_of_its_controller() -> Result<()> {
    let (_fixture, options) = site(&[], &[("on.test", WITH_CORE_RULES)]).await?;
    let (authority, http, xds) = (Authority::new()?, Port::reserve()?, Port::reserve()?);
    let identity = authority.identity(CONTROLLER)?;
    let certificates = identity.folder().display().to_string();
    let options = options
        .without_data_plane()
        .http(http.addr())
        .xds(xds.addr().to_string())
        .arguments(vec!["--xds-certificates".to_owned(), certificates]);
    let mut controller = options.start().await?;
    let identity = authority.identity("data-plane")?;
    let data_plane = DataPlane::start(controller.xds().parse()?, &identity).await?;
    data_plane.ready().await?;
    sluice::wait_for_status(http.addr(), "on.test", "/", 200).await?;
    let answer = http::get(http.addr(), "on.test", ATTACK).await?;
    ensure!(
        answer.status == 403,
        "{answer:?}\n{}\n{}",
        controller.log().tail(),
        data_plane.log().tail()
    );
    controller.kill()?;
    let answer = http::get(http.addr(), "on.test", "/").await?;
    ensure!(answer.status == 503, "without its controller: {answer:?}");
    let answer = http::get(http.addr(), HOST, "/").await?;
    ensure!(answer.status == 200, "{answer:?}");
    data_plane.stop()
}

/// Nobody pays for what nobody uses.
#[tokio::test]
async fn without_a_firewall_there_is_no_process() -> Result<()> {
    let (_fixture, options) = site(&[], &[(OTHER, &[])]).await?;
    let sluice = start(options).await?;
    ensure!(firewall_of(&sluice).is_none(), "{}", sluice.log().tail());
    ensure!(!sluice.run_dir().join("firewall.sock").exists());
    sluice.stop()
}
