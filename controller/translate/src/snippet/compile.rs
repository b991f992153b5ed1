//! A snippet as policies of the model: all of it, or nothing.
//!
//! ```text
//!   more_set_headers, proxy_set_header ...   filters.rs     filters of the routes
//!   set, if, return, rewrite                 responses.rs   direct responses
//!   allow, deny                              access.rs      lists of networks
//!   location                                 locations.rs   routes that the data plane answers itself
//!   auth-snippet                             auth_request.rs   headers for an authentication service
//!   what is so without it                    defaults.rs    nothing
//! ```

use sluice_ir::{DirectResponse, Filter, HeaderName, IpAccess, ResponseContent};

use super::access::Access;
use super::auth_request::AuthRequest;
use super::block::Block;
use super::conditions::Comparable;
use super::defaults;
use super::error::SnippetError;
use super::filters::HeaderChanges;
use super::locations::{Location, LocationPath, MAX_LOCATIONS};
use super::media_type::MediaTypes;
use super::responses::Responses;
use super::tree::{Directive, directives};
use crate::route_names::RouteHeader;

/// Policies that do what a snippet says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compiled {
    pub(crate) filters: Vec<Filter>,
    /// Request headers whose values name the route.
    pub(crate) route_headers: Vec<RouteHeader>,
    /// It has `add_header` without `always`: nginx adds such a header to answers without an error only.
    pub(crate) adds_to_errors: bool,
    pub(crate) direct_responses: Vec<DirectResponse>,
    pub(crate) access: IpAccess,
    /// Requests are not logged.
    pub(crate) access_log_off: bool,
    pub(crate) locations: Vec<Location>,
    /// Of an `auth-snippet` alone.
    pub(crate) auth_request: AuthRequest,
}

/// Settings that decide what of a snippet can be served.
#[derive(Clone, Copy)]
pub(crate) struct CompileOptions<'a> {
    /// Another setting has a say about the header.
    pub(crate) is_set_elsewhere: &'a dyn Fn(&HeaderName) -> bool,
    /// Parts of a request that conditions may compare.
    pub(crate) comparable: Comparable,
}

/// Compiles a snippet.
pub(crate) fn compile(
    text: &str,
    block: Block,
    options: CompileOptions<'_>,
) -> Result<Compiled, SnippetError> {
    if block == Block::AuthRequest {
        let auth_request = AuthRequest::parse(text)?;
        return Ok(Compiled {
            auth_request,
            ..Compiled::default()
        });
    }
    compile_directives(&directives(text)?, block, None, options)
}

/// `path`: the only one that the block is for.
fn compile_directives(
    all: &[Directive],
    block: Block,
    path: Option<&str>,
    options: CompileOptions<'_>,
) -> Result<Compiled, SnippetError> {
    let media_types = MediaTypes::read(all, block, path)?;
    let mut responses = Responses::new(media_types, options.comparable);
    let mut headers = HeaderChanges::new(options.is_set_elsewhere);
    let mut access = Access::default();
    let mut access_log_off = false;
    let mut locations = Vec::new();
    for directive in all {
        let accepted = match (directive.words().as_slice(), &directive.block) {
            (["rewrite", ..], _) if block == Block::LocationOfServer => None,
            (["if" | "set" | "return" | "rewrite", ..], _) => {
                responses.add(directive)?;
                continue;
            }
            (["location", ..], Some(_)) if block == Block::Server => {
                add_location(&mut locations, directive, options)?;
                continue;
            }
            (_, None) if MediaTypes::reads(directive) => Some(()),
            (["access_log", "off"], None) => {
                access_log_off = true;
                Some(())
            }
            ([name @ ("allow" | "deny"), network], None) => access.add(name, network),
            (words, None) if has_no_effect(words, block) => Some(()),
            (words, None) => headers.add(words, block),
            _ => None,
        };
        accepted.ok_or_else(|| directive.unsupported())?;
        directive.at_most(
            headers.count(),
            HeaderChanges::MAX,
            "headers that are changed",
        )?;
    }
    let direct_responses = responses.finish()?;
    check_rewrites(&direct_responses, &locations, all)?;
    let adds_to_errors = headers.adds_to_errors;
    let (filters, route_headers) = headers.finish(all)?;
    Ok(Compiled {
        filters,
        route_headers,
        adds_to_errors,
        direct_responses,
        access: access.finish(),
        access_log_off,
        locations,
        auth_request: AuthRequest::default(),
    })
}

fn add_location(
    locations: &mut Vec<Location>,
    directive: &Directive,
    options: CompileOptions<'_>,
) -> Result<(), SnippetError> {
    let location = location(directive, options)?;
    if locations.iter().any(|other| other.path == location.path) {
        return Err(SnippetError::new(directive.line, "duplicate location"));
    }
    locations.push(location);
    directive.at_most(locations.len(), MAX_LOCATIONS, "locations")
}

fn location(directive: &Directive, options: CompileOptions<'_>) -> Result<Location, SnippetError> {
    let unsupported = || directive.unsupported();
    let path = LocationPath::parse(directive.words().get(1..).unwrap_or_default());
    let path = path.ok_or_else(unsupported)?;
    let block = directive.block.as_deref().ok_or_else(unsupported)?;
    let only = match &path {
        LocationPath::Exact(path) => Some(path.as_str()),
        _ => None,
    };
    let Compiled {
        filters,
        route_headers: _,
        adds_to_errors: _,
        direct_responses,
        access,
        access_log_off,
        locations: _,
        auth_request: _,
    } = compile_directives(block, Block::LocationOfServer, only, options)?;
    Ok(Location {
        path,
        filters,
        direct_responses,
        access,
        access_log_off,
    })
}

