//! The delta ADS server. The only module of this crate that knows tokio.
//!
//! ```text
//!   publisher --apply--> Store (contents, history) <--read-- Client (pure) <--> service (one task per stream) <--> Envoy
//!                          ^--- answers: progress, refusals, counters --------------/
//! ```
//!
//! - [`store`]: what the publisher and every stream share.
//! - [`contents`]: what there is; [`history`]: what changed lately; [`version`]: a hash of what is sent.
//! - [`subscription`]: what one client has of one type; the delta protocol and what a refusal leads to.
//! - [`client`]: all types of one client, in the order in which a change is safe.
//! - [`refusal`]: resources that a client refused.
//! - [`mark`]: scopes, each time other bytes, because Envoy shows nobody what it takes for known.
//! - [`progress`]: how far the streams are, for those who wait for an answer.
//! - [`service`]: the only file that awaits a client.
//! - [`authz`]: external authorization: Envoys ask, the caller decides.
//! - [`requests`]: and what Envoys have served, for those who count it.

mod authz;
mod client;
mod contents;
mod history;
mod mark;
mod progress;
mod refusal;
mod requests;
mod response;
mod service;
mod store;
mod subscription;
mod version;

pub use authz::{AuthzRequest, AuthzService, Changes, Verdict};
pub use contents::Generation;
pub use refusal::Refusal;
pub use requests::{Request, Requests};
pub use service::{Session, routes};
pub use store::{Decided, Revision, Stats, Status, Store};
