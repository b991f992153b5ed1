//! A proxy-wasm ABI 0.2.1 host over a trait.
//!
//! ```text
//!   owner (an nginx worker, a test)
//!     |  Plugin::new(&Module, Options)          once: every import is linked
//!     |  Vm::new(&plugin, env)                  one instance; exports looked up once
//!     |  vm.on_request_headers(&context, ..)    enter -> the guest -> leave
//!     v
//!   +-----------------------+    imports    +----------------------------------+
//!   | guest (sluice_filter) | ------------> | Env: what the host is made of    |
//!   +-----------------------+   statuses    | records effects, never calls in  |
//!                                           +----------------------------------+
//! ```
//!
//! What a host can do is an [`Env`]; everything else is here: guest memory, serialisation, context ids, limits,
//! traps. nginx and the fake hosts of the tests are `Env`s, so that the tests run the same ABI code as production.
//!
//! An [`Env`] must not call back into the guest: it is borrowed while the guest runs. It records what was asked (a
//! local response, a resume) and its owner acts when the guest has returned. Guest pointers are hostile: a bad one
//! costs the guest a status, never the host a panic.
//!
//! Absent: threads, wasmtime-wasi, `unsafe` (deserialising a compiled module is the caller's), gRPC calls and TCP
//! streams, and any policy about what to do after a trap but [`Vm::restart`].

#![forbid(unsafe_code)]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod abi;
mod callbacks;
#[cfg(feature = "compile")]
mod compile;
mod context;
mod engine;
mod env;
mod exports;
mod guest;
mod imports;
mod options;
mod pairs;
mod plugin;
mod trap;
mod vm;
mod wasi;

pub use abi::{Action, BufferType, LogLevel, MapType, MetricType, Status, StreamType};
#[cfg(feature = "compile")]
pub use compile::compile;
pub use context::{Context, ContextId};
pub use engine::engine_config;
pub use env::{Answer, Env, HttpCall, LocalResponse, PropertyPath};
pub use options::{Options, Unimplemented};
pub use pairs::{Pairs, PairsBuf};
pub use plugin::Plugin;
pub use trap::{Cause, Trap};
pub use vm::Vm;
/// The version of wasmtime that this crate's types belong to.
pub use wasmtime;
