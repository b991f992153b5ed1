//! Directives of nginx's rewrite module (`ngx_http_rewrite_module`): `set`, `if`, `return` and `rewrite`.
//!
//! ```text
//!   directives --responses.rs--> branches (branch.rs), each with conditions (conditions.rs) and variables (set_variables.rs)
//!                          \---> direct responses; changes of paths (rewrites.rs); headers under conditions
//! ```
//!
//! - `comparable.rs`: parts of a request that a data plane compares
//! - `captures.rs`, `host_groups.rs`: `$1` to `$9`, groups of a pattern of the path and of the host
//! - `constants.rs`: variables that ingress-nginx sets in each location
//! - `shared_variables.rs`: variables of a snippet that others see
//! - `wrong_pattern.rs`: why a pattern is not served
//! - `media_type.rs`: `Content-Type` of texts

pub(super) mod branch;
pub(super) mod captures;
pub(super) mod comparable;
pub(super) mod conditions;
pub(super) mod constants;
pub(super) mod host_groups;
pub(super) mod media_type;
pub(super) mod options;
pub(super) mod responses;
pub(super) mod rewrites;
pub(super) mod set_variables;
pub(super) mod shared_variables;
pub(super) mod wrong_pattern;
