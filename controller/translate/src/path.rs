//! Paths of Ingress rules.

use sluice_ir::PathMatch;

use crate::object::shortened;

/// Longer ones are no paths but attacks on the matcher.
const LONGEST: usize = 4096;

/// Reads a rule's path and its type. The error is a report's reason.
///
/// As in ingress-nginx, no type and `ImplementationSpecific` mean `Prefix`, and an empty path means `/`.
pub(crate) fn parse(path: Option<&str>, path_type: &str) -> Result<PathMatch, String> {
    let path = path.filter(|path| !path.is_empty()).unwrap_or("/");
    if !path.starts_with('/') {
        return Err(format!("expected a path that begins with a slash, got {:?}", shortened(path)));
    }
    if path.len() > LONGEST {
        return Err(format!("expected at most {LONGEST} bytes, got {}", path.len()));
    }
    if let Some(bad) = path.chars().find(|c| !is_path_char(*c)) {
        return Err(format!("expected the characters of a URI path, got {bad:?} in {:?}", shortened(path)));
    }
    match path_type {
        "Exact" => Ok(PathMatch::Exact(path.to_owned())),
        "" | "Prefix" | "ImplementationSpecific" => Ok(PathMatch::Prefix(path.to_owned())),
        other => Err(format!("expected Exact, Prefix or ImplementationSpecific, got {:?}", shortened(other))),
    }
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
        assert_eq!(parse(Some("/a"), "Exact"), Ok(PathMatch::Exact("/a".into())));
        for prefix in ["", "Prefix", "ImplementationSpecific"] {
            assert_eq!(parse(Some("/a"), prefix), Ok(PathMatch::Prefix("/a".into())));
        }
        assert_eq!(parse(None, "Prefix"), Ok(PathMatch::Prefix("/".into())));
        assert!(parse(Some("/a"), "exact").is_err());
    }

    #[test]
    fn what_is_no_uri_path_is_refused() {
        for bad in ["a", "/bla{alias /x/;}", "/a b", "/a\n", "/a\"", "/a#b", "/a?b", "/\u{e9}", "/^(x|y)$"] {
            assert!(parse(Some(bad), "Prefix").is_err(), "{bad:?}");
        }
        assert!(parse(Some(&format!("/{}", "a".repeat(LONGEST))), "Prefix").is_err());
    }
}
