//! Snippets: nginx configuration in annotations and the ConfigMap. Their text never gets into a data plane (R1 of the security
//! rules); what the model can say becomes policies of its routes.
//!
//! ```text
//!   text --statements.rs--> directives --compile.rs--> can the model say all of them?  policies of its routes
//!                                     |--harmless.rs--> is there one that may guard?    its paths are closed
//!                                     |--defaults.rs--> is anything missing without it?  a note
//!                                     \--Alternatives-> annotations in its place         what the report says
//! ```
//!
//! A snippet is served as a whole or not at all.

mod access;
mod auth_request;
mod auth_variables;
mod bandwidth;
mod block;
mod block_headers;
mod branch;
mod captures;
mod checks;
mod comparable;
mod compile;
mod compiled;
mod conditions;
mod connections;
mod constants;
mod defaults;
mod difference;
mod error;
mod expires;
mod forwarded;
mod harmless;
mod harmless_headers;
mod header_changes;
mod header_variants;
mod host_groups;
mod internal;
mod judgement;
mod location_snippet;
mod locations;
mod media_type;
mod mod_security;
mod named;
mod nested;
mod proxy_pass;
mod reserved_headers;
mod responses;
mod rewrites;
mod server_snippet;
mod set_variables;
mod shared_variables;
mod statements;
mod tree;
mod tuning;
mod upstream;
mod variables;

pub(crate) use access::{Satisfy, behind as access_behind, size as access_size};
pub(crate) use auth_request::AuthRequest;
pub(crate) use block::Block;
pub(crate) use comparable::Comparable;
pub(crate) use compile::{CompileOptions, compile, compile_behind};
pub(crate) use compiled::{Compiled, Location};
pub(crate) use constants::Constants;
pub(crate) use defaults::{are_all as are_defaults, why_without_effect};
pub(crate) use difference::Difference;
pub(crate) use error::{SnippetError, SnippetErrors, first_of};
pub(crate) use forwarded::told_by;
pub use harmless::harmless_directives;
pub(crate) use harmless::{Effective, SnippetContext};
pub(crate) use header_changes::HeaderOptions;
pub(crate) use judgement::{
    AdviceFor, Alternatives, Catalogues, Judgement, Language, judge, language,
};
pub(crate) use location_snippet::{
    LocationSnippet, SnippetShare, header_size, programs as header_programs,
};
pub(crate) use locations::{LocationPath, MAX_LOCATIONS};
pub(crate) use mod_security::closing as closing_rules;
pub(crate) use named::{NamedLocation, is_name as is_location_name};
pub(crate) use proxy_pass::{ProxyPass, ProxyUpstream, REST};
pub use reserved_headers::own_headers;
pub(crate) use responses::{MAX_CONDITIONS, MAX_DIRECTIVES, MAX_RESPONSES};
pub(crate) use rewrites::{PathChange, ServerRewrite};
pub(crate) use server_snippet::ServerSnippet;
pub(crate) use set_variables::variables_in;
pub(crate) use shared_variables::SharedVariables;
pub(crate) use upstream::Upstream;
