//! `return` with `$1`: the URL has groups of the condition around it.

use sluice_ir::{
    CaptureSubject, CapturedRedirect, Comparison, Condition, Hostname, PathRegex, PathRewrite,
    RedirectTo, RegexScope, RequestTest, ResponseContent, Scheme, Template, TemplatePart,
};
use sluice_pattern::Subject;
use sluice_syntax::template::{self, Target};
use sluice_syntax::variables::{self, Segment};

use super::comparable::Comparable;
use super::rewrites;
use crate::snippet::locations::{self, LocationPath};

/// The host that was asked for; the port of `$http_host` is left away, as in other redirects.
const HOSTS: [&str; 4] = ["$host", "$server_name", "$http_host", "$best_http_host"];
/// The query of the request, with its question mark.
const QUERY: [&str; 2] = ["$is_args$args", "$is_args$query_string"];

/// A condition whose groups a URL may have: a pattern of the path, or of the path and the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::snippet) struct Captures {
    of: CaptureSubject,
    value: Comparison,
    regex: PathRegex,
}

impl Captures {
    /// Reads the only condition of a block. `None`: it has no groups.
    pub(in crate::snippet) fn new(ways: &[Vec<Condition>]) -> Option<Self> {
        let [way] = ways else { return None };
        let [
            Condition {
                test,
                negated: false,
            },
        ] = way.as_slice()
        else {
            return None;
        };
        let (of, value) = match test {
            RequestTest::Path(value) => (CaptureSubject::Path, value),
            RequestTest::RequestUri(value) => (CaptureSubject::RequestUri, value),
            _ => return None,
        };
        let (found, found_in_any_case) = match of {
            CaptureSubject::Path => (Subject::InPath, Subject::InPathInAnyCase),
            CaptureSubject::RequestUri => (Subject::Text, Subject::TextInAnyCase),
        };
        let regex = match value {
            Comparison::Equals(_) => return None,
            Comparison::Matches(pattern) => locations::pattern(pattern, found),
            Comparison::MatchesIgnoreCase(pattern) => {
                locations::pattern(pattern, found_in_any_case)
            }
        };
        let value = value.clone();
        regex.map(|regex| Captures { of, value, regex })
    }

    /// The groups of a location, whose pattern nginx has compared last.
    pub(in crate::snippet) fn of_location(path: &LocationPath) -> Option<Self> {
        let LocationPath::Pattern(regex) = path else {
            return None;
        };
        let pattern = regex.pattern.clone();
        let value = match regex.scope {
            RegexScope::AnywhereInAnyCase => Comparison::MatchesIgnoreCase(pattern),
            RegexScope::Anywhere => Comparison::Matches(pattern),
            RegexScope::Beginning => return None,
        };
        Some(Captures {
            of: CaptureSubject::Path,
            value,
            regex: regex.clone(),
        })
    }

    /// Reads a URL with `$uri`, which is a group of a pattern that takes all of the path: decoded it may end a line of the response,
    /// and what is of a group is encoded again.
    pub(super) fn with_path(url: &str, comparable: Comparable) -> Option<ResponseContent> {
        let piece = |segment| match segment {
            Segment::Text(text) => Some(text.to_owned()),
            Segment::Variable { name, .. } if variables::canonical(name) == "uri" => {
                Some("$1".to_owned())
            }
            // Groups of something else.
            Segment::Variable { name, .. } if name.starts_with(|c: char| c.is_ascii_digit()) => {
                None
            }
            Segment::Variable { name, braced: true } => Some(format!("${{{name}}}")),
            Segment::Variable { name, .. } => Some(format!("${name}")),
            Segment::Dollar => None,
        };
        let url: Option<String> = variables::segments(url).map(piece).collect();
        let pattern = "^(/.*)";
        let all = Captures {
            of: CaptureSubject::Path,
            value: Comparison::Matches(pattern.to_owned()),
            regex: locations::pattern(pattern, Subject::InPath)?,
        };
        all.redirect(&url?, comparable)
    }

