//! Hostile text in an Ingress breaks only that Ingress.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use sluice_tests::artifacts;
use sluice_tests::hostile::{TEXTS, ingresses};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::sluice::{Options, Sluice};
use sluice_translate::global::KEYS;

use crate::fixture::{Fixture, HOST};

fn write_hostile(manifests: &Manifests) -> Result<usize> {
    let all = ingresses("web");
    let documents: Vec<String> = all
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<_, _>>()?;
    manifests.write("hostile.yaml", &documents.join("\n---\n"))?;
    Ok(all.len())
}

/// Envoy took everything that it was sent.
fn ensure_no_nacks(sluice: &Sluice) -> Result<()> {
    let refusals: Vec<String> = sluice
        .log()
        .lines()
        .into_iter()
        .filter(|line| line.contains("NACK"))
        .collect();
    ensure!(refusals.is_empty(), "{}", refusals.join("\n"));
    Ok(())
}

#[tokio::test]
async fn hostile_ingress_text_never_causes_a_nack() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let count = write_hostile(&fixture.manifests)?;
    ensure!(count > 1000, "{count}");
    let sluice = Sluice::start(&fixture.manifests).await?;
    ensure!(sluice.get(HOST, "/").await?.pod() == Some("web-0"));
    // Routes that come after all those are taken, too.
    fixture.manifests.ingress(
        &Ingress::new("default", "late")
            .host("late.test")
            .path("/", "web", 80),
    )?;
    sluice.wait_for_pod("late.test", "web-0").await?;
    ensure_no_nacks(&sluice)?;
    sluice.stop()
}

#[tokio::test]
async fn hostile_configmap_text_never_causes_a_nack() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let flags = ["--configmap", "default/settings"]
        .map(str::to_owned)
        .into();
    let sluice = Options::new(&fixture.manifests)
        .arguments(flags)
        .start()
        .await?;
    for (number, text) in TEXTS.iter().enumerate() {
        let data: Map<String, Value> = KEYS
            .iter()
            .map(|key| (key.name.to_owned(), json!(text)))
            .collect();
        let metadata = json!({"name": "settings", "namespace": "default"});
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
        fixture.manifests.object(&map)?;
        let (name, host) = (format!("probe-{number}"), format!("probe-{number}.test"));
        fixture.manifests.ingress(
            &Ingress::new("default", &name)
                .host(&host)
                .path("/", "web", 80),
        )?;
        // Whatever it answers, it has the route: what guards access and cannot be read closes it.
        let answers = async || {
            sluice
                .get(&host, "/")
                .await
                .ok()
                .filter(|answer| answer.status != 404)
        };
        sluice_tests::wait::until(&format!("an answer in spite of {text:?}"), answers).await?;
        ensure_no_nacks(&sluice).with_context(|| format!("{text:?}"))?;
    }
    sluice.stop()
}

#[test]
fn hostile_text_never_becomes_an_nginx_directive() -> Result<()> {
    for host in ["sluice", "kong"] {
        let manifests = Manifests::new()?;
        manifests.service("default", "web", 80, &["10.0.0.1:80".parse()?])?;
        let benign = directives(&render(&manifests, host)?);
        ensure!(benign.contains("server_name"), "{benign:?}");
        write_hostile(&manifests)?;
        let config = render(&manifests, host)?;
        ensure!(config.contains("h1.hostile.test"), "no Ingress is in it");
        let is_evil = |name: &String| !is_directive(name) || name.contains("evil");
        let evil: Vec<String> = directives(&config).into_iter().filter(is_evil).collect();
        ensure!(evil.is_empty(), "{host}: {evil:?}");
    }
    Ok(())
}

fn render(manifests: &Manifests, host: &str) -> Result<String> {
    let out = tempfile::tempdir()?;
    let mut render = Command::new(artifacts::sluice()?);
    render
        .arg("render")
        .arg("--manifests")
        .arg(manifests.dir())
        .arg("--out")
        .arg(out.path());
    let done = render.args(["--nginx-host", host]).output()?;
    ensure!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    fs::read_to_string(out.path().join("nginx.conf")).context("nginx.conf")
}

fn is_directive(name: &str) -> bool {
    name.bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// The first word of every statement, as nginx reads words: quotes, backslashes, comments. Blocks of `map` hold values
/// and no directives.
fn directives(config: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let (mut words, mut word, mut quote) = (Vec::<String>::new(), String::new(), None::<char>);
    let mut blocks: Vec<String> = Vec::new();
    let mut letters = config.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (_, '\\') => word.extend(letters.next()),
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => word.push(letter),
            (None, '"' | '\'') if word.is_empty() => {
                quote = Some(letter);
                word.push('\u{1}');
            }
            (None, '#') if word.is_empty() => drop(letters.by_ref().find(|letter| *letter == '\n')),
            (None, ';' | '{' | '}') => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                let name = words.first().cloned();
                let in_map = blocks
                    .last()
                    .is_some_and(|block| block == "map" || block == "split_clients");
                names.extend(name.clone().filter(|_| !in_map));
                match letter {
                    '{' => blocks.push(name.unwrap_or_default()),
                    '}' => drop(blocks.pop()),
                    _ => {}
                }
                words.clear();
            }
            (None, letter) if letter.is_whitespace() => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            (None, letter) => word.push(letter),
        }
    }
    names
}
