//! Authorization of requests, where that takes more than an address: data planes ask for each request of such a route.
//!
//! ```text
//!   Publisher --publish--> policies (what each route asks for, its users)
//!                             ^
//!   Envoy, ext_authz -----+   |      +--> basic/: remembered, or computed where it may take its time
//!                         +-> authorizer --> digest: is the nonce ours, and the answer new
//!   nginx, auth_request --+          +--> external/: remembered, or asked of a service
//!          (nginx_endpoint)                  client --> pool --> dial
//! ```
//!
//! A route that has not been published is closed: a controller that has just started knows nothing yet, and allows no request
//! in.
//!
//! Absent on purpose: what is published (the caller says, and has the endpoints of services: [`Backends`]), routes and
//! listeners, and a way to see a password.

mod access_list;
mod authorizer;
mod basic;
mod deny;
mod digest;
mod external;
mod nginx_endpoint;
mod policies;
mod random;

pub use authorizer::Authorizer;
pub use external::{Backends, Settings};
pub use nginx_endpoint::auth_request;
pub use sluice_digest_auth::NonceKey;