    /// Reads a URL with groups. `None`: it has none, or the data plane cannot make it.
    pub(in crate::snippet) fn redirect(
        &self,
        url: &str,
        comparable: Comparable,
    ) -> Option<ResponseContent> {
        let mut without_query = QUERY.iter().filter_map(|query| url.strip_suffix(query));
        let (url, keeps_query) = match without_query.next() {
            Some(url) => (url, true),
            None => (url, false),
        };
        let to = self.target(url)?;
        let can_make = match self.of {
            // A group may have the query already.
            CaptureSubject::RequestUri if keeps_query => false,
            CaptureSubject::RequestUri => {
                comparable.received_target || self.ends_with_target(path_of(&to)?)
            }
            CaptureSubject::Path => true,
        };
        can_make.then(|| {
            ResponseContent::Captured(CapturedRedirect {
                of: self.of,
                value: self.value.clone(),
                to,
                keeps_query,
            })
        })
    }

    fn target(&self, url: &str) -> Option<RedirectTo> {
        let schemes = [
            ("http://", Some(Scheme::Http)),
            ("https://", Some(Scheme::Https)),
            ("$scheme://", None),
        ];
        let mut schemes = schemes
            .into_iter()
            .filter_map(|(text, scheme)| Some((url.strip_prefix(text)?, scheme)));
        let Some((rest, scheme)) = schemes.next() else {
            return Some(RedirectTo::Parts {
                scheme: None,
                host: None,
                port: None,
                path: Some(PathRewrite::Template(self.path(url)?)),
            });
        };
        let own = HOSTS.iter().find_map(|host| rest.strip_prefix(host));
        let rest = own.unwrap_or(rest);
        let end = rest.find(['/', '$'])?;
        let (authority, path) = rest.split_at_checked(end)?;
        let path = self.path(path)?;
        let (host, port) = match own {
            Some(_) if authority.is_empty() => (None, None),
            Some(_) => {
                let port = authority.strip_prefix(':')?.parse().ok()?;
                (None, Some(port))
            }
            None => {
                let (host, port) = template::host_and_port(authority)?;
                (Some(host), port)
            }
        };
        Some(match (scheme, host) {
            (Some(scheme), Some(host)) => RedirectTo::Template {
                scheme: scheme.as_str(),
                host,
                port,
                path,
            },
            (scheme, host) => RedirectTo::Parts {
                scheme,
                host: match host {
                    Some(host) => Some(Hostname::parse(&host).ok()?),
                    None => None,
                },
                port,
                path: Some(PathRewrite::Template(path)),
            },
        })
    }

    fn path(&self, text: &str) -> Option<Template> {
        let path = Target::parse(text).ok()?.with_groups(self.regex.groups);
        let has_groups = path.0.iter().any(|it| matches!(it, TemplatePart::Group(_)));
        (has_groups && rewrites::is_absolute(&path, &self.regex)).then_some(path)
    }

    /// True if the only group is all of the target behind a text, and ends the URL: with the query behind it that is the same.
    fn ends_with_target(&self, path: &Template) -> bool {
        let pattern = &self.regex.pattern;
        let pattern = pattern.strip_suffix('$').unwrap_or(pattern);
        let mut before = ["(.*)", "(/.*)"].iter();
        let before = before.find_map(|group| pattern.strip_suffix(group));
        let is_text = before.is_some_and(|text| !text.contains(['(', '|']));
        let groups = |it: &&TemplatePart| !matches!(it, TemplatePart::Text(_));
        is_text
            && path.0.iter().filter(groups).count() == 1
            && path.0.last() == Some(&TemplatePart::Group(1))
    }
}

/// True if a condition compares a pattern: behind it other groups than before are there, or none.
pub(super) fn compares_a_pattern(condition: &Condition) -> bool {
    let comparison = match &condition.test {
        RequestTest::Cookie { .. } => return false,
        RequestTest::Host(comparison)
        | RequestTest::Path(comparison)
        | RequestTest::Query(comparison)
        | RequestTest::RemoteAddress(comparison)
        | RequestTest::Scheme(comparison)
        | RequestTest::Method(comparison)
        | RequestTest::RequestUri(comparison)
        | RequestTest::Argument {
            value: comparison, ..
        }
        | RequestTest::Header {
            value: comparison, ..
        } => comparison,
    };
    !matches!(comparison, Comparison::Equals(_))
}

