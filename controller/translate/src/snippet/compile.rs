//! A snippet as policies of the model: all of it, or nothing.
//!
//! ```text
//!   more_set_headers, proxy_set_header ...   headers/                  filters of the routes
//!   set, if, return, rewrite                 rewrite/                  direct responses
//!   allow, deny                              policies/access.rs        lists of networks
//!   location of a server                     locations/path.rs         routes that the data plane answers itself ...
//!   proxy_pass in it                         policies/proxy_pass.rs    ... or that lead to pods of a path
//!   location in a location                   locations/nested.rs       direct responses
//!   location @name                           locations/named.rs        the response to clients without a certificate
//!   proxy_ssl_name, proxy_read_timeout       policies/upstream.rs      policies that have annotations
//!   limit_rate, limit_rate_after             policies/bandwidth.rs
//!   send_timeout, keepalive_timeout          policies/connections.rs   timeouts of clients
//!   buffers and sizes of nginx's own         policies/tuning.rs
//!   the others, which mean another thing     compile/of_block.rs
//!       in each kind of block
//!   auth-snippet                             auth_request.rs           headers for an authentication service
//!   what is so without it                    defaults.rs               nothing
//! ```

mod blocks;
mod checks;
mod compile_options;
mod of_block;

use std::collections::BTreeSet;

use sluice_ir::ConnectionSettings;

use crate::snippet::auth_request::AuthRequest;
use crate::snippet::block::Block;
use crate::snippet::compiled::{Compiled, Location};
use crate::snippet::difference::Difference;
use crate::snippet::error::{SnippetError, SnippetErrors};
use crate::snippet::headers::auth_variables::AuthVariables;
use crate::snippet::headers::changes::HeaderChanges;
use crate::snippet::headers::variants;
use crate::snippet::locations::LocationPath;
use crate::snippet::locations::named::NamedLocation;
use crate::snippet::locations::nested;
use crate::snippet::policies::access::{Access, Satisfy};
use crate::snippet::policies::connections;
use crate::snippet::policies::proxy_pass::{ProxyDirectives, ProxyPass};
use crate::snippet::policies::tuning;
use crate::snippet::policies::upstream::UpstreamDirectives;
use crate::snippet::rewrite::comparable::Comparable;
use crate::snippet::rewrite::media_type::MediaTypes;
use crate::snippet::rewrite::responses::Responses;
use crate::snippet::syntax::tree::{Directive, directives};
use crate::support::DataPlane;
use checks::{check_proxied, check_rewrites, check_unasked, has_no_effect, line_of_if};
pub(crate) use compile_options::CompileOptions;
use of_block::{options_of, rewrite_options};

/// Compiles a snippet. Errors on Envoy say what nginx would serve.
pub(crate) fn compile(
    text: &str,
    block: Block,
    options: CompileOptions<'_>,
) -> Result<Compiled, SnippetErrors> {
    compile_as(text, block, options).map_err(|mut errors| {
        if options.data_plane == Some(DataPlane::Envoy) {
            let comparable = Comparable::BY_NGINX;
            let with_nginx = CompileOptions {
                comparable,
                ..options
            };
            errors.mark_served_by_nginx(compile_as(text, block, with_nginx).err());
        }
        errors
    })
}

/// Compiles a snippet of a location, and that of the ConfigMap behind it.
pub(crate) fn compile_behind(
    own: &str,
    of_configmap: &str,
    options: CompileOptions<'_>,
) -> Result<Compiled, SnippetErrors> {
    let (nested, mut all) = split(own, options)?;
    let own = all.len();
    all.extend(directives(of_configmap)?);
    let text = Text {
        nested: &nested,
        all: &all,
        own,
    };
    compile_in_order(text, Block::Location, None, options)
}

fn compile_as(
    text: &str,
    block: Block,
    options: CompileOptions<'_>,
) -> Result<Compiled, SnippetErrors> {
    if block == Block::AuthRequest {
        let auth_request = AuthRequest::parse(text, options.constants)?;
        return Ok(Compiled {
            auth_request,
            ..Compiled::default()
        });
    }
    let options = options_of(block, options);
    // The ConfigMap's is in locations that nginx nests none in.
    if block != Block::Location || options.of_all_servers {
        return compile_directives(&directives(text)?, block, None, options);
    }
    let (nested, all) = split(text, options)?;
    let text = Text {
        nested: &nested,
        all: &all,
        own: all.len(),
    };
    compile_in_order(text, block, None, options)
}