/// nginx rewrites before it looks for a location, and Envoy cannot compare a path with the patterns of both.
fn check_rewrites(
    responses: &[DirectResponse],
    locations: &[Location],
    all: &[Directive],
) -> Result<(), SnippetError> {
    let mut contents = responses.iter().map(|response| &response.content);
    let rewrites = contents.any(|content| matches!(content, ResponseContent::Rewritten { .. }));
    let mut paths = locations.iter().map(|location| &location.path);
    if !rewrites || !paths.any(|path| matches!(path, LocationPath::Pattern(_))) {
        return Ok(());
    }
    let mut rewrite = all.iter().filter(|directive| directive.name() == "rewrite");
    let line = rewrite.next().map_or(1, |directive| directive.line);
    let reason = "rewrite is not supported beside a location with a regular expression";
    Err(SnippetError::new(line, reason))
}

/// True if a directive changes nothing where it stands.
fn has_no_effect(words: &[&str], block: Block) -> bool {
    defaults::is_default(words)
        || match block {
            Block::Location | Block::AuthRequest => false,
            Block::Server => defaults::is_overridden_by_locations(words),
            Block::LocationOfServer => defaults::is_without_effect_on_direct_responses(words),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(text: &str, block: Block) -> Result<Compiled, SnippetError> {
        let options = CompileOptions {
            is_set_elsewhere: &|_| false,
            comparable: Comparable::ALL,
        };
        compile(text, block, options)
    }

    fn line_of_error(text: &str, block: Block) -> Option<usize> {
        compiled(text, block).err().map(|error| error.line)
    }

    #[test]
    fn a_snippet_is_taken_as_a_whole() {
        let text = "more_set_headers 'X-A: b';\ndeny 10.0.0.0/8;\nif ($http_a = b) { return 403; }\netag on;";
        let all = compiled(text, Block::Location).unwrap();
        let counts = (
            all.filters.len(),
            all.direct_responses.len(),
            all.access.deny.len(),
        );
        assert_eq!(counts, (1, 1, 1));
        for bad in [
            "gzip on;",
            "location /a { deny all; }",
            "if ($a) { deny all; }",
            "deny a.test;",
        ] {
            let text = format!("{text}\n{bad}");
            assert_eq!(line_of_error(&text, Block::Location), Some(5), "{bad}");
        }
    }

    #[test]
    fn errors_say_what_is_wrong_and_where() {
        for (text, error) in [
            ("etag on;\ngzip  on;", (2, "\"gzip on\" is not supported")),
            ("etag on;\n}", (1, "invalid nginx configuration")),
            (
                "default_type a/b;\ndefault_type a/b;",
                (2, "\"default_type a/b\" is not supported"),
            ),
            (
                "set $a b;\netag on;",
                (1, "variable $a is set, and no condition reads it"),
            ),
        ] {
            let SnippetError { line, reason, .. } = compiled(text, Block::Location).unwrap_err();
            assert_eq!((line, reason.as_ref()), error, "{text}");
        }
    }

    #[test]
    fn a_server_changes_no_request_and_its_locations_override_the_rest() {
        let all = compiled(
            "more_set_headers 'X-A: b'; proxy_read_timeout 5; proxy_set_header X-A b; return 403;",
            Block::Server,
        );
        assert_eq!(all.unwrap().filters.len(), 1);
        assert!(compiled("more_set_input_headers 'X-A: b';", Block::Server).is_err());
        assert!(compiled("proxy_read_timeout 5;", Block::Location).is_err());
    }

    #[test]
    fn texts_have_the_type_that_is_said_once() {
        let media_type = |text: &str| match &compiled(text, Block::Location)
            .unwrap()
            .direct_responses[0]
            .content
        {
            ResponseContent::Text { media_type, .. } => media_type.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(media_type("return 200 a;"), "text/html");
        assert_eq!(
            media_type("default_type text/plain; return 200 a;"),
            "text/plain"
        );
        assert_eq!(
            media_type("return 200 a; default_type 'application/json';"),
            "application/json"
        );
    }

    fn locations(text: &str) -> Result<Vec<Location>, SnippetError> {
        compiled(text, Block::Server).map(|compiled| compiled.locations)
    }

    #[test]
    fn a_location_answers_all_of_its_requests() {
        let text = "
            location = /health { auth_basic off; access_log off; default_type text/plain;
                add_header Content-Type text/plain; log_not_found off; return 200 OK; }
            location /metrics { allow 10.0.0.0/8; deny all; }
            location ~* ^/(a|b) { if ($request_method = POST) { return 405; } }";
        let all = locations(text).unwrap();
        let counts: Vec<_> = all
            .iter()
            .map(|one| (one.direct_responses.len(), one.access.allow.len()))
            .collect();
        assert_eq!(counts, [(1, 0), (0, 1), (1, 0)]);
        assert!(all[0].access_log_off && !all[1].access_log_off);
    }

    #[test]
    fn what_leads_somewhere_is_not_served() {
        for bad in [
            "location /a { proxy_pass http://b; }",
            "location /a { alias /var/run; }",
            "location /a { auth_basic on; }",
            "location /a { location /a/b { } }",
            "location /a { return 404; } location /a { return 403; }",
            "rewrite ^/a /b redirect; location ~ a { return 404; }",
            "location /a;",
        ] {
            assert!(locations(bad).is_err(), "{bad}");
        }
        let many: String = (0..17)
            .map(|n| format!("location /{n} {{ return 404; }}\n"))
            .collect();
        assert_eq!(locations(&many).unwrap_err().line, 17);
    }
}
