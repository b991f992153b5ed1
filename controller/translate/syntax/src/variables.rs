//! nginx's grammar of texts with variables, the only one for all of them: `$remote_addr`, `${cookie_user}x`.
//!
//! ```text
//!   text --segments--> Text, Variable, Dollar --+--> expression.rs   headers, external authentication
//!                                               +--> template.rs     rewrite targets: captured groups alone
//!                                               +--> log formats of the ConfigMap
//! ```
//!
//! Hash keys (`upstream-hash-by`) are read by the filter's [`HashKey`](sluice_filter_config::HashKey), which adds
//! ingress-nginx's escapes and shares [`variable_name`].

pub use sluice_filter_config::variable_name;

/// A segment of a text with variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'t> {
    /// Plain text.
    Text(&'t str),
    /// A variable.
    Variable {
        /// Its name, as written.
        name: &'t str,
        /// True if it is written as `${name}`.
        braced: bool,
    },
    /// A dollar without a name after it.
    Dollar,
}

/// Segments of a text, in order, without empty ones.
pub fn segments(text: &str) -> impl Iterator<Item = Segment<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let Some(after) = rest.strip_prefix('$') else {
            let (plain, behind) = rest.split_at(rest.find('$').unwrap_or(rest.len()));
            rest = behind;
            return (!plain.is_empty()).then_some(Segment::Text(plain));
        };
        let Some((name, behind)) = variable_name(after) else {
            rest = after;
            return Some(Segment::Dollar);
        };
        rest = behind;
        let braced = after.starts_with('{');
        Some(Segment::Variable { name, braced })
    })
}

/// The name in lower case that ingress-nginx's names of the same value have in common: `http_host` and `best_http_host` are
/// `host`.
#[must_use]
pub fn canonical(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let common = match lower.as_str() {
        "best_http_host" | "http_host" => "host",
        "document_uri" => "uri",
        "pass_access_scheme" => "scheme",
        "pass_port" | "pass_server_port" => "server_port",
        "req_id" => "request_id",
        "the_real_ip" => "remote_addr",
        _ => return lower,
    };
    common.to_owned()
}

/// A variable with a name of its own behind a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prefixed {
    /// `http_NAME`: the name of a request header, in lower case.
    RequestHeader(String),
    /// `sent_http_NAME` and `upstream_http_NAME`: the name of a response header, in lower case.
    ResponseHeader(String),
    /// `cookie_NAME`, in its own case.
    Cookie(String),
    /// `arg_NAME`, in its own case.
    Argument(String),
}

impl Prefixed {
    /// Parses the name of a variable; `None` when it has no such prefix, or nothing behind it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let rest = |prefix: &str| {
            let (before, rest) = name.split_at_checked(prefix.len())?;
            (before.eq_ignore_ascii_case(prefix) && !rest.is_empty()).then_some(rest)
        };
        let header = |rest: &str| rest.to_ascii_lowercase().replace('_', "-");
        let response = || rest("sent_http_").or_else(|| rest("upstream_http_"));
        None.or_else(|| rest("http_").map(|rest| Prefixed::RequestHeader(header(rest))))
            .or_else(|| response().map(|rest| Prefixed::ResponseHeader(header(rest))))
            .or_else(|| rest("cookie_").map(|rest| Prefixed::Cookie(rest.to_owned())))
            .or_else(|| rest("arg_").map(|rest| Prefixed::Argument(rest.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_split_at_its_variables() {
        let variable = |name, braced| Segment::Variable { name, braced };
        let all: Vec<_> = segments("a-${b}c$d $ ${e$f").collect();
        let expected = [
            Segment::Text("a-"),
            variable("b", true),
            Segment::Text("c"),
            variable("d", false),
            Segment::Text(" "),
            Segment::Dollar,
            Segment::Text(" "),
            Segment::Dollar,
            Segment::Text("{e"),
            variable("f", false),
        ];
        assert_eq!(all, expected);
        assert_eq!(segments("").count(), 0);
    }

    #[test]
    fn cookies_and_arguments_keep_their_case() {
        assert_eq!(
            Prefixed::parse("HTTP_User_Agent"),
            Some(Prefixed::RequestHeader("user-agent".to_owned()))
        );
        assert_eq!(
            Prefixed::parse("cookie_Sid"),
            Some(Prefixed::Cookie("Sid".to_owned()))
        );
        assert_eq!(Prefixed::parse("arg_"), None);
    }
}
