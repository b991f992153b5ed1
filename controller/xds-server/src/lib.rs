//! Envoy's control plane: serves the resources that `sluice-xds` renders, and the gRPC services that Envoy calls.
//!
//! ```text
//!   publisher --Update--> Store (Cache) <--read-- Client <--> service (one task per stream) <--> Envoy
//!                           ^--- ACKs and NACKs: progress, refusals, counters ----/
//! ```
//!
//! - [`store`]: state that the publisher and every stream share. [`batch`]: updates that come in parts.
//! - [`nack`]: resources that a client rejected.
//! - [`progress`]: ACKs of the streams. [`publications`]: when they came.
//! - [`stream`]: a delta ADS stream; the only file that awaits a client. [`service`]: the streams over HTTP.
//! - [`ext_authz`]: external authorization: Envoy asks about a request, the caller decides.
//! - [`ext_proc`]: external processing: Envoy shows requests and responses, the caller judges.
//! - [`access_log`]: access log entries that Envoy sends, for metrics.
//!
//! Absent on purpose: the IR everything about the content of a resource, and the protocol itself (`sluice-xds-delta`).

mod access_log;
mod batch;
mod ejection;
mod ext_authz;
mod ext_proc;
mod nack;
mod progress;
mod publications;
mod service;
mod store;
mod stream;

pub use access_log::{AccessLogEntry, AccessLogService};
pub use batch::Batch;
pub use ejection::Ejection;
pub use ext_authz::{AuthzDecision, AuthzRequest, AuthzService, Changes, ClientCertificate};
pub use ext_proc::{
    EXT_PROC_PATH, Exchange, Failed, Headers, Inspector, Part, ProcessorService, Verdict,
};
pub use nack::Nack;
pub use publications::Acknowledged;
pub use service::{Session, discovery_service};
pub use sluice_xds_delta::Generation;
pub use store::{DataPlane, Decided, Revision, Stats, Status, Store};
