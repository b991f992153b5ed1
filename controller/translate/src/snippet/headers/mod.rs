//! Changes of headers, of requests and of responses.
//!
//! ```text
//!   changes.rs           add_header, more_set_headers, proxy_set_header, ...   filters of routes
//!     expires.rs         expires
//!     forwarded.rs       X-Forwarded-For and the like, which Sluice says itself
//!     auth_variables.rs  auth_request_set: values of an authentication service's response
//!     reserved.rs        names that no snippet changes
//!   block_headers.rs     the same within an if that returns: headers of that response
//!   variants.rs          the same within an if without return: headers of all responses under its condition
//! ```

pub(super) mod auth_variables;
pub(super) mod block_headers;
pub(super) mod changes;
pub(super) mod expires;
pub(super) mod forwarded;
pub(super) mod reserved;
pub(super) mod variants;
