//! Answers of a running ingress-nginx, compared with those of Sluice.
//!
//! ```text
//!   tests/recordings/*.json --plan--> sites: a controller and a data plane for many cases, each in a namespace of its own
//!                                       |
//!       differences <--compare-- answer <--exchange-- request
//! ```

mod compare;
mod exchange;
pub mod file;
pub mod rules;
mod site;
mod tenant;

use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

pub use compare::Difference;
use compare::differences;
use exchange::Cookies;
use file::{RecordedCase, Recording};
use site::{Plan, Site, plan};
use tenant::Tenant;

use crate::cases::Selection;

/// Cases of one site that are played at the same time.
const AT_ONCE: usize = 8;

/// The differences of one request.
#[derive(Clone, Debug)]
pub struct Played {
    /// The case.
    pub id: String,
    /// Its request, counted from 1.
    pub number: usize,
    /// The request, in one line.
    pub request: String,
    /// ingress-nginx dropped the Ingress of the case, because of an annotation.
    pub is_refused: bool,
    /// The answer is 503, and an Ingress of the case has access control.
    pub is_access_control_503: bool,
    /// The observed answer.
    pub answer: Map<String, Value>,
    /// Empty if the answer is as recorded.
    pub differences: Vec<Difference>,
}

/// Plays the chosen cases of a recording.
pub async fn play(recording: &Recording, selection: &Selection) -> Result<Vec<Played>> {
    let cases: Vec<RecordedCase> = recording
        .cases
        .iter()
        .filter(|case| selection.only.is_empty() || selection.only.contains(&case.id))
        .cloned()
        .collect();
    let permits = Arc::new(Semaphore::new(selection.jobs.max(1)));
    let mut running = JoinSet::new();
    for plan in plan(&cases)? {
        let (permits, selection) = (Arc::clone(&permits), selection.clone());
        running.spawn(async move {
            let _permit = permits.acquire_owned().await;
            // A thread of its own, because the end of a controller blocks.
            let handle = tokio::runtime::Handle::current();
            let played =
                tokio::task::spawn_blocking(move || handle.block_on(on_site(plan, &selection)));
            played.await.context("a site")?
        });
    }
    let mut all = Vec::new();
    while let Some(played) = running.join_next().await {
        all.extend(played.context("a site")??);
    }
    let order = |id: &str| cases.iter().position(|case| case.id == id);
    all.sort_by_key(|played| (order(&played.id), played.number));
    Ok(all)
}

async fn on_site(plan: Plan, selection: &Selection) -> Result<Vec<Played>> {
    let names: Vec<&str> = plan
        .iter()
        .map(|(_, case)| case.id.as_str())
        .take(3)
        .collect();
    let site = Site::start(&plan, selection)
        .await
        .with_context(|| names.join(", "))?;
    let (site, permits) = (Arc::new(site), Arc::new(Semaphore::new(AT_ONCE)));
    let mut running = JoinSet::new();
    for (tenant, case) in plan {
        let (site, permits) = (Arc::clone(&site), Arc::clone(&permits));
        running.spawn(async move {
            let _permit = permits.acquire_owned().await;
            play_case(&site, &tenant, &case).await
        });
    }
    let mut all = Vec::new();
    while let Some(played) = running.join_next().await {
        all.extend(played.context("a case")??);
    }
    Ok(all)
}

async fn play_case(site: &Site, tenant: &Tenant, case: &RecordedCase) -> Result<Vec<Played>> {
    let (mut cookies, mut played) = (Cookies::new(), Vec::new());
    let (has_copies, is_refused) = (case.has_copies(), case.is_refused());
    let restricts_access = case.restricts_access();
    for (n, recorded) in case.requests.iter().enumerate() {
        // An answer of HTTP/0.9 has nothing to compare.
        if recorded.answer.get("status") == Some(&0.into()) {
            continue;
        }
        let answer = exchange::play(site, tenant, recorded, has_copies, &mut cookies).await?;
        let request = &recorded.request;
        let line = match &request.raw {
            Some(raw) => raw.lines().next().unwrap_or_default().to_owned(),
            None => format!(
                "{} {}://{}{}",
                request.method, request.scheme, request.host, request.target
            ),
        };
        played.push(Played {
            id: case.id.clone(),
            number: n + 1,
            request: line,
            is_refused,
            is_access_control_503: restricts_access && is_503(&answer),
            differences: differences(&recorded.answer, &answer),
            answer,
        });
    }
    Ok(played)
}

/// One answer, or all of several.
fn is_503(answer: &Map<String, Value>) -> bool {
    let statuses = answer.get("status_counts").and_then(Value::as_object);
    answer.get("status") == Some(&503.into())
        || statuses.is_some_and(|counts| counts.keys().eq(["503"]))
}
