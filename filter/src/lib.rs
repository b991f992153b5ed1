//! `sluice_filter.wasm`: a thin shell that lets the core talk to a proxy-wasm host.
//!
//! ```text
//!                         +-> root.rs ----+
//!   host --> exports.rs --|               +--> Vm { Worker } --> sluice-filter-core
//!                         +-> request.rs -+      |
//!   host <--properties, headers, replies, calls--+ host.rs
//! ```
//!
//! One `vm::Vm` lives in each VM and outlives the contexts: a new plugin configuration makes a new root context, not new
//! tables. The life of a request is the [`Worker`](sluice_filter_worker::Worker)'s, as in other hosts. `host.rs` is the only file
//! that calls the host.
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
mod in_flight;
mod observation;
mod pairs;
mod request;
mod rng;
mod root;
mod stream;
mod vm;

proxy_wasm::main! {{}}
