//! `rewrite PATTERN PATH last` of a location: nginx looks for a location again, and rewrites again there. Where it provably finds the same one,
//! and the pattern does not match what it has made, it is `break`.

use sluice_ir::{PathMatch, PathRegex, TemplatePart};

use crate::snippet::PathChange;

/// True if all paths that a change makes are of the location `own`, and do not match again. `from`: text that all paths begin with that its
/// pattern matches. `paths`: those of all locations of the server.
pub(super) fn is_found_again(
    own: &PathMatch,
    from: &str,
    change: &PathChange,
    paths: &[PathMatch],
) -> bool {
    let (PathMatch::Prefix(own), Some(TemplatePart::Text(to))) = (own, change.to.0.first()) else {
        return false;
    };
    let is_one = change.to.0.len() == 1;
    let is_plain = |byte: u8| {
        byte.is_ascii_alphanumeric() || b"/-_~".contains(&byte) || is_one && byte == b'.'
    };
    let is_dots = |segment: &str| matches!(segment, "." | "..");
    let is_normal = to.bytes().all(is_plain) && !to.contains("//") && !to.split('/').any(is_dots);
    let takes_one = is_one && is_exactly(&change.regex, from);
    let begins_alike = from.starts_with(to.as_str()) || to.starts_with(from);
    let matches_again = if takes_one { from == to } else { begins_alike };
    let takes_all = to.starts_with(&slashed(own));
    let is_beside = |path: &PathMatch| match path {
        PathMatch::Prefix(path) if path == own => true,
        PathMatch::Prefix(path) => path.len() < own.len() || !meets(path, to),
        PathMatch::Exact(path) if is_one => path != to,
        PathMatch::Exact(path) => !path.starts_with(to.as_str()),
        PathMatch::Regex(_) => false,
    };
    is_normal
        && !change.regex.alternatives
        && !matches_again
        && takes_all
        && paths.iter().all(is_beside)
}

/// True if a prefix takes a path that begins with the text.
pub(super) fn meets(prefix: &str, text: &str) -> bool {
    let bare = prefix.trim_end_matches('/');
    bare.starts_with(text) || text == bare || text.starts_with(&slashed(prefix))
}

/// True if a pattern that begins with a text takes nothing else.
fn is_exactly(regex: &PathRegex, text: &str) -> bool {
    let pattern = regex.pattern.strip_prefix('^');
    let pattern = pattern.and_then(|rest| rest.strip_suffix('$'));
    let literal = pattern.and_then(sluice_pattern::literal);
    regex.conditions.is_empty() && literal.as_deref() == Some(text)
}

pub(super) fn slashed(path: &str) -> String {
    format!("{}/", path.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use sluice_ir::Template;

    use super::*;

    fn found(own: &str, from: &str, to: &str, others: &[PathMatch]) -> bool {
        let mut regex = PathRegex::starting_with(from);
        regex.alternatives = false;
        let to = Template(vec![
            TemplatePart::Text(to.to_owned()),
            TemplatePart::Group(1),
        ]);
        let change = PathChange {
            regex,
            to,
            is_last: true,
        };
        let own = PathMatch::Prefix(own.to_owned());
        let paths = [std::slice::from_ref(&own), others].concat();
        is_found_again(&own, from, &change, &paths)
    }

    /// A pattern that takes one path alone.
    #[test]
    fn one_path_is_not_changed_again_if_it_is_another() {
        let found = |own: &str, pattern: &str, from: &str, to: &str, other: PathMatch| {
            let regex = PathRegex {
                alternatives: false,
                ..PathRegex::plain(pattern.to_owned())
            };
            let change = PathChange {
                regex,
                to: Template(vec![TemplatePart::Text(to.to_owned())]),
                is_last: true,
            };
            let own = PathMatch::Prefix(own.to_owned());
            is_found_again(&own, from, &change, &[own.clone(), other])
        };
        let api = || PathMatch::Prefix("/api".to_owned());
        let exact = |path: &str| PathMatch::Exact(path.to_owned());
        for (own, pattern, from, to, other) in [
            ("/", "^/$", "/", "/home", api()),
            ("/", "^/$", "/", "/index.html", api()),
            ("/", "^/$", "/", "/home", exact("/home/a")),
            ("/", "^/app$", "/app", "/app/", api()),
            ("/", "^/app/$", "/app/", "/app", api()),
            ("/", "^/a-b\\.php$", "/a-b.php", "/a-b", api()),
            ("/app", "^/app$", "/app", "/app/", api()),
        ] {
            assert!(found(own, pattern, from, to, other), "{own} {pattern} {to}");
        }
        for (own, pattern, from, to, other) in [
            ("/", "^/$", "/", "/", api()),
            ("/", "^/", "/", "/home", api()),
            ("/", "^/app(.*)$", "/app", "/app/", api()),
            ("/", "^/$", "/", "/api", api()),
            ("/", "^/$", "/", "/api/a", api()),
            ("/", "^/$", "/", "/home", exact("/home")),
            ("/", "^/$", "/", "/../a", api()),
            ("/", "^/$", "/", "/a/.", api()),
            ("/app", "^/app$", "/app", "/home", api()),
        ] {
            assert!(
                !found(own, pattern, from, to, other),
                "{own} {pattern} {to}"
            );
        }
    }

    #[test]
    fn the_same_location_is_found_again() {
        let prefix = |path: &str| PathMatch::Prefix(path.to_owned());
        let exact = |path: &str| PathMatch::Exact(path.to_owned());
        assert!(found("/", "/old/", "/new/", &[]));
        assert!(found(
            "/",
            "/old/",
            "/new/",
            &[prefix("/api"), exact("/old/a")]
        ));
        assert!(found(
            "/api",
            "/api/v1/",
            "/api/v2/",
            &[prefix("/"), prefix("/app")]
        ));
        for (own, from, to, other) in [
            ("/", "/old/", "/new/", prefix("/new")),
            ("/", "/old/", "/new/", prefix("/new/a")),
            ("/", "/old/", "/new", prefix("/newer")),
            ("/", "/old/", "/new/", exact("/new/a")),
            (
                "/",
                "/old/",
                "/new/",
                PathMatch::Regex(PathRegex::starting_with("/x")),
            ),
            ("/", "/old/", "/", prefix("/")),
            ("/", "/old/", "/old/v2/", prefix("/")),
            ("/", "/o", "/old/", prefix("/")),
            ("/", "", "/new/", prefix("/")),
            ("/api", "/api/", "/new/", prefix("/")),
            ("/api", "/api/v1", "/api", prefix("/")),
            ("/", "/old/", "/new/../", prefix("/")),
            ("/", "/old/", "//new/", prefix("/")),
        ] {
            assert!(
                !found(own, from, to, std::slice::from_ref(&other)),
                "{own} {from} {to} {other:?}"
            );
        }
    }
}
