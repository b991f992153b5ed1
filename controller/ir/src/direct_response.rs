//! Responses of the data plane itself, before authentication, address lists and redirects to https.

use serde::Serialize;

use crate::{Expression, HeaderModification, HeaderName, PathRegex, RedirectTo, is_default};

/// Response in the place of a route's action and of its policies: nobody is asked for a password, no list of addresses counts.
/// What a host asks of client certificates comes first. Of those whose conditions hold, a request gets the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DirectResponse {
    /// All have to hold; without any it is for every request.
    #[serde(skip_serializing_if = "is_default")]
    pub conditions: Vec<Condition>,
    /// From 200 to 599.
    pub status: u16,
    /// It comes before the answer to a preflight, as what a server says before any of its locations.
    #[serde(skip_serializing_if = "is_default")]
    pub precedes_preflight: bool,
    /// The operator's, of every route alike.
    #[serde(skip_serializing_if = "is_default")]
    pub of_operator: bool,
    /// Content.
    pub content: ResponseContent,
    /// Changes of its headers, in place of those by the route's filters.
    #[serde(skip_serializing_if = "is_default")]
    pub headers: Option<HeaderModification>,
}

impl DirectResponse {
    /// The response, its conditions and its headers, counted; a long text counts as several.
    #[must_use]
    pub fn size(&self) -> usize {
        /// Bytes that cost proxies as much as a response.
        const OF_ONE: usize = 1000;
        let text = match &self.content {
            ResponseContent::Text { text, .. } => text.to_string().len() / OF_ONE,
            ResponseContent::Page
            | ResponseContent::Location(_)
            | ResponseContent::Rewritten { .. } => 0,
            ResponseContent::Captured(_) => 1,
        };
        let headers = self.headers.as_ref().map_or(0, HeaderModification::size);
        1 + self.conditions.len() + headers + text
    }

    /// Extension of the paths that it is for, in lower case, where its conditions say one.
    #[must_use]
    pub fn extension(&self) -> Option<String> {
        path_extension(&self.conditions)
    }
}

/// Extension of the paths that conditions hold for, in lower case; `None`: paths of several, or none. A pattern that is only the beginning
/// of a path stands for that path.
#[must_use]
pub fn path_extension(conditions: &[Condition]) -> Option<String> {
    let paths = conditions.iter().filter(|condition| !condition.negated);
    paths
        .filter_map(|condition| match &condition.test {
            RequestTest::Path(Comparison::Equals(path)) => extension_of_path(path),
            RequestTest::Path(
                Comparison::Matches(pattern) | Comparison::MatchesIgnoreCase(pattern),
            ) => extension_of_pattern(pattern),
            _ => None,
        })
        .next()
}

/// Extension of a path, in lower case: what is behind the last dot of the last segment.
#[must_use]
pub fn extension_of_path(path: &str) -> Option<String> {
    let (_, name) = path.rsplit_once('/')?;
    extension(name.rsplit_once('.')?.1)
}

/// Extension of all paths that a pattern takes, in lower case: it ends so (`\.txt$`), or is the beginning of a path and nothing else
/// (`^/robots\.txt`).
#[must_use]
pub fn extension_of_pattern(pattern: &str) -> Option<String> {
    let (before, end) = pattern.rsplit_once("\\.")?;
    // Another backslash in front: a backslash is meant, and any letter.
    let is_dot = !before.ends_with('\\') && !pattern.contains('|');
    let is_literal = || {
        let rest = before
            .strip_prefix("^/")?
            .replace("\\.", "")
            .replace("\\-", "");
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_".contains(&byte);
        rest.bytes().all(is_plain).then_some(end)
    };
    let end = end.strip_suffix('$').or_else(is_literal)?;
    extension(end).filter(|_| is_dot)
}

fn extension(text: &str) -> Option<String> {
    /// nginx has 64 bytes for an entry of `types`, and loads nothing where one is longer.
    const LONGEST: usize = 32;
    let is_plain = (1..=LONGEST).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain.then(|| text.to_ascii_lowercase())
}

/// Content of a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseContent {
    /// The data plane's own page for the status, if it has one.
    Page,
    /// A text.
    Text {
        /// `text/plain`.
        media_type: String,
        /// The body. Its variables are those of URLs, the method, the address of the client and the number of the request.
        text: Expression,
    },
    /// A URL to go to.
    Location(Expression),
    /// A URL to go to, where the path matches; only then is it a response. The query goes along.
    Rewritten {
        /// Pattern of the path.
        regex: PathRegex,
        /// [`RedirectTo::Parts`] or [`RedirectTo::Template`], with groups of the pattern.
        to: RedirectTo,
    },
    /// A URL to go to, with groups of a condition, which has to hold as well.
    Captured(CapturedRedirect),
}

