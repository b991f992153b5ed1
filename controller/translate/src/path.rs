//! Paths of Ingress rules.

use crate::object::shortened;
use crate::regex;

/// Longer ones are no paths but attacks on the matcher.
const LONGEST: usize = 4096;

/// The types that there are: no type and `ImplementationSpecific` mean `Prefix`, as in ingress-nginx.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathType {
    Exact,
    Prefix,
}

impl PathType {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "Exact" => Ok(PathType::Exact),
            "" | "Prefix" | "ImplementationSpecific" => Ok(PathType::Prefix),
            other => {
                Err(format!("expected Exact, Prefix or ImplementationSpecific, got {:?}", shortened(other)))
            }
        }
    }
}

/// Whether a text can be a path or a pattern at all. An empty one means `/`.
pub(crate) fn checked(path: Option<&str>) -> Result<&str, String> {
    let path = path.filter(|path| !path.is_empty()).unwrap_or("/");
    if !path.starts_with('/') {
        return Err(format!("expected a path that begins with a slash, got {:?}", shortened(path)));
    }
    if path.len() > LONGEST {
        return Err(format!("expected at most {LONGEST} bytes, got {}", path.len()));
    }
    match path.chars().find(|c| !c.is_ascii_graphic() || "\"#`<>".contains(*c)) {
        Some(bad) => {
            Err(format!("expected the characters of a URI path, got {bad:?} in {:?}", shortened(path)))
        }
        None => Ok(path),
    }
}

/// What stands in the way of a path that is taken as it is.
pub(crate) fn literal(path: &str) -> Result<(), String> {
    match path.chars().find(|c| !is_path_char(*c)) {
        None => Ok(()),
        Some(bad) => Err(format!(
            "expected the characters of a URI path, got {bad:?} in {:?} (regular expressions need use-regex)",
            shortened(path)
        )),
    }
}

/// What there is to know about a path that is a pattern.
pub(crate) fn pattern(path: &str) -> Result<regex::Shape, String> {
    regex::check(path).map_err(|wrong| {
        format!("expected a regular expression that RE2 and PCRE share, got {wrong} in {:?}", shortened(path))
    })
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
    fn what_is_no_uri_path_is_refused() {
        for bad in ["a", "/bla{alias /x/;}", "/a b", "/a\n", "/a\"", "/a#b", "/\u{e9}", "/a\0", "/<a>"] {
            assert!(checked(Some(bad)).is_err(), "{bad:?}");
        }
        assert!(checked(Some(&format!("/{}", "a".repeat(LONGEST)))).is_err());
        for bad in ["/a?b", "/^(x|y)$", "/[a]", "/a\\b"] {
            assert!(checked(Some(bad)).is_ok() && literal(bad).is_err(), "{bad:?}");
        }
    }
}