/// The locations of a snippet, as conditions, and the directives around them.
fn split(
    text: &str,
    options: CompileOptions<'_>,
) -> Result<(Vec<Directive>, Vec<Directive>), SnippetErrors> {
    let (nested, around) = nested::split(directives(text)?)?;
    Ok(match options.constants {
        None => (nested, around),
        Some(constants) => {
            constants.check_nested(&nested)?;
            (nested, constants.within(around))
        }
    })
}

/// Directives in the order in which nginx runs them.
struct Text<'a> {
    /// Conditions that are locations.
    nested: &'a [Directive],
    all: &'a [Directive],
    /// Number of those in front of the ConfigMap's.
    own: usize,
}

/// `location`: the one whose block it is.
fn compile_directives(
    all: &[Directive],
    block: Block,
    location: Option<&LocationPath>,
    options: CompileOptions<'_>,
) -> Result<Compiled, SnippetErrors> {
    let text = Text {
        nested: &[],
        all,
        own: all.len(),
    };
    compile_in_order(text, block, location, options)
}

fn compile_in_order(
    Text { nested, all, own }: Text<'_>,
    block: Block,
    location: Option<&LocationPath>,
    options: CompileOptions<'_>,
) -> Result<Compiled, SnippetErrors> {
    let mut errors = SnippetErrors::default();
    let media_types = errors.take(MediaTypes::read(all, block, location))?;
    let variables = match block {
        Block::Location if options.has_auth_service => AuthVariables::read(all),
        _ => AuthVariables::default(),
    };
    let mut parts = Parts::new(media_types.unwrap_or_default(), variables, block, options);
    // A location of a server is behind what the server sets.
    parts.responses.reads_unset &= matches!(block, Block::Location | Block::Server);
    if let Some(location) = location {
        parts.responses.begin_in(location);
    }
    for condition in nested {
        errors.take(parts.responses.add(condition))?;
    }
    parts.responses.go_on_around_locations();
    for (position, directive) in all.iter().enumerate() {
        if position == own {
            let adds_to_errors = options.data_plane != Some(DataPlane::Nginx);
            parts.headers.go_on_behind(adds_to_errors);
            parts.responses.go_on_behind(adds_to_errors);
        }
        errors.take(parts.add(directive))?;
    }
    let proxy = errors.take(parts.proxy_pass(all, location))?;
    errors.check()?;
    parts.finish(all, proxy.flatten())
}

/// Parts of a snippet in the making.
struct Parts<'a> {
    block: Block,
    options: CompileOptions<'a>,
    responses: Responses<'a>,
    headers: HeaderChanges<'a>,
    access: Access,
    access_log_off: bool,
    locations: Vec<Location>,
    /// One of them is for nginx's own requests.
    has_internal: bool,
    named: Vec<NamedLocation>,
    upstream: UpstreamDirectives,
    proxy: ProxyDirectives,
    connections: ConnectionSettings,
    not_needed: Vec<String>,
}

impl<'a> Parts<'a> {
    fn new(
        media_types: MediaTypes<'a>,
        variables: AuthVariables,
        block: Block,
        options: CompileOptions<'a>,
    ) -> Self {
        Parts {
            block,
            options,
            responses: Responses::new(media_types, rewrite_options(options)),
            headers: HeaderChanges::new(variables, options.headers),
            access: Access::default(),
            access_log_off: false,
            locations: Vec::new(),
            has_internal: false,
            named: Vec::new(),
            upstream: UpstreamDirectives::default(),
            proxy: ProxyDirectives::default(),
            connections: ConnectionSettings::default(),
            not_needed: Vec::new(),
        }
    }

    fn add(&mut self, directive: &Directive) -> Result<(), SnippetErrors> {
        let block = self.block;
        self.proxy.see(&directive.words());
        let accepted = match (directive.words().as_slice(), &directive.block) {
            (words, None) if self.is_of_block(words) => self.add_of_block(words),
            (["rewrite", ..], _) => return self.add_rewrite(directive),
            (["if" | "set" | "return", ..], _) => return self.responses.add(directive),
            (["location", name], Some(_)) if self.is_named(name) && self.options.of_all_servers => {
                let reason =
                    "a named location is for the Ingress whose auth-tls-error-page names it";
                return Err(directive.because(reason).into());
            }
            (["location", name], Some(block)) if self.is_named(name) => {
                return self.add_named(name, block, directive);
            }
            (["location", ..], Some(_)) if block == Block::Server => {
                return self.add_location(directive);
            }
            // An error of its own where it is not one that can be served.
            (_, None) if MediaTypes::reads(directive) => Some(()),
            (["access_log", "off"], None) => {
                self.access_log_off = true;
                Some(())
            }
            ([name @ ("allow" | "deny"), network], None) => self.access.add(name, network),
            (["satisfy", how], None)
                if block == Block::Location && !self.options.of_all_servers =>
            {
                self.access.satisfy(how)
            }
            (words, None) if has_no_effect(words, block) => Some(()),
            (words, None) if self.differs_in_server(words) => Some(()),
            (words, None) if self.add_not_needed(words, directive) => Some(()),
            (["auth_request_set", ..], None) if self.headers.knows_variable(directive) => Some(()),
            (words, None) => self.headers.add(words, block),
            _ => None,
        };
        accepted.ok_or_else(|| self.unsupported(directive))?;
        Ok(self.headers.check_size(directive)?)
    }

