//! The documentation as a site: the pages of docs/SUMMARY.md, in target/site.
//!
//! Pages are written for whoever reads them in the repository. They are copied to target/site-src, where their links are
//! those of a site (`stage.rs`), mdBook makes HTML of them, and what it made is read again (`check.rs`).

mod check;
mod links;
mod stage;

use std::env;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::setup::{Tool, tool};
use crate::step::{Step, say};
use crate::{repository, target};

const MDBOOK: Tool = Tool {
    name: "mdbook",
    version: "0.5.4",
    // Neither its server nor a watch on files.
    features: Some("search"),
};

/// `cargo xtask site`.
pub(crate) fn site() -> Result<()> {
    let mdbook = tool(&MDBOOK)?;
    let (source, site) = (target().join("site-src"), target().join("site"));
    let origin = origin();
    let step = Step::start("pages of the site");
    let pages = stage::book(&source, &blobs(origin.as_deref()))?;
    step.done();

    let mut step = Step::start("mdbook build");
    if site.is_dir() {
        fs::remove_dir_all(&site).with_context(|| site.display().to_string())?;
    }
    let mut build = Command::new(mdbook);
    build.arg("build").arg(&source).arg("--dest-dir").arg(&site);
    if let Some(origin) = &origin {
        build.env("MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL", origin);
    }
    let (status, output) = step.capture(&mut build)?;
    let is_clean = !output.contains("WARN") && !output.contains("ERROR");
    ensure!(status.success() && is_clean, "mdbook build: {output}");
    step.done();

    let step = Step::start("links of the site");
    check::site(&site, pages)?;
    step.done();
    say(&format!("\n  {}", site.join("index.html").display()));
    Ok(())
}

/// The repository's address, where a workflow of GitHub builds the site.
fn origin() -> Option<String> {
    let server = env::var("GITHUB_SERVER_URL").ok()?;
    let repository = env::var("GITHUB_REPOSITORY").ok()?;
    Some(format!("{server}/{repository}"))
}

/// Files that are no pages: in the repository as it was at this commit, elsewhere those on this machine.
fn blobs(origin: Option<&str>) -> String {
    match (origin, env::var("GITHUB_SHA")) {
        (Some(origin), Ok(commit)) => format!("{origin}/blob/{commit}"),
        _ => format!("file://{}", repository().display()),
    }
}