fn path_of(to: &RedirectTo) -> Option<&Template> {
    match to {
        RedirectTo::Template { path, .. }
        | RedirectTo::Parts {
            path: Some(PathRewrite::Template(path)),
            ..
        } => Some(path),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(test: RequestTest, url: &str, comparable: Comparable) -> Option<String> {
        let condition = Condition {
            test,
            negated: false,
        };
        let captures = Captures::new(&[vec![condition]])?;
        let content = captures.redirect(url, comparable)?;
        serde_json::to_string(&content).ok()
    }

    const ENVOY: Comparable = Comparable {
        received_target: false,
        target_parts: false,
        ..Comparable::BY_NGINX
    };

    fn path(pattern: &str, url: &str) -> Option<String> {
        let test = || RequestTest::Path(Comparison::Matches(pattern.to_owned()));
        let of_envoy = read(test(), url, ENVOY);
        let of_nginx = read(test(), url, Comparable::BY_NGINX);
        assert!(of_envoy.is_none() || of_envoy == of_nginx);
        of_envoy
    }

    fn target(pattern: &str, url: &str) -> [bool; 2] {
        [ENVOY, Comparable::BY_NGINX].map(|comparable| {
            let test = RequestTest::RequestUri(Comparison::Matches(pattern.to_owned()));
            read(test, url, comparable).is_some()
        })
    }

    #[test]
    fn a_url_has_groups_where_its_path_begins_with_a_slash() {
        for (pattern, url, shown) in [
            (
                "^/a/(.*)",
                "/b/$1",
                r#"{"parts":{"scheme":null,"host":null,"port":null,"path":"/b/$1"}}"#,
            ),
            (
                "^/a(/.*)$",
                "https://b.test$1$is_args$args",
                r#"{"template":{"scheme":"https","host":"b.test","port":null,"path":"$1"}},"keeps_query":true"#,
            ),
            (
                "^/(a|b)/(c)",
                "$scheme://$host:8443/$2/$1",
                r#"{"parts":{"scheme":null,"host":null,"port":8443,"path":"/$2/$1"}}"#,
            ),
            (
                "^/a/(.*)",
                "https://$http_host/$1",
                r#"{"parts":{"scheme":"https","host":null,"port":null,"path":"/$1"}}"#,
            ),
        ] {
            let read = path(pattern, url).unwrap_or_else(|| panic!("{url}"));
            assert!(read.contains(shown), "{read}");
        }
        for (pattern, url) in [
            ("^/a/(.*)", "/b"),
            ("^/a/(.*)", "$1"),
            ("^/a/(.*)", "https://b.test$1"),
            ("^/a/(.*)", "https://b.test.$1/a"),
            ("^/a/(.*)", "https://$1/a"),
            ("^/a/(.*)", "/b?a=$1"),
            ("^/a/(.*)", "/b/$1$uri"),
            ("^/a/(.*)", "/b/$1?$args"),
            ("^/a/(.*)", "/b/$2"),
            ("^/a/(.*)", "https://$hostx/$1"),
            (r"\b(a)", "/b/$1"),
        ] {
            assert_eq!(path(pattern, url), None, "{pattern} {url}");
        }
    }

    #[test]
    fn envoy_puts_the_query_behind_the_path() {
        assert_eq!(target("^/a/(.*)$", "/b/$1"), [true, true]);
        assert_eq!(target("^/a(/.*)", "https://b.test$1"), [true, true]);
        for (pattern, url) in [
            ("^/a/(.*)$", "/b/$1/c"),
            ("^/a/(.*)", "/b/$1/$1"),
            ("^/(a|b)/(.*)", "/$1/$2"),
            ("^/a/([^/]*)", "/b/$1"),
        ] {
            assert_eq!(target(pattern, url), [false, true], "{pattern} {url}");
        }
        assert_eq!(target("^/a/(.*)", "/b/$1$is_args$args"), [false, false]);
    }
}
