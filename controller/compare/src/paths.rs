//! Paths that a match takes, and those just beside it.

use std::fmt::Write;

use sluice_ir::{PathMatch, PathRegex};

use crate::sample::samples;

/// Segment below a path.
const BELOW: &str = "sluice-compare";

/// Paths as they are sent: the first one is what the match is for.
pub(crate) fn around(path: &PathMatch) -> Vec<String> {
    let written = match path {
        PathMatch::Exact(path) => vec![
            path.clone(),
            with_slash_or_without(path),
            format!("{}/{BELOW}", path.trim_end_matches('/')),
        ],
        PathMatch::Prefix(path) => {
            let bare = path.trim_end_matches('/');
            let mut all = vec![path.clone(), format!("{bare}/{BELOW}")];
            if !bare.is_empty() {
                all.extend([
                    with_slash_or_without(path),
                    format!("{bare}-{BELOW}"),
                    format!("{bare}/{BELOW}/"),
                ]);
            }
            all
        }
        PathMatch::Regex(regex) => of_pattern(regex),
    };
    let mut paths: Vec<String> = Vec::new();
    for path in written {
        if !path.is_empty() && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

fn with_slash_or_without(path: &str) -> String {
    match path.strip_suffix('/') {
        Some(bare) => bare.to_owned(),
        None => format!("{path}/"),
    }
}

fn of_pattern(regex: &PathRegex) -> Vec<String> {
    let mut paths: Vec<String> = samples(&regex.pattern)
        .iter()
        .map(|text| encoded(text))
        .map(|path| match path.starts_with('/') {
            true => path,
            false => format!("/{path}"),
        })
        .collect();
    if let Some(first) = paths.first().cloned() {
        paths.push(format!("{}/{BELOW}", first.trim_end_matches('/')));
    }
    paths
}

/// Bytes as a path can have them (RFC 3986).
fn encoded(text: &[u8]) -> String {
    let mut path = String::new();
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => path.push(char::from(*byte)),
            b'/' | b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*'
            | b'+' | b',' | b';' | b'=' | b':' | b'@' => path.push(char::from(*byte)),
            // A String takes everything.
            _ => drop(write!(path, "%{byte:02X}")),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_tried_with_what_is_below_and_just_beside_it() {
        let prefix = |path: &str| around(&PathMatch::Prefix(path.to_owned()));
        assert_eq!(prefix("/"), ["/", "/sluice-compare"]);
        assert_eq!(
            prefix("/a"),
            [
                "/a",
                "/a/sluice-compare",
                "/a/",
                "/a-sluice-compare",
                "/a/sluice-compare/"
            ]
        );
        let exact = around(&PathMatch::Exact("/a/".to_owned()));
        assert_eq!(exact, ["/a/", "/a", "/a/sluice-compare"]);
    }

    #[test]
    fn a_pattern_is_tried_with_what_it_matches() {
        let regex = PathMatch::Regex(PathRegex::plain("/a b/[0-9]+".to_owned()));
        assert_eq!(
            around(&regex),
            [
                "/a%20b/0",
                "/a%20b/00",
                "/a%20b/1",
                "/a%20b/22",
                "/a%20b/0/sluice-compare"
            ]
        );
        let anywhere = PathMatch::Regex(PathRegex::plain("b$".to_owned()));
        assert_eq!(around(&anywhere), ["/b", "/b/sluice-compare"]);
    }
}
