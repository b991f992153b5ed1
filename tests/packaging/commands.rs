//! Commands of pages that need a cluster or Docker: the real Helm takes them, and they name what there is.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use pretty_assertions::assert_eq;
use serde_json::Value;
use sluice_tests::artifacts::{self, repository};

use crate::chart::{documents, objects, read_yaml};

const QUICKSTART: &str = "docs/quickstart.md";
/// Pages with commands, and the folder that each is about.
const PAGES: [(&str, &str); 4] = [
    (QUICKSTART, ""),
    ("docs/install.md", ""),
    ("docs/migration.md", ""),
    (
        "controller/deploy/helm/sluice/README.md",
        "controller/deploy/helm/sluice",
    ),
];

/// The lines of a page that begin with these words, those that a backslash continues joined.
fn commands(page: &str, begin: &str) -> Result<Vec<Vec<String>>> {
    let text = fs::read_to_string(repository().join(page)).with_context(|| page.to_owned())?;
    let text = text.replace("\\\n", " ");
    let lines = text.lines().map(str::trim);
    let found = lines.filter(|line| line.starts_with(begin));
    Ok(found
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect())
}

fn one_command(begin: &str) -> Result<Vec<String>> {
    let mut found = commands(QUICKSTART, begin)?;
    ensure!(found.len() == 1, "{QUICKSTART}: {begin}: {found:?}");
    found.pop().context("no command")
}

fn after<'a>(words: &'a [String], flag: &str) -> Result<&'a str> {
    let at = words.iter().position(|word| word == flag);
    let value = at.and_then(|at| words.get(at + 1));
    value
        .map(String::as_str)
        .with_context(|| format!("{words:?}: no {flag}"))
}

/// Objects that an installation would make. Files of the reader's own are empty.
fn rendered(install: &[String], folder: &Path) -> Result<Vec<Value>> {
    let home = tempfile::tempdir()?;
    let mut command = Command::new(artifacts::helm()?);
    command
        .current_dir(folder)
        .env("HOME", home.path())
        .arg("template");
    for word in &install[2..] {
        let is_theirs = word.ends_with(".yaml") && !folder.join(word).exists();
        command.arg(if is_theirs { "/dev/null" } else { word });
    }
    let output = command.output().context("helm")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{install:?}: {error}");
    documents(&String::from_utf8(output.stdout)?)
}

#[test]
fn helm_takes_the_documented_installations() -> Result<()> {
    let mut taken = 0;
    for (page, folder) in PAGES {
        for install in commands(page, "helm install ")? {
            let objects = rendered(&install, &repository().join(folder)).context(page)?;
            ensure!(objects.len() > 10, "{page}: {install:?}");
            taken += 1;
        }
    }
    ensure!(taken > 3, "{taken} commands");
    Ok(())
}

/// Values that a page has in a block: the chart takes them as they stand.
#[test]
fn chart_takes_the_documented_values() -> Result<()> {
    let page = fs::read_to_string(repository().join("docs/install.md"))?;
    let mut blocks = page.split("```yaml\n").skip(1).peekable();
    ensure!(blocks.peek().is_some(), "no block of values");
    for block in blocks {
        let (text, _) = block.split_once("```").context("no end")?;
        let values: Value = serde_saphyr::from_str(text).context(text.to_owned())?;
        ensure!(objects(&values)?.len() > 10, "{text}");
    }
    Ok(())
}

/// Tags of the images that the quickstart builds.
fn built() -> Result<BTreeSet<String>> {
    let build = one_command("cargo xtask image ")?;
    let tags = build[3..].iter().map(|image| tag(image));
    Ok(tags.collect())
}

fn tag(image: &str) -> String {
    format!("sluice/{image}:{}", env!("CARGO_PKG_VERSION"))
}

#[test]
fn quickstart_runs_the_images_that_it_builds_on_the_ports_that_it_asks() -> Result<()> {
    let objects = rendered(&one_command("helm install ")?, repository())?;
    let pods = objects
        .iter()
        .map(|object| &object["spec"]["template"]["spec"]["containers"]);
    let images = pods.filter_map(|containers| containers[0]["image"].as_str());
    assert_eq!(images.map(str::to_owned).collect::<BTreeSet<_>>(), built()?);
    let loads = commands(QUICKSTART, "kind load image-archive ")?;
    let archives = loads.iter().map(|load| Path::new(&load[3]).file_stem());
    let loaded = archives.map(|stem| Some(tag(stem?.to_str()?)));
    assert_eq!(loaded.collect::<Option<BTreeSet<_>>>(), Some(built()?));

    let create = one_command("kind create cluster ")?;
    let cluster = read_yaml(&repository().join(after(&create, "--config")?))?;
    for load in &loads {
        ensure!(cluster["name"] == after(load, "--name")?, "{cluster}");
    }
    let mapped = &cluster["nodes"][0]["extraPortMappings"];
    let is_public = |object: &&Value| object["spec"]["type"] == "NodePort";
    let service = objects.iter().find(is_public).context("no NodePort")?;
    for (index, name) in ["http", "https"].iter().enumerate() {
        let ports = service["spec"]["ports"].as_array().context("no ports")?;
        let port = ports.iter().find(|port| port["name"] == *name);
        let port = &port.with_context(|| format!("no {name}"))?["nodePort"];
        ensure!(mapped[index]["containerPort"] == *port, "{name}: {mapped}");
    }
    let page = fs::read_to_string(repository().join(QUICKSTART))?;
    for (index, address) in ["http://127.0.0.1:", "https://hello.localhost:"]
        .iter()
        .enumerate()
    {
        let asked = format!("{address}{}/hostname", mapped[index]["hostPort"]);
        ensure!(page.contains(&asked), "{QUICKSTART} does not ask {asked}");
    }
    Ok(())
}

#[test]
fn application_of_the_quickstart_works_unchanged_in_that_cluster() -> Result<()> {
    let apply = one_command("kubectl apply ")?;
    let path = repository().join(after(&apply, "-f")?);
    let application = fs::read_to_string(path)?;
    let objects = rendered(&one_command("helm install ")?, repository())?;
    let classes = objects
        .iter()
        .filter(|object| object["kind"] == "IngressClass");
    let classes: String = classes.map(|class| format!("---\n{class}\n")).collect();
    let mut lint = Command::new(artifacts::sluice()?);
    lint.args(["lint", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut lint = lint.spawn()?;
    let mut input = lint.stdin.take().context("stdin")?;
    input.write_all(format!("{application}{classes}").as_bytes())?;
    drop(input);
    let output = lint.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(said.contains("1 Ingress: 1 works unchanged"), "{said}");

    let objects = documents(&application)?;
    let of = |kind: &str| {
        let found = objects.iter().find(|object| object["kind"] == kind);
        found
            .map(|object| &object["spec"])
            .with_context(|| format!("no {kind}"))
    };
    let (pods, service) = (&of("Deployment")?["template"], of("Service")?);
    assert_eq!(pods["metadata"]["labels"], service["selector"]);
    assert_eq!(
        pods["spec"]["containers"][0]["ports"][0]["name"],
        service["ports"][0]["targetPort"]
    );
    let rule = &of("Ingress")?["rules"][0];
    let page = fs::read_to_string(repository().join(QUICKSTART))?;
    let host = rule["host"].as_str().context("no host")?;
    ensure!(page.contains(&format!("-H 'Host: {host}' http://127.0.0.1:")));
    Ok(())
}
