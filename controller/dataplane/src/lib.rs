//! Envoy or nginx as a child process.
//!
//! ```text
//!   RunDir (one controller at a time) --> records of processes, sockets, files
//!                                              |
//!   envoy::Envoy --+                           v
//!                  +--> supervisor::supervise: adopt | start --> ready --> changes --> drain
//!   nginx::Nginx --+          ^                                   |
//!                             +-- restart, with backoff <-- exit --+
//! ```
//!
//! There is one supervisor ([`supervisor`]). [`envoy`] and [`nginx`] say how each program is adopted, started, told of changes
//! and drained.
//!
//! Absent on purpose: Kubernetes objects, flags and metrics. Settings are values; results are returned or go to callbacks.

mod child_log;
mod content_hash;
pub mod envoy;
#[cfg(debug_assertions)]
mod fault;
pub mod find_program;
pub mod http_exchange;
mod log_tail;
pub mod memory;
pub mod nginx;
pub mod open_files;
pub mod private_file;
pub mod process;
pub mod run_dir;
pub mod supervisor;
