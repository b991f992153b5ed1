//! The filter as wasm, where nginx.conf names one (`sluice_wasm`): what is shipped, or somebody's own.

mod calls;
mod env;
mod filter;
mod instance;
mod timers;
mod worker;

pub(crate) use filter::Filter;
pub(crate) use worker::{on_end, on_log, on_request, on_response, start, stop};
