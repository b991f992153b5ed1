//! The IR to Envoy's configuration: resources for xDS and the bootstrap.
//!
//! ```text
//!   ir::Config --render--> protobuf --publication--> Update --> xds-server --> Envoy
//! ```
//!
//! Pure, and the same bytes for the same input. Absent on purpose: Kubernetes (translated before), I/O, tasks and clients
//! (`sluice-xds-server`).

mod bootstrap;
mod digest;
pub mod firewall;
mod message_json;
mod mutual_tls;
mod probe;
pub mod publication;
pub mod render;
mod rendered;
mod server_name_matcher;
mod settings;

pub use bootstrap::{BootstrapSettings, ControllerAddress, bootstrap, module_bootstrap};
pub use mutual_tls::{AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE, MutualTls};
pub use probe::Probe;
pub use publication::RoutingCache;
pub use render::{DEFAULT_CERTIFICATE_FOR, Discovery, HTTPS, RouteCache};
pub use rendered::RenderedResources;
pub use settings::{
    BACKEND_HEADER, CLIENT_METADATA, CONNECTING_TAG, CONTROLLER_CLUSTER, COOKIE_HEADER,
    Certificate, EJECTIONS_TAG, ENDPOINT_HEADER, FilterCode, Https, ISSUER_METADATA, MODULE_NAME,
    MOST_COOKIES, OTHER_HOSTS, PATH_HEADER, PROTOCOL_METADATA, ROUTE_KEY, ROUTE_METADATA,
    RULES_METADATA, SCOPES_FROM, SERVER_METADATA, SIGN_IN_KEY, SUBJECT_METADATA, Settings,
    TRANSACTION_METADATA, VERIFY_METADATA, XDS_CLUSTER,
};
pub use sluice_xds_resource::{
    Change, FILTER_METADATA, FilterForm, HTTP, MODULE_FORM, Name, PROBE, ResourceType,
    TESTED_ENVOY, TLS_PROBE, Update, flaw_of_envoy, is_probe,
};
