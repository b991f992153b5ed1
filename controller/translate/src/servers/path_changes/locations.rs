//! Changes of paths in a location of a `server-snippet`, which takes all that begins with its text or has its pattern.

use sluice_ir::{PathMatch, PathRegex, RegexScope};
use sluice_pattern::Subject;

use super::{Unknown, beginning};
use crate::snippet::REST;

/// The pattern of all that a location and a pattern take; `None`: nothing.
pub(super) fn within(
    location: &PathMatch,
    regex: &PathRegex,
) -> Result<Option<PathRegex>, Unknown> {
    let PathMatch::Regex(location) = location else {
        return Err(Unknown);
    };
    if location == regex {
        return Ok(Some(regex.clone()));
    }
    let is_known = |regex: &PathRegex| !regex.alternatives && regex.conditions.is_empty();
    if !is_known(location) || !is_known(regex) {
        return Err(Unknown);
    }
    let (text, rest) = beginning(location.pattern.strip_prefix('^').ok_or(Unknown)?);
    if !matches!(rest, "" | "(.*)" | ".*" | REST) {
        return Err(Unknown);
    }
    let pattern = match location.scope {
        RegexScope::AnywhereInAnyCase => in_any_case(&text, &regex.pattern)?,
        RegexScope::Anywhere => below(&text, &regex.pattern)?,
        RegexScope::Beginning => return Err(Unknown),
    };
    let Some(pattern) = pattern else {
        return Ok(None);
    };
    sluice_pattern::check(&pattern, Subject::InPath).map_err(|_| Unknown)?;
    Ok(Some(PathRegex {
        pattern,
        ..regex.clone()
    }))
}

/// The part of a pattern that begins with a text in any case.
fn in_any_case(text: &str, pattern: &str) -> Result<Option<String>, Unknown> {
    let (literal, _) = beginning(pattern.strip_prefix('^').ok_or(Unknown)?);
    let (text, literal) = (text.to_ascii_lowercase(), literal.to_ascii_lowercase());
    if literal.starts_with(&text) {
        Ok(Some(pattern.to_owned()))
    } else if text.starts_with(&literal) {
        Err(Unknown)
    } else {
        Ok(None)
    }
}

/// The part of a pattern that begins with a text.
fn below(text: &str, pattern: &str) -> Result<Option<String>, Unknown> {
    const ALL: [&str; 2] = ["(.*)", "(.*)$"];
    let anchored = pattern.strip_prefix('^');
    let (literal, tail) = beginning(anchored.unwrap_or(pattern));
    if anchored.is_none() {
        // It is found where the path begins, before any other place.
        let is_first = literal == text && ALL.contains(&tail);
        return match text {
            "/" => Ok(Some(pattern.to_owned())),
            _ if is_first => Ok(Some(format!("^{pattern}"))),
            _ => Err(Unknown),
        };
    }
    if literal.starts_with(text) {
        return Ok(Some(pattern.to_owned()));
    }
    let Some(group) = text.strip_prefix(literal.as_str()) else {
        return Ok(None);
    };
    let (literal, group) = (
        sluice_pattern::escape(&literal),
        sluice_pattern::escape(group),
    );
    match tail {
        "" => Ok(Some(format!("^{literal}{group}"))),
        "(.*)" => Ok(Some(format!("^{literal}({group}.*)"))),
        "(.*)$" => Ok(Some(format!("^{literal}({group}.*)$"))),
        _ => Err(Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regex(pattern: &str, scope: RegexScope) -> PathRegex {
        let shape = sluice_pattern::check(pattern, Subject::InPath).unwrap();
        PathRegex {
            groups: shape.groups,
            alternatives: shape.alternatives,
            scope,
            ..PathRegex::plain(pattern.to_owned())
        }
    }

    fn pattern(
        location: &str,
        scope: RegexScope,
        written: &str,
    ) -> Result<Option<String>, Unknown> {
        let location = PathMatch::Regex(regex(location, scope));
        let found = within(&location, &regex(written, RegexScope::Anywhere))?;
        Ok(found.map(|regex| regex.pattern))
    }

    #[test]
    fn a_pattern_is_that_of_what_begins_with_the_location() {
        for (location, written, within) in [
            ("^/", "/api/(.*)", "/api/(.*)"),
            ("^/api", "^/api/(.*)$", "^/api/(.*)$"),
            ("^/api", "^/api/v1/(.*)$", "^/api/v1/(.*)$"),
            ("^/api", "^/api(/|$)(.*)", "^/api(/|$)(.*)"),
            ("^/api/", "/api/(.*)", "^/api/(.*)"),
            ("^/api/", "^/api(.*)$", "^/api(/.*)$"),
            ("^/a\\.b/", "^/(.*)", "^/(a\\.b/.*)"),
            ("^/api/([\\s\\S]*)", "^/api/(.*)$", "^/api/(.*)$"),
            ("^/api/(.*)", "^/api/(.*)$", "^/api/(.*)$"),
            ("^/api/(.*)$", "^/api/(.*)$", "^/api/(.*)$"),
            ("/a[0-9]/(.*)", "/a[0-9]/(.*)", "/a[0-9]/(.*)"),
            ("^/api", "^", "^/api"),
        ] {
            let found = pattern(location, RegexScope::Anywhere, written);
            assert_eq!(found, Ok(Some(within.to_owned())), "{location} {written}");
        }
        let other = pattern("^/web", RegexScope::Anywhere, "^/api/(.*)$");
        assert_eq!(other, Ok(None));
        let any_case = |written| pattern("^/API/", RegexScope::AnywhereInAnyCase, written);
        assert_eq!(any_case("^/api/(.*)"), Ok(Some("^/api/(.*)".to_owned())));
        assert_eq!(any_case("^/web/(.*)"), Ok(None));
        assert_eq!(any_case("^/(.*)"), Err(Unknown));
    }

    #[test]
    fn a_pattern_that_may_reach_beyond_the_location_is_none() {
        for (location, written) in [
            ("^/api", "/api/(.*)"),
            ("^/api/", "/(.*)"),
            ("^/api/", "/api/[a-z](.*)"),
            ("^/api/v2", "^/api/?(.*)$"),
            ("^/api/", "^/api/(.*)$|^/b"),
            ("^/api/(.*)$", "^/api/"),
            ("\\.php", "^/a/(.*)$"),
            ("^/a[0-9]", "^/a(.*)$"),
        ] {
            let found = pattern(location, RegexScope::Anywhere, written);
            assert_eq!(found, Err(Unknown), "{location} {written}");
        }
    }
}
