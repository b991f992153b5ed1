//! `sluice lint` on manifests as people write them: `tests/lint/<a-hyphenated-sentence>.yaml` and, beside it, what is said.
//!
//! `UPDATE_GOLDEN=1` writes what is said now; then read it as the owner of the manifest would.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use pretty_assertions::StrComparison;
use sluice_tests::artifacts;

#[test]
fn every_manifest_is_judged_as_written() -> Result<()> {
    let folder = artifacts::repository().join("tests/lint");
    let files = fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<PathBuf>>>()?;
    let mut cases: Vec<PathBuf> = files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .collect();
    cases.sort();
    ensure!(!cases.is_empty(), "no case in {}", folder.display());
    let mut failures = String::new();
    for case in &cases {
        let said = lint(case).with_context(|| case.display().to_string())?;
        let expected = case.with_extension("txt");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&expected, &said)?;
        } else {
            let expected = fs::read_to_string(&expected).unwrap_or_default();
            if expected != said {
                failures += &format!(
                    "{}:\n{}\n",
                    case.display(),
                    StrComparison::new(&expected, &said)
                );
            }
        }
    }
    ensure!(
        failures.is_empty(),
        "{failures}\nUPDATE_GOLDEN=1 accepts what is said now"
    );
    Ok(())
}

/// The output on the terminal, and the exit code.
fn lint(manifest: &Path) -> Result<String> {
    // The folder of the repository must not be part of what is said.
    let folder = manifest.parent().context("folder")?;
    let name = manifest.file_name().context("name")?;
    let done = Command::new(artifacts::sluice()?)
        .current_dir(folder)
        .arg("lint")
        .arg("--manifests")
        .arg(name)
        .output()?;
    ensure!(
        done.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    Ok(format!(
        "{}exit code {}\n",
        String::from_utf8(done.stdout)?,
        done.status.code().context("exit code")?
    ))
}

/// In the folder of the cases.
fn run(arguments: &[&str], stdin: Option<&str>) -> Result<Output> {
    let mut command = Command::new(artifacts::sluice()?);
    command
        .current_dir(artifacts::repository().join("tests/lint"))
        .env_remove("KUBECONFIG")
        .env_remove("NO_COLOR")
        .arg("lint")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut input = child.stdin.take().context("stdin")?;
    // A child that has ended reads nothing.
    input.write_all(stdin.unwrap_or_default().as_bytes()).ok();
    drop(input);
    Ok(child.wait_with_output()?)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const NUMBER: &str = "a-number-with-a-unit-is-ignored-and-named.yaml";
const SECOND: &str = "the-second-of-two-with-the-same-path-gets-nothing-as-before.yaml";

#[test]
fn files_folders_and_standard_input_are_checked_together() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::copy(
        artifacts::repository().join("tests/lint").join(SECOND),
        folder.path().join("in.yaml"),
    )?;
    let path = folder.path().display().to_string();
    let ingress = "kind: Ingress\napiVersion: networking.k8s.io/v1\nmetadata: {name: piped}\n";
    let done = run(&["--manifests", NUMBER, &path, "-"], Some(ingress))?;
    let said = text(&done.stdout);
    for part in [
        format!("default/orderer  works with differences  ({NUMBER}:1)"),
        format!("default/blue     works unchanged  ({path}/in.yaml:"),
        "default/piped    does not work  (stdin:1)".to_owned(),
        format!("warning  {NUMBER}:5: annotation proxy-connect-timeout: "),
    ] {
        ensure!(said.contains(&part), "{part}: {said}");
    }
    ensure!(done.status.code() == Some(1), "{done:?}");
    Ok(())
}

#[test]
fn a_command_line_that_names_nothing_or_two_sources_is_refused() -> Result<()> {
    for (arguments, stdin, reason) in [
        (vec!["no.yaml"], "", "no.yaml: no such file or folder"),
        (vec!["-"], "", "standard input: no manifests in it"),
        (
            vec![],
            "",
            "nothing to check: give a PATH, or --source kube",
        ),
        (
            vec![NUMBER, "--source", "kube"],
            "",
            "PATH cannot be combined with a cluster",
        ),
        (
            vec![NUMBER, "--kubeconfig", "k"],
            "",
            "PATH cannot be combined with a cluster",
        ),
        (
            vec!["-", "--apiserver-host", "http://h"],
            "",
            "PATH cannot be combined with a cluster",
        ),
    ] {
        let done = run(&arguments, Some(stdin))?;
        let error = text(&done.stderr);
        ensure!(error.contains(reason), "{arguments:?}: {error}");
        ensure!(!done.status.success() && done.stdout.is_empty(), "{done:?}");
    }
    Ok(())
}

#[test]
fn the_exit_code_follows_fail_on() -> Result<()> {
    const WRONG: &str = "a-host-that-was-never-filled-in-is-not-served.yaml";
    for (file, fail_on, code) in [
        (WRONG, "error", 1),
        (WRONG, "never", 0),
        (NUMBER, "error", 0),
        (NUMBER, "warning", 1),
        (SECOND, "warning", 0),
        (SECOND, "note", 1),
    ] {
        let done = run(&[file, "--fail-on", fail_on], None)?;
        let found = done.status.code();
        ensure!(found == Some(code), "{file} {fail_on}: {found:?}");
    }
    Ok(())
}

#[test]
fn a_template_fails_by_name_and_not_in_a_folder() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("ingress.yaml");
    let manifest = fs::read_to_string(artifacts::repository().join("tests/lint").join(SECOND))?;
    fs::write(
        &file,
        format!("{manifest}---\nkind: Ingress\nmetadata: {{name: {{{{ .x }}}}}}\n"),
    )?;
    for (path, code, severity) in [(folder.path(), 0, "note"), (file.as_path(), 1, "error")] {
        let done = run(&[&path.display().to_string()], None)?;
        let said = text(&done.stdout);
        ensure!(done.status.code() == Some(code), "{done:?}");
        let line = format!("{severity}: {}:", file.display());
        ensure!(
            said.contains(&line) && said.contains("; 1 unreadable"),
            "{said}"
        );
    }
    Ok(())
}

