//! R13: what is wrong with one object costs that object, and nobody else. What translation gives is what data planes take:
//! a data plane that refuses one thing takes no change of anybody any more.
//!
//! These are the rules one by one; `tests/fuzz/accepted` throws random objects at the same data planes.

mod authorities;
mod backtracking;
mod containment;
mod fastcgi;
mod headers;
mod internal_names;
mod patterns;
mod resources;

use anyhow::{Context, Result, ensure};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;
use sluice_tests::{process, wait};

use crate::setup::{OWNER, Tenants};

/// Log lines of the controller when a data plane refuses something.
const REFUSALS: &[&str] = &["NACK", "refuses the configuration"];

/// The owner's application on a host of its own.
fn neighbour(host: &str) -> Ingress {
    Ingress::new(OWNER, host).host(host).path("/", "web", 80)
}

/// The data plane still takes changes: a host that the owner adds now is served.
async fn ensure_changes_are_accepted(sluice: &Sluice, tenants: &Tenants) -> Result<()> {
    tenants.manifests.ingress(&neighbour("late.test"))?;
    sluice.wait_for_pod("late.test", OWNER).await?;
    let log = sluice.log().lines();
    let says_so = |line: &String| REFUSALS.iter().any(|text| line.contains(text));
    let refused: Vec<_> = log.into_iter().filter(says_so).collect();
    ensure!(refused.is_empty(), "{}", refused.join("\n"));
    Ok(())
}

async fn restart_data_plane(sluice: &Sluice) -> Result<()> {
    let former = sluice.data_plane_pid().context("no data plane")?;
    process::kill(former);
    let replacement = async || sluice.data_plane_pid().filter(|pid| *pid != former);
    wait::until("another data plane", replacement)
        .await
        .map(drop)
}

/// Each of these texts is in a line of the log that names the object.
fn ensure_reported(sluice: &Sluice, object: &str, texts: &[&str]) -> Result<()> {
    let lines = sluice.log().lines();
    for text in texts {
        let is_told = lines
            .iter()
            .any(|line| line.contains(object) && line.contains(text));
        ensure!(
            is_told,
            "no line with {object} and {text:?} in\n{}",
            lines.join("\n")
        );
    }
    Ok(())
}
