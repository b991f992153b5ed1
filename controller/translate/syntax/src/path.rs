//! Paths of Ingress rules.

use sluice_pattern::{Shape, Subject};

use crate::text::shortened;

/// Longer ones are no paths but attacks on the matcher.
pub const LONGEST: usize = 4096;

/// Type of a path. No type and `ImplementationSpecific` mean `Prefix`, as in ingress-nginx.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathType {
    /// This path alone.
    Exact,
    /// The path and those below it.
    Prefix,
}

impl PathType {
    /// Parses `pathType`.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "Exact" => Ok(PathType::Exact),
            "" | "Prefix" | "ImplementationSpecific" => Ok(PathType::Prefix),
            other => Err(format!(
                "expected Exact, Prefix or ImplementationSpecific, got {:?}",
                shortened(other)
            )),
        }
    }
}

/// Checks if a text can be a path or a pattern at all. An empty one is `/`.
pub fn checked(path: Option<&str>) -> Result<&str, String> {
    let path = path.filter(|path| !path.is_empty()).unwrap_or("/");
    if !path.starts_with('/') {
        return Err(format!(
            "expected a path that begins with a slash, got {:?}",
            shortened(path)
        ));
    }
    if path.len() > LONGEST {
        return Err(format!(
            "expected at most {LONGEST} bytes, got {}",
            path.len()
        ));
    }
    match first_bad(path) {
        Some((_, bad)) => Err(format!(
            "expected the characters of a URI path, got {bad:?} in {:?}",
            shortened(path)
        )),
        None => Ok(path),
    }
}

/// The first character that neither paths nor patterns may have, and where it is. `<` and `>` are in groups that look behind or have
/// a name, and in atomic ones.
fn first_bad(path: &str) -> Option<(usize, char)> {
    path.char_indices().find(|(at, c)| match c {
        '<' | '>' => !path.get(..*at).is_some_and(|before| {
            let begins_group = before.ends_with("(?") || (*c == '<' && before.ends_with("(?P"));
            begins_group || (*c == '>' && ends_with_name(before))
        }),
        c => !c.is_ascii_graphic() || "\"#`".contains(*c),
    })
}

/// True if it ends with `(?<name` or `(?P<name`.
fn ends_with_name(text: &str) -> bool {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let before = text.trim_end_matches(is_of_name);
    before.len() < text.len() && (before.ends_with("(?<") || before.ends_with("(?P<"))
}

/// Checks a path that is matched as text.
pub fn literal(path: &str) -> Result<(), String> {
    match path.chars().find(|c| !is_path_char(*c)) {
        None => Ok(()),
        Some(bad) => Err(format!(
            "expected the characters of a URI path, got {bad:?} in {:?} (regular expressions need use-regex)",
            shortened(path)
        )),
    }
}

/// Checks a path that is a pattern.
pub fn pattern(path: &str) -> Result<Shape, String> {
    sluice_pattern::check(path, Subject::Path).map_err(|wrong| {
        format!(
            "expected a regular expression that RE2 and PCRE share, got {wrong} in {:?}",
            shortened(path)
        )
    })
}

/// The prefix of all that a path may take of which it is not known whether it is a pattern. A prefix takes whole segments.
pub fn beginning(path: &str) -> String {
    if let Some(text) = sluice_pattern::literal(path) {
        return text;
    }
    let beginning = sluice_pattern::literal_prefix(path);
    let ends_a_segment = path
        .strip_prefix(&beginning)
        .is_some_and(|rest| rest.starts_with("(/|$)"));
    let end = if ends_a_segment {
        beginning.len()
    } else {
        beginning.rfind('/').unwrap_or_default()
    };
    match beginning.get(..end) {
        Some(segments) if !segments.is_empty() => segments.to_owned(),
        _ => "/".to_owned(),
    }
}

/// The same of a path that is not [`checked`]: of the text before what is wrong in it.
pub fn readable_beginning(path: Option<&str>) -> String {
    let path = path.filter(|path| path.starts_with('/')).unwrap_or("/");
    let end = first_bad(path)
        .map_or(path.len(), |(at, _)| at)
        .min(LONGEST);
    let readable = path.get(..end).unwrap_or("/");
    // Anything may follow.
    beginning(&format!("{readable}.*"))
}