    fn add_not_needed(&mut self, words: &[&str], directive: &Directive) -> bool {
        let by_data_plane = || {
            let name = words.first().filter(|_| self.block == Block::Location);
            name.and_then(|name| (self.options.not_needed)(name))
        };
        let reason = tuning::reason(words).or_else(by_data_plane);
        let said = reason.map(|reason| format!("line {}: {reason}", directive.line));
        self.not_needed.extend(said);
        reason.is_some()
    }

    /// Differences of its directives one by one.
    fn take_differences(&mut self) -> BTreeSet<Difference> {
        let mut differences = std::mem::take(&mut self.headers.differences);
        differences.extend(self.upstream.differences(self.options.data_plane));
        let on_envoy = self.options.data_plane != Some(DataPlane::Nginx);
        let is_beyond = connections::is_beyond_envoy(self.connections, self.options.header_buffers);
        differences.extend((on_envoy && is_beyond).then_some(Difference::HeaderRoom));
        let has_others = connections::has_others(self.connections);
        let of_location = self.block != Block::Server;
        let of_clients = on_envoy && has_others && of_location;
        differences.extend(of_clients.then_some(Difference::ClientTimeouts));
        let of_server = on_envoy && has_others && !of_location;
        differences.extend(of_server.then_some(Difference::Connections));
        differences
    }

    fn finish(
        mut self,
        all: &[Directive],
        proxy: Option<ProxyPass>,
    ) -> Result<Compiled, SnippetErrors> {
        let mut differences = self.take_differences();
        let auth_headers = std::mem::take(&mut self.headers.auth_headers);
        let user_headers = std::mem::take(&mut self.headers.user_headers);
        if self.access.satisfied_by() == Some(Satisfy::Any) && !user_headers.is_empty() {
            let line = all.first().map_or(1, |directive| directive.line);
            let reason =
                "$remote_user is not supported beside satisfy any: not all users are known";
            return Err(SnippetError::new(line, reason).into());
        }
        let (filters, route_headers) = self.headers.finish(all)?;
        let path_changes = std::mem::take(&mut self.responses.path_changes);
        let server_rewrites = std::mem::take(&mut self.responses.server_rewrites);
        let mut queries = server_rewrites.iter().map(|it| it.takes_no_query);
        differences.extend(queries.any(|it| it).then_some(Difference::WithoutQuery));
        let (variables, unasked) = self.responses.variables();
        check_unasked(&unasked, all)?;
        let responses = self.responses.finish(&filters)?;
        variants::check(&responses.header_variants, &filters, self.block)
            .map_err(|reason| SnippetError::new(line_of_if(all), reason))?;
        differences.extend(responses.differs.then_some(Difference::AddsToErrors));
        let of_normalised = responses.of_normalised.then_some(Difference::OfNormalised);
        differences.extend(of_normalised);
        let direct_responses = responses.direct_responses;
        check_proxied(&self.locations, self.has_internal, &server_rewrites, all)?;
        let paths = self.locations.iter().map(|location| &location.path);
        check_rewrites(&direct_responses, paths, all)?;
        let too_long = || SnippetError::new(1, "the response of a named location is too long");
        let named = self.named.into_iter().map(|it| it.within(&filters));
        let named: Option<Vec<_>> = named.collect();
        let named = named.ok_or_else(too_long)?;
        Ok(Compiled {
            filters,
            route_headers,
            differences,
            direct_responses,
            header_variants: responses.header_variants,
            path_changes,
            server_rewrites,
            satisfy: self.access.satisfied_by(),
            access: self.access.finish(),
            access_log_off: self.access_log_off,
            locations: self.locations,
            named,
            auth_request: AuthRequest::default(),
            auth_headers,
            user_headers,
            connections: self.connections,
            proxy,
            upstream: self.upstream.finish(),
            variables,
            not_needed: self.not_needed,
        })
    }
}

#[cfg(test)]
mod location_tests;
#[cfg(test)]
mod shared_tests;
#[cfg(test)]
mod tests;
