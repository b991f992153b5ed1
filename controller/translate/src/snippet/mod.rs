//! Snippets: nginx configuration in annotations and the ConfigMap. Their text never gets into a data plane (R1 of the security
//! rules); what the model can say becomes policies of its routes.
//!
//! ```text
//!   text --syntax/--> directives --compile.rs--> can the model say all of them?    policies of its routes (compiled.rs)
//!                            |                     headers/     filters
//!                            |                     rewrite/     direct responses, changes of paths
//!                            |                     locations/   routes
//!                            |                     policies/    policies that have annotations
//!                            |--judgement.rs--> is there one that may guard?        its paths are closed
//!                            |                  is anything missing without it?     a note
//!                            \--Alternatives--> annotations in its place            what the report says
//! ```
//!
//! A snippet is served as a whole or not at all. Those of a server and of the ConfigMap are in `server_snippet.rs` and
//! `location_snippet.rs`, that of an authentication service in `auth_request.rs`.

mod auth_request;
mod block;
mod budget;
mod compile;
mod compiled;
mod defaults;
mod difference;
mod error;
mod headers;
mod judgement;
mod location_snippet;
mod locations;
mod policies;
mod rewrite;
mod server_snippet;
mod syntax;

pub(crate) use auth_request::AuthRequest;
pub(crate) use block::Block;
pub(crate) use budget::{SnippetShare, access_size, header_programs, header_size};
pub(crate) use compile::{CompileOptions, compile, compile_behind};
pub(crate) use compiled::{Compiled, Location};
pub(crate) use defaults::{are_all as are_defaults, why_without_effect};
pub(crate) use difference::Difference;
pub(crate) use error::{SnippetError, SnippetErrors, first_of};
pub(crate) use headers::changes::HeaderOptions;
pub(crate) use headers::forwarded::source_header;
pub use headers::reserved::own_headers;
pub use judgement::harmless::harmless_directives;
pub(crate) use judgement::harmless::{Effective, SnippetContext};
pub(crate) use judgement::mod_security::closing as closing_rules;
pub(crate) use judgement::{
    AdviceFor, Alternatives, Catalogues, Judgement, Language, judge, language,
};
pub(crate) use location_snippet::LocationSnippet;
pub(crate) use locations::named::{NamedLocation, is_name as is_location_name};
pub(crate) use locations::{LocationPath, MAX_LOCATIONS};
pub(crate) use policies::access::{Satisfy, behind as access_behind};
pub(crate) use policies::connections::client_timeouts;
pub(crate) use policies::proxy_pass::{ProxyPass, ProxyUpstream, REST};
pub(crate) use policies::upstream::Upstream;
pub(crate) use rewrite::comparable::Comparable;
pub(crate) use rewrite::constants::Constants;
pub(crate) use rewrite::responses::{MAX_CONDITIONS, MAX_DIRECTIVES, MAX_RESPONSES};
pub(crate) use rewrite::rewrites::{PathChange, ServerRewrite};
pub(crate) use rewrite::set_variables::variables_in;
pub(crate) use rewrite::shared_variables::SharedVariables;
pub(crate) use server_snippet::ServerSnippet;
