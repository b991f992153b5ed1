//! `libsluice_envoy.so`: the filter as a dynamic module of Envoy, for an Envoy of our own.
//!
//! ```text
//!   main thread:   bootstrap --> feed --long poll through Envoy's cluster--> controller
//!                                      |
//!                                    log: deltas, parsed once, shared by all workers
//!                                      |
//!   worker:        filter --> worker: takes what is new in the log, decides --> stream: headers of Envoy
//! ```
//!
//! The same core and the same life of a request as in `sluice_filter.wasm`. It costs Envoy less:
//! nothing crosses the border of a VM. There is no sandbox, so every hook catches panics, after which the worker begins anew with
//! empty balancers, and Envoy's own balancing serves the request.
//!
//! Joins `sluice-envoy-abi` (Envoy) and `sluice-filter-worker` (the filter), without `unsafe`.
#![allow(
    missing_docs,
    reason = "the only public items are the exports that `module!` makes"
)]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod clock;
mod configuration;
mod counters;
mod envoy_log;
mod feed;
mod filter;
mod lock;
mod log;
mod settings;
mod stream;
mod waiting;
mod worker;

use sluice_envoy_abi::{Config, Module, Process};
use sluice_filter_worker::LogLevel;

use configuration::Configuration;
use feed::Feed;

/// The module.
pub struct Sluice;

sluice_envoy_abi::module!(Sluice);

impl Module for Sluice {
    type Config = Configuration;
    type Extension = Feed;

    fn extend(process: &Process<'_>, _name: &str, document: &[u8]) -> Option<Feed> {
        Feed::new(process, document)
    }

    fn configure(config: &Config<'_>, name: &str, document: &[u8]) -> Option<Configuration> {
        Configuration::new(config, name, document)
    }

    fn on_panic(hook: &'static str) {
        worker::restart();
        let message = format!(
            "panic in {hook}: this worker of the filter begins anew, and Envoy goes on without it"
        );
        envoy_log::write(LogLevel::Error, &message);
    }
}
