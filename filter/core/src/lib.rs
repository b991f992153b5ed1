//! Decisions of the filter, as plain functions.
//!
//! ```text
//!   PluginConfig --apply--> Tables { routes, backends: endpoints + balancer }
//!                              |
//!   route, now, rng --------+--decide--> Decision::{Forward(candidates), Reply, Unknown}
//!
//!   responses of the controller --> LongPoll --> next call, and when
//! ```
//!
//! Values, time and randomness are arguments. The shell around the core (`filter/src`) talks to the host.
//!
//! Absent on purpose: proxy-wasm, clocks, random number generators, panics on outside input.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

pub mod affinity;
mod apply_error;
mod backend;
mod backtracking;
pub mod balance;
pub mod canary;
pub mod client;
mod connection_limit;
pub mod connections;
mod decide;
mod ejections;
pub mod eligible;
mod endpoint_set;
pub mod endpoint_state;
mod endpoints;
mod hash_key;
mod long_poll;
mod outcome;
pub mod outlier;
pub mod path;
pub mod path_patterns;
mod pattern;
mod policy;
pub mod rates;
mod reply;
mod request;
mod rewriting;
mod rng;
mod route;
pub mod scope;
pub mod shared;
mod shared_log;
mod tables;
#[cfg(test)]
mod testing;
mod time;

pub use apply_error::ApplyError;
pub use backend::Backend;
pub use decide::{Decision, Forward, Limits};
pub use endpoints::{EndpointIdx, Endpoints, InvalidEndpoint};
pub use hash_key::Key;
pub use long_poll::{LongPoll, PollResult};
pub use outcome::{Interest, Outcome, RequestToken, attempts};
pub use pattern::{BacktrackingShape, Captures, Exhausted, MOST_MATCHING, Pattern, Refusal};
pub use policy::InvalidBackend;
pub use reply::Reply;
pub use request::{Fact, Request, variables};
pub use rewriting::{Matching, Rewrites, Rewriting};
pub use rng::{Rng, SplitMix64};
pub use shared_log::{News, SharedLog};
pub use tables::{AlgorithmChange, Tables};
pub use time::Timestamp;
