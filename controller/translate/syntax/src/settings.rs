//! Values of single settings, for the annotations and the keys of the ConfigMap that have them.

pub mod auth_cache;
pub mod body;
pub mod errors;
pub mod ext_auth;
pub mod response_rewrite;
pub mod retries;
pub mod tls;
pub mod upstream;
