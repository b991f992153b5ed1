//! `sluice_filter.wasm`: a thin shell that lets the core talk to a host.
//!
//! ```text
//!                         +-> root.rs ----+
//!   host --> exports.rs --|               +--> Worker --> sluice-filter-core
//!                         +-> request.rs -+      |
//!   host <--properties, headers, replies, calls--+ host.rs
//! ```
//!
//! One `worker::Worker` lives in each VM and outlives the contexts: a new plugin configuration makes a new root
//! context, not new tables. `host.rs` is the only file that calls the host.
#![allow(
    missing_docs,
    reason = "the only public item is the entry point that `proxy_wasm::main!` makes"
)]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod exports;
mod host;
mod host_contract;
mod host_request;
mod in_flight;
mod lookup;
mod observation;
mod pairs;
mod request;
mod request_action;
mod response;
mod rng;
mod root;
mod worker;

proxy_wasm::main! {{}}
