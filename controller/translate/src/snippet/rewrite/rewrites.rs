//! `rewrite`: redirects, and paths that pods see in place of those that clients asked for.

use std::borrow::Cow;

use sluice_ir::{PathRegex, PathRewrite, RedirectTo, ResponseContent, Template, TemplatePart};
use sluice_pattern::Subject;
use sluice_syntax::template::{self, Target};
use sluice_syntax::variables::{self, Segment};

use crate::snippet::locations;
use crate::snippet::syntax::tree::Directive;
use crate::support::DataPlane;

/// Of one snippet. Each is a route beside that of every path.
pub(crate) const MAX_PATH_CHANGES: usize = 4;

/// `rewrite PATTERN PATH break`, or `last`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathChange {
    /// Found in the path.
    pub(crate) regex: PathRegex,
    /// All of the path that pods see, with groups of the pattern.
    pub(crate) to: Template,
    /// `last`: nginx looks for the location again.
    pub(crate) is_last: bool,
}

/// Rewrites of the path in one `server-snippet`. Each is a route of every host.
pub(super) const MAX_SERVER_REWRITES: usize = 16;

/// `rewrite PATTERN PATH[?QUERY] [last | break]` of a server: nginx looks for the location of the new path, and rewrites no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerRewrite {
    pub(crate) change: PathChange,
    /// Comes before that of the request. Only with a path that has no groups.
    pub(crate) query: Option<String>,
    /// A query of the request cannot be put behind it.
    pub(crate) takes_no_query: bool,
    /// Without a flag: nginx goes on with what follows.
    pub(super) goes_on: bool,
    /// Line of the snippet.
    pub(crate) line: usize,
}

/// Reads a directive of a server; `None`: it is no such one, or cannot be served.
pub(super) fn server_rewrite(
    directive: &Directive,
    data_plane: Option<DataPlane>,
) -> Option<ServerRewrite> {
    let words = directive.words();
    let (pattern, target, goes_on) = match (words.as_slice(), &directive.block) {
        (["rewrite", pattern, target], None) => (*pattern, *target, true),
        (["rewrite", pattern, target, "last" | "break"], None) => (*pattern, *target, false),
        _ => return None,
    };
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let regex = locations::of_path(pattern, Subject::InPath)?;
    let to = Target::parse(path).ok().filter(|it| !it.is_url())?;
    let to = to.with_groups(regex.groups);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"=&-_.~/:,".contains(&byte);
    let is_query = |query: &str| {
        let is_constant = to.as_literal().is_some() && query.bytes().all(is_plain);
        is_constant && !query.is_empty()
    };
    if !is_absolute(&to, &regex) || !query.is_none_or(is_query) {
        return None;
    }
    Some(ServerRewrite {
        change: PathChange {
            regex,
            to,
            is_last: true,
        },
        query: query.map(str::to_owned),
        // Envoy writes it behind the new path as it is.
        takes_no_query: query.is_some() && data_plane != Some(DataPlane::Nginx),
        goes_on,
        line: directive.line,
    })
}

/// Reads a directive; `None`: it is no such one, or cannot be served.
pub(super) fn path_change(directive: &Directive) -> Option<PathChange> {
    let words = directive.words();
    let (["rewrite", pattern, target, flag @ ("break" | "last")], None) =
        (words.as_slice(), &directive.block)
    else {
        return None;
    };
    let regex = locations::of_path(pattern, Subject::InPath)?;
    let target = Target::parse(target).ok().filter(|it| !it.is_url())?;
    let to = target.with_groups(regex.groups);
    is_absolute(&to, &regex).then_some(PathChange {
        regex,
        to,
        is_last: *flag == "last",
    })
}

/// `rewrite PATTERN TARGET FLAG` that redirects.
pub(in crate::snippet) struct Redirect<'a> {
    pub(in crate::snippet) pattern: &'a str,
    target: &'a str,
    pub(in crate::snippet) status: u16,
}

