//! The IR to Envoy's resources, and the delta ADS server.
//!
//! ```text
//!   ir::Config --render--> protobuf --Update--> Store --serve--> one stream for each Envoy
//!                    pure                         \-- what changed, who has it, who refused it
//! ```
//!
//! Absent on purpose: Kubernetes (translated before), a clock and I/O outside `serve`.

mod bootstrap;
mod debug_json;
mod mutual_tls;
mod probe;
mod publication;
pub mod render;
mod resource;
mod serve;
mod settings;
mod snapshot;
mod update;

pub use bootstrap::{BootstrapSettings, ControllerAddress, bootstrap};
pub use mutual_tls::{AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE, MutualTls};
pub use probe::Probe;
pub use render::{Discovery, HTTPS, RouteCache};
pub use resource::{Name, ResourceType};
pub use serve::{AuthzRequest, AuthzService, Changes, Verdict};
pub use serve::{
    Decided, Generation, Refusal, Request, Requests, Revision, Session, Stats, Status, Store,
    routes,
};
pub use settings::{
    BACKEND_HEADER, CONTROLLER_CLUSTER, COOKIE_HEADER, Certificate, ENDPOINT_HEADER, FilterCode,
    Https, MOST_COOKIES, OTHER_HOSTS, SCOPES_FROM, Settings,
};
pub use snapshot::Resources;
pub use update::Update;
