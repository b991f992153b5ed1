//! Plays the cases of a file, a few at a time.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::{self, JoinSet};

use super::file::{CaseFile, Form};
use super::{Outcome, Played, Summary, balancers, ingress};

/// Selects cases, and how to play them.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Only these ids; empty is all.
    pub only: Vec<String>,
    /// Only these areas; empty is all.
    pub areas: Vec<String>,
    /// The controller's `--data-plane`.
    pub data_plane: String,
    /// More of the controller's flags.
    pub flags: Vec<String>,
    /// How many at a time.
    pub jobs: usize,
}

impl Default for Selection {
    fn default() -> Selection {
        Selection {
            only: Vec::new(),
            areas: Vec::new(),
            data_plane: "envoy".to_owned(),
            flags: Vec::new(),
            jobs: 2,
        }
    }
}

impl Selection {
    fn has(&self, case: &Value) -> bool {
        let chosen =
            |wanted: &[String], word: &str| wanted.is_empty() || wanted.contains(&text(case, word));
        chosen(&self.only, "id") && chosen(&self.areas, "area")
    }
}

/// Plays the chosen cases; `tell` hears of each when it is done.
///
/// # Errors
/// When there is nothing to play, or no way to.
pub async fn play(
    file: &CaseFile,
    selection: &Selection,
    tell: impl Fn(&Played),
) -> Result<Summary> {
    let cases: Vec<Value> = file
        .cases
        .iter()
        .filter(|case| selection.has(case))
        .cloned()
        .collect();
    ensure!(
        !cases.is_empty(),
        "none of the {} cases is chosen",
        file.cases.len()
    );
    let idle = Arc::new(ingress::idle::Idle::default());
    let permits = Arc::new(Semaphore::new(selection.jobs.max(1)));
    // Dropped with this future: then what still runs ends, too.
    let (_stop, stopped) = watch::channel(());
    let mut running = JoinSet::new();
    for (n, case) in cases.into_iter().enumerate() {
        let (permits, selection) = (Arc::clone(&permits), selection.clone());
        let idle = Arc::clone(&idle);
        let mut stopped = stopped.clone();
        let form = file.form;
        running.spawn(async move {
            let _permit = permits.acquire_owned().await;
            // A thread of its own, because ending a controller blocks; the pods live on the runtime's.
            let outcome = task::spawn_blocking(move || {
                if form == Form::Balancer {
                    return played(&case, balancers::play(&case));
                }
                Handle::current().block_on(async {
                    tokio::select! {
                        outcome = ingress::play(&case, &selection, &idle) => played(&case, outcome),
                        _ = stopped.changed() => played(&case, Outcome::failed("interrupted")),
                    }
                })
            });
            (n, outcome.await)
        });
    }
    let mut done = Vec::new();
    while let Some(next) = running.join_next().await {
        let (n, played) = next.context("a case")?;
        let played = played.context("a case")?;
        tell(&played);
        done.push((n, played));
    }
    task::spawn_blocking(move || idle.end()).await??;
    done.sort_by_key(|(n, _)| *n);
    Ok(Summary {
        played: done.into_iter().map(|(_, played)| played).collect(),
    })
}

fn played(case: &Value, outcome: Outcome) -> Played {
    Played {
        id: text(case, "id"),
        area: text(case, "area"),
        title: text(case, "title"),
        outcome,
    }
}

fn text(case: &Value, word: &str) -> String {
    case[word].as_str().unwrap_or_default().to_owned()
}
