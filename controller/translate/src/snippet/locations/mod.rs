//! `location` blocks.
//!
//! ```text
//!   path.rs      the path or pattern of a location, and how nginx finds it
//!   nested.rs    location in a location: conditions of its responses
//!   named.rs     location @name: the response of auth-tls-error-page
//!   internal.rs  internal: a location that clients do not get to
//! ```

pub(super) mod internal;
pub(super) mod named;
pub(super) mod nested;
pub(super) mod path;

pub(crate) use path::{LocationPath, MAX_LOCATIONS};
pub(super) use path::{of_path, pattern};
