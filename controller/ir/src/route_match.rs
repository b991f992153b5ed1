//! Requests that a route takes: path, method, headers and query parameters.

use std::cmp::Reverse;

use serde::Serialize;

use crate::{HeaderName, PathMatch, is_default};

/// All of it has to match.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RouteMatch {
    /// Path of the request, decoded and without the query.
    pub path: PathMatch,
    /// Method, in the case of RFC 9110 (`GET`); `None` is any.
    #[serde(skip_serializing_if = "is_default")]
    pub method: Option<Box<str>>,
    /// Headers, by name. A header that the client sent several times has its values joined with commas.
    #[serde(skip_serializing_if = "is_default")]
    pub headers: Vec<HeaderMatch>,
    /// Query parameters, by name. Of a parameter that the client sent several times the first value counts.
    #[serde(skip_serializing_if = "is_default")]
    pub query: Vec<QueryMatch>,
}

/// One header of a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct HeaderMatch {
    /// Name of the header, without regard to case.
    pub name: HeaderName,
    /// Its value.
    pub value: ValueMatch,
}

/// One query parameter of a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct QueryMatch {
    /// Name of the parameter, as it is sent.
    pub name: String,
    /// Its value.
    pub value: ValueMatch,
}

/// A value that has to match as a whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueMatch {
    /// Any value, an empty one too.
    Present,
    /// This value, byte for byte.
    Exact(String),
    /// A regular expression over the whole value. Only what RE2 and PCRE both know and mean the same by is in one.
    Regex(String),
}

/// Order in which routes of one server are tried, the first of them first.
///
/// Gateway API's: an exact path before the longest prefix before patterns, then a method, then the number of headers, then the
/// number of query parameters. Patterns are in order of their length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatchPrecedence {
    kind: u8,
    path: Reverse<usize>,
    method: Reverse<bool>,
    headers: Reverse<usize>,
    query: Reverse<usize>,
}

impl RouteMatch {
    /// Match on nothing but the path.
    #[must_use]
    pub fn path(path: PathMatch) -> Self {
        RouteMatch {
            path,
            method: None,
            headers: Vec::new(),
            query: Vec::new(),
        }
    }

    /// True if nothing but the path has to match.
    #[must_use]
    pub fn is_path_only(&self) -> bool {
        self.method.is_none() && self.headers.is_empty() && self.query.is_empty()
    }

    /// Precedence among the routes of a server whose input does not say another order.
    #[must_use]
    pub fn precedence(&self) -> MatchPrecedence {
        let kind = match self.path {
            PathMatch::Exact(_) => 0,
            PathMatch::Prefix(_) => 1,
            PathMatch::Regex(_) => 2,
        };
        MatchPrecedence {
            kind,
            path: Reverse(self.path.text().len()),
            method: Reverse(self.method.is_some()),
            headers: Reverse(self.headers.len()),
            query: Reverse(self.query.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(path: &str) -> RouteMatch {
        RouteMatch::path(PathMatch::Prefix(path.to_owned()))
    }

    #[test]
    fn more_specific_matches_come_first() {
        let get = |path| RouteMatch {
            method: Some("GET".into()),
            ..prefix(path)
        };
        let header = || HeaderMatch {
            name: HeaderName::from_static("server"),
            value: ValueMatch::Present,
        };
        let with_header = |path| RouteMatch {
            headers: vec![header()],
            ..prefix(path)
        };
        let with_query = |path| RouteMatch {
            query: vec![QueryMatch {
                name: "q".to_owned(),
                value: ValueMatch::Exact("1".to_owned()),
            }],
            ..prefix(path)
        };
        let ordered = [
            RouteMatch::path(PathMatch::Exact("/a".to_owned())),
            prefix("/a/b"),
            get("/a"),
            with_header("/a"),
            with_query("/a"),
            prefix("/a"),
            prefix("/"),
        ];
        for pair in ordered.windows(2) {
            assert!(pair[0].precedence() < pair[1].precedence(), "{pair:?}");
        }
    }
}
