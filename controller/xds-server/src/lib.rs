//! Envoy's control plane: serves the resources that `sluice-xds` renders, and the gRPC services that Envoy calls.
//!
//! ```text
//!   publisher --Update--> Store (cache, history) <--read-- Client (pure) <--> service (one task per stream) <--> Envoy
//!                           ^--- ACKs and NACKs: progress, refusals, counters ----/
//! ```
//!
//! - [`store`]: state that the publisher and every stream share. [`batch`]: updates that come in parts.
//! - [`cache`]: all resources of one generation; [`message`]: one of them, compressed; [`history`]: recent changes; [`version`]: a hash of a
//!   resource's bytes.
//! - [`subscription`]: state of one client and one resource type; the delta protocol and the handling of a NACK.
//! - [`acknowledgement`]: the answer to a response.
//! - [`client`]: all resource types of one client, in the order in which a change is safe (make before break).
//! - [`known`]: versions that a client has, shared with all others.
//! - [`nack`]: resources that a client rejected.
//! - [`dedup`]: bytes that are unique per response where Envoy would skip equal ones.
//! - [`encode`]: the bytes of a response, piece by piece.
//! - [`progress`]: ACKs of the streams. [`publications`]: when they came.
//! - [`stream`]: a delta ADS stream; the only file that awaits a client. [`service`]: the streams over HTTP.
//! - [`ext_authz`]: external authorization: Envoy asks about a request, the caller decides.
//! - [`ext_proc`]: external processing: Envoy shows requests and responses, the caller judges.
//! - [`access_log`]: access log entries that Envoy sends, for metrics.
//!
//! Absent on purpose: the IR and everything about the content of a resource, but for [`dedup`].

mod access_log;
mod acknowledgement;
mod batch;
mod cache;
mod client;
mod dedup;
mod ejection;
mod encode;
mod ext_authz;
mod ext_proc;
mod history;
mod known;
mod message;
mod nack;
mod progress;
mod publications;
mod response;
mod service;
mod store;
mod stream;
mod subscription;
mod version;

pub use access_log::{AccessLogEntry, AccessLogService};
pub use batch::Batch;
pub use ejection::Ejection;
pub use ext_authz::{AuthzDecision, AuthzRequest, AuthzService, Changes, ClientCertificate};
pub use ext_proc::{
    EXT_PROC_PATH, Exchange, Failed, Headers, Inspector, Part, ProcessorService, Verdict,
};
pub use history::Generation;
pub use nack::Nack;
pub use publications::Acknowledged;
pub use service::{Session, discovery_service};
pub use store::{DataPlane, Decided, Revision, Stats, Status, Store};