impl<'a> Redirect<'a> {
    /// Reads the words after `rewrite`. `None`: nginx redirects nobody.
    pub(in crate::snippet) fn read(words: &[&'a str]) -> Option<Self> {
        let (pattern, target, status) = match *words {
            [pattern, target, "permanent"] => (pattern, target, 301),
            [pattern, target, "redirect"] => (pattern, target, 302),
            [pattern, target] | [pattern, target, "last" | "break"] if is_url(target) => {
                (pattern, target, 302)
            }
            _ => return None,
        };
        Some(Redirect {
            pattern,
            target,
            status,
        })
    }

    /// As a redirect that compares the path itself, and that the query goes along with. `None`: it is another one.
    pub(in crate::snippet) fn rewritten(&self) -> Option<ResponseContent> {
        let regex = locations::of_path(self.pattern, Subject::InPath)?;
        let target = Target::parse(self.target).ok()?;
        let to = if let Some((scheme, authority, path)) = target.as_url() {
            let (host, port) = template::host_and_port(&authority)?;
            let path = path.with_groups(regex.groups);
            RedirectTo::Template {
                scheme,
                host,
                port,
                path,
            }
        } else {
            let path = target.with_groups(regex.groups);
            is_absolute(&path, &regex).then_some(())?;
            RedirectTo::Parts {
                scheme: None,
                host: None,
                port: None,
                path: Some(PathRewrite::Template(path)),
            }
        };
        Some(ResponseContent::Rewritten { regex, to })
    }

    /// The URL that `return` has for it. The error: why there is no such URL.
    pub(in crate::snippet) fn url(&self) -> Result<Cow<'a, str>, &'static str> {
        /// These have a query in them, or are one.
        const QUERIES: [&str; 4] = ["request_uri", "args", "query_string", "is_args"];
        if let Some(url) = self.target.strip_suffix('?') {
            return Ok(Cow::Borrowed(url));
        }
        let is_query = |segment: Segment<'_>| matches!(segment, Segment::Variable { name, .. } if QUERIES.contains(&&*variables::canonical(name)));
        if variables::segments(self.target).any(is_query) {
            Err(
                "nginx puts the query behind it once more; end it with `?`, or use `return 301 https://HOST$request_uri`",
            )
        } else if self.target.contains('?') {
            Err(
                "the query of the request cannot follow one of the target; end that with `?`, which drops the former",
            )
        } else {
            Ok(Cow::Owned(format!("{}$is_args$args", self.target)))
        }
    }
}

/// True of a target that nginx redirects to without being told.
pub(in crate::snippet) fn is_url(target: &str) -> bool {
    let mut schemes = ["http://", "https://", "$scheme"].iter();
    schemes.any(|scheme| target.starts_with(scheme))
}

/// True if a path always begins with a slash: its text does, or a group of the path that was asked for, or what is behind a group at
/// its beginning that may be empty.
pub(super) fn is_absolute(path: &Template, regex: &PathRegex) -> bool {
    let begins_so = |part: Option<&TemplatePart>| matches!(part, Some(TemplatePart::Text(text)) if text.starts_with('/'));
    let mut parts = path.0.iter();
    match parts.next() {
        Some(TemplatePart::Group(1)) => {
            let is_at_beginning =
                regex.pattern.starts_with("^(") && !regex.pattern.starts_with("^(?");
            let is_so = is_at_beginning && begins_so(parts.next());
            let pattern = &regex.pattern;
            !regex.alternatives && is_so || sluice_pattern::first_group_begins_with_slash(pattern)
        }
        first => begins_so(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snippet::syntax::tree::directives;

    #[test]
    fn a_server_looks_for_paths_that_begin_with_a_slash() {
        let rewrite = |text: &str| server_rewrite(&directives(text).unwrap()[0], None);
        for (good, query) in [
            ("rewrite ^/old /new last;", None),
            ("rewrite ^/old /new break;", None),
            ("rewrite ^/old/(.*)$ /new/$1;", None),
            (
                "rewrite ^/old /new?a=b&c=d.json last;",
                Some("a=b&c=d.json"),
            ),
        ] {
            let read = rewrite(good).unwrap_or_else(|| panic!("{good}"));
            assert_eq!(read.query.as_deref(), query, "{good}");
            assert_eq!(
                (read.takes_no_query, read.goes_on),
                (query.is_some(), good.ends_with("$1;"))
            );
        }
        let text = "rewrite ^/old /new?a=b last;";
        let of_nginx = server_rewrite(&directives(text).unwrap()[0], Some(DataPlane::Nginx));
        assert!(!of_nginx.unwrap().takes_no_query);
        for bad in [
            "rewrite ^/old /new permanent;",
            "rewrite ^/old /new? last;",
            "rewrite ^/old/(.*)$ /new?a=$1 last;",
            "rewrite ^/old/(.*)$ /new/$1?a=b last;",
            "rewrite ^/old /new?a=$args last;",
            "rewrite ^/old /new$uri last;",
            "rewrite ^/old/(.*)$ $1 last;",
            "rewrite ^/(?!old)b /new last;",
        ] {
            assert_eq!(rewrite(bad), None, "{bad}");
        }
    }

    #[test]
    fn pods_see_paths_that_begin_with_a_slash() {
        let change = |text: &str| path_change(&directives(text).unwrap()[0]);
        for good in [
            "rewrite ^/api/(.*)$ /$1 break;",
            "rewrite /api/(.*) /v2/$1 break;",
            "rewrite ^/api(/.*)$ $1 break;",
            "rewrite ^(.*)$ /app$1 break;",
            "rewrite ^(/old)/(.*)$ $1/new break;",
            "rewrite ^(/old/.*)$ $1 break;",
            "rewrite ^/a/(.*)$ /$1 last;",
        ] {
            assert!(change(good).is_some(), "{good}");
        }
        for bad in [
            "rewrite ^/api(.*)$ $1 break;",
            "rewrite ^/api(/.*)?$ $1 break;",
            "rewrite ^/api\\(/.*)$ $1 break;",
            "rewrite ^/a(/.*)$|b $1 break;",
            "rewrite ^/a/(.*)$ b/$1 break;",
            "rewrite ^/a/(.*)$ /$1? break;",
            "rewrite ^/a/(.*)$ /$1?b=c break;",
            "rewrite ^/a/(.*)$ $uri/$1 break;",
            "rewrite ^/a/(.*)$ http://a.test/$1 break;",
            "rewrite ^/a/(.*)$ /$1 twice;",
            "rewrite (?=a) / break;",
        ] {
            assert_eq!(change(bad), None, "{bad}");
        }
    }
}
