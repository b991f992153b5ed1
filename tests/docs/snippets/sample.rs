//! The share of public snippets that is served: `tests/snippets`, as `sluice lint` judges it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use sluice_tests::artifacts;

/// Percent of the sample that each data plane serves at least.
const LEAST: usize = 79;
const PLANES: [&str; 2] = ["envoy", "nginx"];
const KINDS: [&str; 2] = ["configuration-snippet", "server-snippet"];

const HEAD: &str = "
## Results on public snippets

How published snippets fare where snippets are allowed. Those of known files are in `tests/snippets/corpus.yaml`. Of those that a code search
found, `tests/snippets/seen.yaml` has the forms in our own words, each counted as often as it was seen.

| snippets | number | Envoy: served | reported | closed | nginx: served | reported | closed |
|---|---|---|---|---|---|---|---|
";

const REST: &str = "
Snippets that are not fully served, and why:

| times seen | why | Envoy | nginx |
|---|---|---|---|
";

/// Snippets of one Ingress.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Found {
    /// The file that it is from.
    #[serde(rename = "source")]
    _source: Option<String>,
    #[serde(default = "once")]
    seen: usize,
    #[serde(default = "usual_host")]
    host: String,
    #[serde(default = "usual_path")]
    path: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    configuration_snippet: Option<String>,
    server_snippet: Option<String>,
}

fn once() -> usize {
    1
}

fn usual_host() -> String {
    "shop.test".to_owned()
}

fn usual_path() -> String {
    "/".to_owned()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Served,
    Reported,
    Closed,
}

/// Outcome for a snippet, and the reason.
type Verdict = (Outcome, String);

/// How often one reason was seen, and what it comes to on each data plane.
type Reasons = BTreeMap<String, (usize, [Option<Outcome>; 2])>;

pub fn section() -> Result<String> {
    let mut page = HEAD.to_owned();
    let mut reasons = Reasons::new();
    let mut totals = [0; 7];
    for (title, file) in [("of known files", "corpus"), ("found by a search", "seen")] {
        let counts = judge(file, &mut reasons)?;
        for (total, count) in totals.iter_mut().zip(counts) {
            *total += count;
        }
        write_row(&mut page, title, counts)?;
    }
    write_row(&mut page, "all", totals)?;
    for (plane, served) in PLANES.iter().zip([totals[1], totals[4]]) {
        let least = totals[0] * LEAST;
        ensure!(
            served * 100 >= least,
            "{plane} serves {served} of {} snippets",
            totals[0]
        );
    }
    page += REST;
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by(|(a, (of_a, _)), (b, (of_b, _))| of_b.cmp(of_a).then(a.cmp(b)));
    for (reason, (seen, outcomes)) in reasons {
        let [envoy, nginx] = outcomes.map(|it| match it {
            None | Some(Outcome::Served) => "served",
            Some(Outcome::Reported) => "reported",
            Some(Outcome::Closed) => "closed",
        });
        writeln!(page, "| {seen} | {reason} | {envoy} | {nginx} |")?;
    }
    Ok(page)
}

fn write_row(page: &mut String, title: &str, counts: [usize; 7]) -> Result<()> {
    let [all, envoy, of_envoy @ .., _, _, _] = counts;
    let [_, _, _, _, nginx, of_nginx @ ..] = counts;
    let share = |served: usize| format!("{served} ({} %)", served * 100 / all.max(1));
    let rest = |[reported, closed]: [usize; 2]| format!("{reported} | {closed}");
    writeln!(
        page,
        "| {title} | {all} | {} | {} | {} | {} |",
        share(envoy),
        rest(of_envoy),
        share(nginx),
        rest(of_nginx)
    )?;
    Ok(())
}

