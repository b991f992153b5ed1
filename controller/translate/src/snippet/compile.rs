//! A snippet as policies of the model: all of it, or nothing.
//!
//! ```text
//!   more_set_headers, proxy_set_header ...   filters.rs     filters of the routes
//!   set, if, return                          responses.rs   direct responses, before everything else
//!   allow, deny                              access.rs      lists of networks
//!   what is so without it                    defaults.rs    nothing
//! ```

use sluice_ir::{DirectResponse, Filter, HeaderName, IpAccess};

use super::access::Access;
use super::defaults;
use super::filters::HeaderChanges;
use super::responses::Responses;
use super::tree::{Directive, directives};

/// ingress-nginx's `default_type`.
const MEDIA_TYPE: &str = "text/html";

/// Place of a snippet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Location,
    Server,
}

/// Policies that do what a snippet says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compiled {
    pub(crate) filters: Vec<Filter>,
    /// It has `add_header` without `always`: nginx adds such a header to answers without an error only.
    pub(crate) adds_to_errors: bool,
    pub(crate) direct_responses: Vec<DirectResponse>,
    pub(crate) access: IpAccess,
}

/// The policies of a snippet; the first line that is none otherwise. `is_taken`: something else sets the header.
pub(crate) fn compile(
    text: &str,
    place: Place,
    is_taken: &dyn Fn(&HeaderName) -> bool,
) -> Result<Compiled, usize> {
    let all = directives(text)?;
    let mut responses = Responses::new(media_type(&all)?);
    let mut headers = HeaderChanges::new(is_taken);
    let mut access = Access::default();
    for directive in &all {
        let words = directive.words();
        let is_taken = match (words.as_slice(), &directive.block) {
            (["if" | "set" | "return", ..], _) => {
                responses.add(directive)?;
                continue;
            }
            (["default_type", ..], None) => Some(()),
            ([directive @ ("allow" | "deny"), network], None) => access.add(directive, network),
            (words, None) if defaults::is_default(words) => Some(()),
            (words, None) if place == Place::Location => headers.add(words),
            _ => None,
        };
        is_taken.ok_or(directive.line)?;
    }
    let last = all.last().map_or(1, |directive| directive.line);
    let adds_to_errors = headers.adds_to_errors;
    Ok(Compiled {
        filters: headers.finish().ok_or(last)?,
        adds_to_errors,
        direct_responses: responses.finish().ok_or(last)?,
        access: access.finish(),
    })
}

/// Type of texts: `default_type`.
fn media_type(all: &[Directive]) -> Result<&str, usize> {
    let types = all
        .iter()
        .filter(|directive| directive.words[..1] == ["default_type"]);
    let mut types = types.map(|directive| match directive.words().as_slice() {
        [_, media_type] if is_media_type(media_type) => Ok(directive.words[1].as_str()),
        _ => Err(directive.line),
    });
    let first = types.next().unwrap_or(Ok(MEDIA_TYPE));
    match types.next() {
        Some(second) => Err(second.err().unwrap_or(1)),
        None => first,
    }
}

/// RFC 9110, section 8.3.1, without parameters.
fn is_media_type(text: &str) -> bool {
    let is_token = |text: &str| {
        !text.is_empty()
            && text.len() <= 100
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
            && !text.contains('$')
    };
    text.split_once('/')
        .is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

#[cfg(test)]
mod tests {
    use sluice_ir::ResponseContent;

    use super::*;

    fn compiled(text: &str, place: Place) -> Result<Compiled, usize> {
        compile(text, place, &|_| false)
    }

    #[test]
    fn a_snippet_is_taken_as_a_whole() {
        let text = "more_set_headers 'X-A: b';\ndeny 10.0.0.0/8;\nif ($http_a = b) { return 403; }\netag on;";
        let all = compiled(text, Place::Location).unwrap();
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
            assert_eq!(compiled(&text, Place::Location), Err(5), "{bad}");
        }
    }

    #[test]
    fn a_server_has_no_filters() {
        assert!(compiled("return 403; deny all;", Place::Server).is_ok());
        assert_eq!(
            compiled("more_set_headers 'X-A: b';", Place::Server),
            Err(1)
        );
    }

    #[test]
    fn texts_have_the_type_that_is_said_once() {
        let media_type = |text: &str| match &compiled(text, Place::Location)
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
        for bad in [
            "default_type a;",
            "default_type a/b c;",
            "default_type $a/b;",
            "default_type a/b; default_type a/b;",
            "default_type 'a/b; c=d';",
            "default_type a/;",
        ] {
            assert!(compiled(bad, Place::Location).is_err(), "{bad}");
        }
    }
}