/// A redirect with groups of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CapturedRedirect {
    /// Text that the pattern is found in.
    pub of: CaptureSubject,
    /// The pattern, which has to match. No [`Comparison::Equals`].
    pub value: Comparison,
    /// [`RedirectTo::Parts`] or [`RedirectTo::Template`].
    pub to: RedirectTo,
    /// The query goes along.
    #[serde(skip_serializing_if = "is_default")]
    pub keeps_query: bool,
}

impl CapturedRedirect {
    /// The condition that its groups are from.
    #[must_use]
    pub fn condition(&self) -> Condition {
        Condition {
            test: self.of.test(self.value.clone()),
            negated: false,
        }
    }
}

/// Text whose parts a redirect has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureSubject {
    /// The path, decoded. What a URL cannot have is encoded again.
    Path,
    /// The path and the query.
    RequestUri,
}

impl CaptureSubject {
    /// Comparison of the text.
    #[must_use]
    pub fn test(self, value: Comparison) -> RequestTest {
        match self {
            CaptureSubject::Path => RequestTest::Path(value),
            CaptureSubject::RequestUri => RequestTest::RequestUri(value),
        }
    }
}

/// Condition on a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Condition {
    /// Comparison with a part of the request.
    #[serde(flatten)]
    pub test: RequestTest,
    /// It must not hold.
    #[serde(skip_serializing_if = "is_default")]
    pub negated: bool,
}

/// Comparison with a part of a request. A part that is not there is empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestTest {
    /// The host that was asked for, in lower case and without its port.
    Host(Comparison),
    /// The path, decoded and without the query.
    Path(Comparison),
    /// The query, as it was sent.
    Query(Comparison),
    /// A parameter of the query, as it was sent: the first of its name.
    Argument {
        /// Its name, without regard to case.
        name: String,
        /// Comparison of its value.
        value: Comparison,
    },
    /// A cookie has this value.
    Cookie {
        /// Its name, without regard to case.
        name: String,
        /// Its value.
        value: String,
    },
    /// The address of the client, as text. Envoy cannot compare it where it looks for a route: translation lets it through to nginx alone.
    RemoteAddress(Comparison),
    /// `http` or `https`.
    Scheme(Comparison),
    /// `GET`.
    Method(Comparison),
    /// The path and the query.
    RequestUri(Comparison),
    /// A header. One that the client sent several times has its values joined with commas.
    Header {
        /// Its name, without regard to case.
        name: HeaderName,
        /// Comparison of its value.
        value: Comparison,
    },
}

/// Comparison of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// It is this text, byte for byte.
    Equals(String),
    /// This regular expression is found in it. Only what RE2 and PCRE both know and mean the same by is in one.
    Matches(String),
    /// The same, whatever case letters have.
    MatchesIgnoreCase(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_condition_have_one_extension_or_none() {
        let of = |test, negated| path_extension(&[Condition { test, negated }]);
        for (path, extension) in [
            ("/robots.txt", Some("txt")),
            ("/a.b/c.JSON", Some("json")),
            ("/a.txt/b", None),
            ("/a.", None),
            ("/txt", None),
            (&format!("/a.{}", "b".repeat(32)), Some(&*"b".repeat(32))),
            (&format!("/a.{}", "b".repeat(33)), None),
        ] {
            let test = RequestTest::Path(Comparison::Equals(path.to_owned()));
            assert_eq!(of(test.clone(), false).as_deref(), extension, "{path}");
            assert_eq!(of(test, true), None);
        }
        for (pattern, extension) in [
            (r"\.txt$", Some("txt")),
            (r"^/a/.*\.TXT$", Some("txt")),
            (r"^/robots\.txt", Some("txt")),
            (r"^/well\-known/a\.b\.json", Some("json")),
            (r"\.txt", None),
            (r"^/.*\.txt", None),
            (r"\\.txt$", None),
            (r"\.css|\.txt$", None),
            (r"\.(css|txt)$", None),
            (r"\.txt\$", None),
            (r"\.tx+$", None),
            (r"txt$", None),
        ] {
            let test = RequestTest::Path(Comparison::Matches(pattern.to_owned()));
            assert_eq!(of(test, false).as_deref(), extension, "{pattern}");
        }
    }
}
