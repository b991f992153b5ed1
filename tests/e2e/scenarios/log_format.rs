//! `--log-format json`: every line is an object with the same fields, from the start to the end of the process.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use sluice_tests::artifacts::repository;
use sluice_tests::faults::Faults;
use sluice_tests::log::Log;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Options;

use crate::fixture::{Fixture, HOST};
use crate::scenarios::access_log;

const LEVELS: [&str; 5] = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"];

/// The objects of a log.
pub(crate) fn objects(lines: &[String]) -> Result<Vec<Map<String, Value>>> {
    lines.iter().map(|line| object(line)).collect()
}

fn object(line: &str) -> Result<Map<String, Value>> {
    let object: Map<String, Value> =
        serde_json::from_str(line).with_context(|| format!("no object: {line:?}"))?;
    for field in ["timestamp", "level", "message", "target"] {
        let is_text = object[field].as_str().is_some_and(|text| !text.is_empty());
        ensure!(is_text, "{field} of {line}");
    }
    let level = object["level"].as_str().unwrap_or_default();
    ensure!(LEVELS.contains(&level), "{line}");
    Ok(object)
}

/// True if an object has a target and a part of its message.
pub(crate) fn has(objects: &[Map<String, Value>], target: &str, part: &str) -> bool {
    objects.iter().any(|object| {
        object["target"].as_str() == Some(target)
            && object["message"]
                .as_str()
                .is_some_and(|text| text.contains(part))
    })
}

/// One Ingress is served, the others are refused; flags without effect, a file that is no manifest.
async fn site() -> Result<Fixture> {
    let fixture = Fixture::start(1, 1).await?;
    let ingress = |name: &str| Ingress::new("default", name).host(&format!("{name}.test"));
    fixture
        .manifests
        .ingress(&ingress("dangling").path("/", "no", 80))?;
    let hostile = ingress("hostile")
        .path("/", "web", 80)
        .annotation("limit-rps", "\"a\nb\u{1b}[31m\u{2028}\\");
    fixture.manifests.ingress(&hostile)?;
    fixture.manifests.write("garbage.yaml", "kind: [\n")?;
    Ok(fixture)
}

fn options(fixture: &Fixture, data_plane: &str, flags: &[&str]) -> Options {
    let flags = flags
        .iter()
        .chain(&["--log-format=json", "--status-port=1"]);
    Options::new(&fixture.manifests)
        .data_plane(data_plane)
        .arguments(flags.map(|flag| (*flag).to_owned()).collect())
}

/// Nothing is written to standard output, so the log is standard error.
pub(crate) async fn from_start_to_end(data_plane: &str) -> Result<()> {
    for verbosity in ["--v=0", "--v=5"] {
        let fixture = site().await?;
        let sluice = options(&fixture, data_plane, &[verbosity]).start().await?;
        for name in ["garbage.yaml", "dangling", "hostile"] {
            sluice.log().wait_for(name).await?;
        }
        sluice.wait_for_status(HOST, "/", 200).await?;
        sluice.signal("SIGTERM")?;
        let log = sluice.log().clone();
        let status = sluice.exit_status().await?;
        ensure!(status.success(), "{status}\n{}", log.tail());
        let objects = objects(&log.lines())?;
        ensure!(has(&objects, "sluice::run", "--status-port has no effect"));
        ensure!(has(&objects, "sluice::run", "stopping"));
        let is_verbose = verbosity == "--v=5";
        ensure!(
            has(&objects, data_plane, "") || !is_verbose,
            "{}",
            log.tail()
        );
    }
    Ok(())
}

/// The task that panics, and the error that ends the process because of it.
pub(crate) async fn of_a_panic(data_plane: &str) -> Result<()> {
    let (fixture, faults) = (site().await?, Faults::new()?);
    let options = faults.for_controller(options(&fixture, data_plane, &[]));
    let sluice = options.start().await?;
    faults.kill("names")?;
    let log: Log = sluice.log().clone();
    let status = sluice.exit_status().await?;
    ensure!(status.code() == Some(1), "{status}\n{}", log.tail());
    let objects = objects(&log.lines())?;
    ensure!(has(&objects, "panic", "injected fault"), "{}", log.tail());
    ensure!(
        has(&objects, "sluice", "task \"names\" panicked"),
        "{}",
        log.tail()
    );
    let panic = objects.iter().find(|object| object["target"] == "panic");
    let panic = panic.context("no panic")?;
    ensure!(
        panic["location"]
            .as_str()
            .is_some_and(|place| place.contains(".rs:"))
    );
    Ok(())
}

/// The example of docs/access-log.md, as a ConfigMap.
fn documented() -> Result<Value> {
    let page = fs::read_to_string(repository().join("docs/access-log.md"))?;
    let (_, example) = page.split_once("```yaml\n").context("no example")?;
    let (example, _) = example.split_once("```").context("no end")?;
    Ok(serde_saphyr::from_str(example)?)
}

/// Lines of the access log have the ConfigMap's format: JSON by the documented one, with a word of warning without. Envoy's standard error
/// is our log, in which other lines are messages.
pub(crate) async fn of_the_access_log(data_plane: &str) -> Result<()> {
    const WARNING: &str = "--log-format=json does not apply to the access log";
    for path in ["/dev/stdout", "/dev/stderr"] {
        for is_json in [true, false] {
            let fixture = Fixture::start(1, 1).await?;
            let mut settings = match is_json {
                true => documented()?,
                false => json!({}),
            };
            settings["access-log-path"] = path.into();
            access_log::config_map(&fixture.manifests, "settings", settings)?;
            let sluice =
                access_log::with_settings(&fixture, data_plane, &["--log-format=json"]).await?;
            sluice.wait_for_status(HOST, "/", 200).await?;
            ensure!(sluice.get(HOST, "/b").await?.status == 200);
            let line = sluice.log().wait_for("GET /b").await?;
            sluice.signal("SIGTERM")?;
            let log = sluice.log().clone();
            let status = sluice.exit_status().await?;
            ensure!(status.success(), "{status}\n{}", log.tail());
            let lines = log.lines();
            let (written, others): (Vec<String>, Vec<String>) =
                lines.into_iter().partition(|line| line.contains("GET /"));
            let is_wrapped = !is_json && data_plane == "envoy" && path == "/dev/stderr";
            let warnings = objects(&others)?;
            let is_warning = |it: &&Map<String, Value>| {
                it["message"]
                    .as_str()
                    .is_some_and(|it| it.contains(WARNING))
            };
            let warnings = warnings.iter().filter(is_warning).count();
            let expected = usize::from(!is_json && !is_wrapped);
            ensure!(warnings == expected, "{path} {is_json}\n{}", log.tail());
            if is_wrapped {
                objects(&written)?;
            } else {
                let parsed: Result<Value, _> = serde_json::from_str(&line);
                let parsed = parsed.ok();
                ensure!(parsed.is_some() == is_json, "{path} {line}");
                let is_documented = |it: &Value| it["status"] == 200 && it["seconds"].is_number();
                ensure!(parsed.iter().all(is_documented), "{line}");
            }
        }
    }
    Ok(())
}