/// The number of snippets in a file, and of each outcome on each data plane.
fn judge(file: &str, reasons: &mut Reasons) -> Result<[usize; 7]> {
    let path = artifacts::repository().join(format!("tests/snippets/{file}.yaml"));
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let all: Vec<Found> = serde_saphyr::from_str(&text).context(file.to_owned())?;
    let mut counts = [0; 7];
    for (which, plane) in PLANES.iter().enumerate() {
        let verdicts = lint(&all, plane)?;
        counts[0] = 0;
        for (found, verdicts) in all.iter().zip(verdicts) {
            let written = [&found.configuration_snippet, &found.server_snippet];
            for (_, (outcome, reason)) in
                written.iter().zip(verdicts).filter(|(it, _)| it.is_some())
            {
                counts[0] += found.seen;
                counts[1 + 3 * which + outcome as usize] += found.seen;
                if outcome != Outcome::Served {
                    let (seen, outcomes) = reasons.entry(reason).or_default();
                    let of_another_plane = outcomes[1 - which].is_some();
                    if which == 0 || !of_another_plane {
                        *seen += found.seen;
                    }
                    outcomes[which] = Some(outcome);
                }
            }
        }
    }
    Ok(counts)
}

/// Verdicts of `sluice lint` on the snippets of each Ingress.
fn lint(all: &[Found], plane: &str) -> Result<Vec<[Verdict; 2]>> {
    let folder = tempfile::tempdir()?;
    let manifests = folder.path().join("in.yaml");
    let config_map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf", "namespace": "conf"},
        "data": {"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"},
    });
    let ingresses = all.iter().enumerate().map(|(id, found)| ingress(id, found));
    let ingresses = ingresses.chain((0..all.len()).map(passwords));
    let documents = std::iter::once(config_map).chain(ingresses);
    let documents: Vec<String> = documents.map(|document| document.to_string()).collect();
    fs::write(&manifests, documents.join("\n---\n"))?;
    let done = Command::new(artifacts::sluice()?)
        .args(["lint", "-o", "json", "--configmap", "conf/conf"])
        .args(["--data-plane", plane])
        .arg(&manifests)
        .output()?;
    let said: Value = serde_json::from_slice(&done.stdout)
        .with_context(|| String::from_utf8_lossy(&done.stderr).into_owned())?;
    let said = said["ingresses"].as_array().context("ingresses")?;
    let verdicts = (0..all.len()).map(|id| {
        let name = format!("n{id}/n{id}");
        let mut found = said.iter().filter(|it| it["ingress"] == name.as_str());
        let remarks = found.next().and_then(|it| it["remarks"].as_array());
        let remarks = remarks.with_context(|| format!("{name} is not judged"))?;
        Ok(KINDS.map(|kind| verdict(remarks, kind)))
    });
    verdicts.collect()
}

fn verdict(remarks: &[Value], kind: &str) -> Verdict {
    let field = format!("annotation {kind}");
    let refused = remarks
        .iter()
        .find(|it| it["field"] == field.as_str() && it["severity"] != "note");
    let Some(refused) = refused else {
        return (Outcome::Served, String::new());
    };
    let outcome = match refused["severity"].as_str() {
        Some("error") => Outcome::Closed,
        _ => Outcome::Reported,
    };
    let text = refused["text"].as_str().unwrap_or_default();
    let reason = text
        .split("; none of the snippet")
        .next()
        .unwrap_or_default();
    // Alternatives are the same for every snippet.
    let reason = reason.split("; use ").next().unwrap_or_default();
    (outcome, reason.replace('|', "\\|"))
}

/// The Secret that `auth-secret` of an Ingress names, which a cluster has.
fn passwords(id: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "passwords", "namespace": format!("n{id}")},
        "stringData": {"auth": "ada:{PLAIN}secret\n"},
    })
}

fn ingress(id: usize, found: &Found) -> Value {
    let name = format!("n{id}");
    let written = [&found.configuration_snippet, &found.server_snippet];
    let snippets = KINDS.iter().zip(written);
    let snippets = snippets.filter_map(|(kind, text)| Some((*kind, text.as_ref()?.as_str())));
    let others = found
        .annotations
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    let annotations: BTreeMap<String, &str> = snippets
        .chain(others)
        .map(|(key, value)| (format!("nginx.ingress.kubernetes.io/{key}"), value))
        .collect();
    let is_pattern = found.path.contains('(');
    let kind = if is_pattern {
        "ImplementationSpecific"
    } else {
        "Prefix"
    };
    let host = found
        .host
        .replace("shop.test", &format!("{name}.shop.test"));
    let backend = json!({"service": {"name": "shop", "port": {"number": 80}}});
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "namespace": name, "annotations": annotations},
        "spec": {"ingressClassName": "nginx", "rules": [{"host": host, "http": {"paths": [
            {"path": found.path, "pathType": kind, "backend": backend},
        ]}}]},
    })
}
