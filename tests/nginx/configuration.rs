//! Refusals of `nginx -t`, and their messages.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Result, ensure};
use sluice_tests::artifacts;
use sluice_tests::nginx::Conf;
use tempfile::TempDir;

use crate::gateway::{Form, fixed};

/// `nginx -t` refuses this, and says so.
fn ensure_rejected(http: &str, words: &str) -> Result<()> {
    let output = Conf::write("", http)?.test()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success() && stderr.contains(words),
        "expected {words:?} for\n{http}\ngot\n{stderr}"
    );
    Ok(())
}

fn filter(file: &Path) -> String {
    format!("sluice_wasm {};\n{}", file.display(), fixed("site", &[]))
}

#[test]
fn unloadable_filter_is_rejected() -> Result<()> {
    let folder = TempDir::new()?;
    let good = artifacts::compiled_filter()?;
    ensure!(Conf::write("", &filter(&good))?.test()?.status.success());
    ensure_rejected(&filter(&folder.path().join("absent")), "No such file")?;

    let wasm = artifacts::filter()?;
    ensure_rejected(
        &filter(&wasm),
        "expected what this version's sluice-compile wrote",
    )?;

    let cut = folder.path().join("cut");
    fs::write(&cut, &fs::read(&good)?[..1000])?;
    ensure_rejected(
        &filter(&cut),
        "expected what this version's sluice-compile wrote",
    )?;

    let open = folder.path().join("open");
    fs::copy(&good, &open)?;
    fs::set_permissions(&open, PermissionsExt::from_mode(0o666))?;
    ensure_rejected(&filter(&open), "must not be writable by group or others")
}

#[test]
fn configuration_rejected_by_the_filter_is_rejected_with_its_message() -> Result<()> {
    for form in [Form::BuiltIn, Form::Wasm] {
        let filter = form.directive()?;
        for configuration in ["{\"schema\":7}", "{\"schema\":1,\"host\":\"nginx\"}", "x"] {
            ensure_rejected(
                &format!("{filter} sluice_filter '{configuration}';"),
                "plugin configuration: ",
            )?;
        }
    }
    ensure_rejected(
        &format!("{} sluice_filter x;", Form::Wasm.directive()?),
        "the filter rejected its configuration",
    )?;
    // Envoy would do with this nothing that nginx does.
    let foreign = fixed("site", &[]).replace("\"nginx\"", "\"envoy\"");
    ensure_rejected(&foreign, "host: expected `nginx`")
}

#[test]
fn invalid_directives_are_rejected() -> Result<()> {
    let (wasm, filter) = (Form::Wasm.directive()?, fixed("site", &[]));
    ensure_rejected(&format!("{wasm}{wasm}"), "\"sluice_wasm\": is duplicate")?;
    ensure_rejected(
        &format!("{filter}{filter}"),
        "\"sluice_filter\": is duplicate",
    )?;
    let hosts = |path: &str| format!("location {path} {{ sluice_hosts hosts.json; }}");
    ensure_rejected(
        &format!("server {{ {} {} }}", hosts("/"), hosts("/a")),
        "\"sluice_hosts\": is duplicate",
    )?;
    ensure_rejected(
        "upstream u { server 127.0.0.1:1; sluice_peer; sluice_peer; }",
        "\"sluice_peer\": is duplicate",
    )?;
    ensure_rejected("sluice_peer;", "not allowed here")
}

#[test]
fn long_configuration_can_be_split() -> Result<()> {
    let pods: Vec<_> = (0..500)
        .map(|n: u16| ([10, 0, n.to_be_bytes()[0], n.to_be_bytes()[1]], 8080).into())
        .collect();
    let whole = fixed("site", &pods);
    let json = whole
        .trim_start_matches("sluice_filter '")
        .trim_end_matches("';");
    let parts: Vec<String> = json
        .as_bytes()
        .chunks(3000)
        .map(|part| format!("'{}'", String::from_utf8_lossy(part)))
        .collect();
    for form in [Form::BuiltIn, Form::Wasm] {
        let filter = form.directive()?;
        let split = format!("{filter}\nsluice_filter {};", parts.join("\n"));
        let output = Conf::write("", &split)?.test()?;
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        ensure_rejected(&format!("{filter}\n{whole}"), "too long parameter")?;
    }
    Ok(())
}