#[test]
fn output_without_a_terminal_has_colours_only_when_asked_for() -> Result<()> {
    let has = |arguments: &[&str]| {
        let done = run(&[&[NUMBER], arguments].concat(), None)?;
        anyhow::Ok(text(&done.stdout).contains('\u{1b}'))
    };
    ensure!(!has(&[])?);
    ensure!(!has(&["--color", "never"])?);
    ensure!(has(&["--color", "always"])?);
    ensure!(!has(&["--color", "always", "-o", "sarif"])?);
    Ok(())
}

#[test]
fn programs_read_json_sarif_and_workflow_commands() -> Result<()> {
    let said = |output| anyhow::Ok(text(&run(&[NUMBER, "-o", output], None)?.stdout));
    let json: serde_json::Value = serde_json::from_str(&said("json")?)?;
    let remark = &json["ingresses"][0]["remarks"][0];
    ensure!(remark["file"] == NUMBER && remark["line"] == 5, "{json:#}");
    let sarif: serde_json::Value = serde_json::from_str(&said("sarif")?)?;
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    ensure!(place["artifactLocation"]["uri"] == NUMBER, "{sarif:#}");
    ensure!(place["region"]["startLine"] == 5, "{sarif:#}");
    let github = said("github")?;
    let command = format!(
        "::warning file={NUMBER},line=5,title=Ingress default/orderer::annotation proxy-connect-timeout: "
    );
    ensure!(github.starts_with(&command), "{github}");
    Ok(())
}

/// A port that nobody listens on, and one where a connection is taken and never answered.
#[test]
fn an_api_server_that_is_dead_is_an_error_with_its_address() -> Result<()> {
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.local_addr()?
    };
    for address in [closed, silent.local_addr()?] {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{address}");
            let begin = Instant::now();
            let done = run(&["--source", "kube", "--apiserver-host", &url], None)?;
            let error = text(&done.stderr);
            ensure!(begin.elapsed() < Duration::from_secs(10), "{url}: {error}");
            ensure!(done.status.code() == Some(1), "{url}: {done:?}");
            ensure!(error.contains(&format!("API server {url}")), "{error}");
            ensure!(error.lines().count() == 1, "{error}");
        }
    }
    Ok(())
}