/// The same of a path that is not [`literal`]: of the text before what is wrong in it.
pub fn literal_beginning(path: &str) -> String {
    let end = path.find(|c| !is_path_char(c)).unwrap_or(path.len());
    let segments = path
        .get(..end)
        .and_then(|text| text.rsplit_once('/'))
        .map(|(segments, _)| segments);
    segments
        .filter(|segments| !segments.is_empty())
        .unwrap_or("/")
        .to_owned()
}

/// The prefixes that match a path and everything below it: with a slash at its end, it is a path of its own.
pub fn prefixes_below(path: &str) -> impl Iterator<Item = String> {
    let slashed = (!path.ends_with('/')).then(|| format!("{path}/"));
    std::iter::once(path.to_owned()).chain(slashed)
}

/// RFC 3986: `pchar` and the slash.
fn is_path_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:@".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_and_prefix_exist() {
        assert_eq!(PathType::parse("Exact"), Ok(PathType::Exact));
        for prefix in ["", "Prefix", "ImplementationSpecific"] {
            assert_eq!(PathType::parse(prefix), Ok(PathType::Prefix));
        }
        assert!(PathType::parse("exact").is_err());
        assert_eq!(checked(None), Ok("/"));
        assert_eq!(checked(Some("")), Ok("/"));
    }

    #[test]
    fn the_beginning_of_a_path_is_made_of_whole_segments() {
        for (path, prefix) in [
            ("/a/b", "/a/b"),
            ("/admin(/|$)(.*)", "/admin"),
            ("/admin(.*)", "/"),
            ("/a/b.*", "/a"),
            ("/a/(b)", "/a"),
            ("/a|/b", "/"),
            ("/a\\.b", "/a.b"),
        ] {
            assert_eq!(beginning(path), prefix, "{path}");
        }
    }

    #[test]
    fn of_a_path_that_is_none_the_segments_before_what_is_wrong_count() {
        let long = format!("/a/{}", "b".repeat(2 * LONGEST));
        for (path, prefix) in [
            ("/admin/<x>", "/admin"),
            ("/admin<x>", "/"),
            ("/admin/(?<=n/)secret", "/admin"),
            ("/a/b c", "/a"),
            ("/a|/b c", "/"),
            ("/\u{e9}", "/"),
            ("admin", "/"),
            ("", "/"),
            (&*long, "/a"),
        ] {
            assert_eq!(readable_beginning(Some(path)), prefix, "{path}");
        }
    }

    #[test]
    fn of_a_path_that_is_not_literal_the_segments_before_what_is_wrong_count() {
        for (path, prefix) in [
            ("/admin/{x}", "/admin"),
            ("/admin/x{y}/z", "/admin"),
            ("/a/b/[c]", "/a/b"),
            ("/admin[1]", "/"),
            ("/{x}", "/"),
            ("/a?b", "/"),
        ] {
            assert_eq!(literal_beginning(path), prefix, "{path}");
        }
    }

    #[test]
    fn what_is_no_uri_path_is_refused() {
        for bad in [
            "a",
            "/bla{alias /x/;}",
            "/a b",
            "/a\n",
            "/a\"",
            "/a#b",
            "/\u{e9}",
            "/a\0",
            "/<a>",
            "/(?<>b)",
            "/(?<a-b>)",
            "/(?Pa>b)",
        ] {
            assert!(checked(Some(bad)).is_err(), "{bad:?}");
        }
        assert!(checked(Some(&format!("/{}", "a".repeat(LONGEST)))).is_err());
        for bad in [
            "/a?b",
            "/^(x|y)$",
            "/[a]",
            "/a\\b",
            "/(?<=a)b",
            "/(?<a>b)",
            "/(?P<a_1>b)",
            "/(?>a)b",
        ] {
            assert!(
                checked(Some(bad)).is_ok() && literal(bad).is_err(),
                "{bad:?}"
            );
        }
    }
}
