//! The filter that is compiled into this module: where nginx.conf names no wasm (`sluice_wasm`).
//!
//! ```text
//!   phases ----> Filter: tables, long poll ----> sluice-filter-worker: decides
//!   timers, calls --^                                 |
//!                                                     v
//!                                               NginxStream: variables and headers of nginx
//! ```
//!
//! The same core and the same life of a request as in `sluice_filter.wasm`. It costs nginx less: nothing crosses the border of a VM. There
//! is no sandbox either, so every entry catches panics: one costs the request that it happened in, as a trap does.

mod filter;
mod stream;
mod uncounted;
mod worker;

pub(crate) use filter::check;
pub(crate) use worker::{on_end, on_log, on_request, on_response, start, stop};
