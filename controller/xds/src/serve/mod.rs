//! The delta ADS server. The only module that knows tokio.
//!
//! ```text
//!   publisher --apply--> Store (contents, history) <--read-- Client (pure) <--> service (one task per stream) <--> Envoy
//!                          ^--- acked: progress, refusals, counters ----------------/
//! ```
//!
//! - [`contents`]: what there is, and what changed lately.
//! - [`subscription`]: what one client has of one type; the delta protocol and what a refusal leads to.
//! - [`client`]: all types of one client, in the order in which a change is safe.
//! - [`service`]: the only file that awaits a client.
//! - [`checks`]: beside all that, who may come in: Envoys ask, the caller decides.
//! - [`requests`]: and what Envoys have served, for those who count it.

mod checks;
mod client;
mod contents;
mod history;
mod refusal;
mod requests;
mod service;
mod store;
mod subscription;
mod version;

pub use checks::{Changes, Check, Checks, Verdict};
pub use contents::Generation;
pub use refusal::Refusal;
pub use requests::{Request, Requests};
pub use service::{Session, routes};
pub use store::{Stats, Store};
