//! Cases of the balancer form, against the filter as it is shipped: `sluice_filter.wasm` under wasmtime, in the fake hosts,
//! with an Envoy and an nginx personality.
//!
//! ```text
//!   area --> its words (given, when, then) --> Site: tables + requests --> sluice_filter.wasm
//!                                          \-> pure vectors ------------> sluice-filter-core
//! ```
//!
//! A case is known by its area and its words, never by its id. Sentences (`when`, `property`) are matched as a whole; a
//! word or sentence that is not known makes the case not applicable, by name.

mod canary;
mod case;
mod chash;
mod chash_subset;
mod cookie;
mod diff;
mod endpoint;
mod ewma;
mod log;
mod not_applicable;
mod original;
mod round_robin;
mod same_site;
mod selection;
mod site;
mod sticky;
mod sync;
mod template;
mod variables;
mod vectors;

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use super::Outcome;
use case::{Cannot, Case, Play, read};

/// Plays a case.
#[must_use]
pub fn play(case: &Value) -> Outcome {
    let case: Case = match read("case", case) {
        Ok(case) => case,
        Err(Cannot(reason)) => return Outcome::NotApplicable(reason),
    };
    let player = player(&case.area);
    // A trap of the filter, or something that its host must not see, is a panic of the fakes.
    match catch_unwind(AssertUnwindSafe(|| player(&case))) {
        Ok(Ok(findings)) => Outcome::of(findings),
        Ok(Err(Cannot(reason))) => Outcome::NotApplicable(reason),
        Err(panic) => Outcome::failed(format!(
            "the filter or its host broke off: {}",
            text(&*panic)
        )),
    }
}

fn player(area: &str) -> fn(&Case) -> Play {
    match area {
        "algorithm-selection" => selection::play,
        "canary" => canary::play,
        "chash" => chash::play,
        "chashsubset" => chash_subset::play,
        "endpoint-diff" => diff::play,
        "ewma" => ewma::play,
        "hash-by-template" => template::play,
        "nodemap" => vectors::nodemap,
        "round_robin" => round_robin::play,
        "sticky_balanced" | "sticky_persistent" => sticky::play,
        "sync" => sync::play,
        "same-site" => same_site::play,
        "upstream-var" => vectors::upstream_var,
        _ => not_applicable::play,
    }
}

fn text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a word")
}
