//! Parsers of headers and URLs as in nginx, shared by the filter and the authorization server: a key that two readers see
//! differently is no key.
//!
//! As nginx 1.27, the version in ingress-nginx; `tests/nginx/variables.rs` compares them with a real one.

/// `$cookie_NAME`: the first cookie of this name, in any case, that has a value. Values are not unquoted.
///
/// A comma ends a cookie that is not asked for, and is a part of one that is; blanks at the end of a value count; a name without
/// a value takes what is behind it along.
#[must_use]
pub fn cookie<'a>(header: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut rest = header;
    while !rest.is_empty() {
        if let Some(behind) = behind_name(rest, name) {
            if let Some(value) = behind.strip_prefix(b"=").map(without_blanks) {
                let end = value.iter().position(|&b| b == b';').unwrap_or(value.len());
                return value.get(..end);
            }
            rest = behind.get(1..).unwrap_or_default();
        }
        let end = rest
            .iter()
            .position(|&b| b == b';' || b == b',')
            .unwrap_or(rest.len());
        rest = without_separators(rest.get(end..).unwrap_or_default());
    }
    None
}

/// No cookie that is asked for has an empty name, so where several separators come together there is nothing between them.
fn without_separators(text: &[u8]) -> &[u8] {
    let start = text
        .iter()
        .position(|b| !b";, ".contains(b))
        .unwrap_or(text.len());
    text.get(start..).unwrap_or_default()
}

fn behind_name<'a>(cookie: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let (found, behind) = cookie.split_at_checked(name.len())?;
    found
        .eq_ignore_ascii_case(name.as_bytes())
        .then(|| without_blanks(behind))
}

fn without_blanks(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&b| b != b' ').unwrap_or(text.len());
    text.get(start..).unwrap_or_default()
}

/// `$arg_NAME`: the first parameter of this name, in any case, not decoded.
#[must_use]
pub fn argument<'a>(query: &'a [u8], name: &str) -> Option<&'a [u8]> {
    query.split(|&b| b == b'&').find_map(|pair| {
        let (key, value) = pair.split_at_checked(name.len())?;
        key.eq_ignore_ascii_case(name.as_bytes())
            .then(|| value.strip_prefix(b"="))?
    })
}

/// The path and, behind a `?`, the query: `$args`.
#[must_use]
pub fn split_path(path: &[u8]) -> (&[u8], Option<&[u8]>) {
    match path.iter().position(|&b| b == b'?') {
        Some(mark) => {
            let (path, query) = path.split_at(mark);
            (path, query.get(1..))
        }
        None => (path, None),
    }
}

/// `$host`: of a `Host` header, in lower case and without the port and a last dot.
#[must_use]
pub fn host(authority: &[u8]) -> Vec<u8> {
    // A colon inside of brackets belongs to an IPv6 address.
    let bracket = authority
        .iter()
        .position(|&b| b == b']')
        .filter(|_| authority.starts_with(b"["));
    let end = match bracket {
        Some(bracket) => bracket + 1,
        None => authority
            .iter()
            .position(|&b| b == b':')
            .unwrap_or(authority.len()),
    };
    let host = authority.get(..end).unwrap_or_default();
    host.strip_suffix(b".").unwrap_or(host).to_ascii_lowercase()
}

/// `$uri`: a path, decoded, without dots and double slashes. One that nginx would not take is left as it is.
#[must_use]
pub fn uri(path: &[u8]) -> Vec<u8> {
    normalised(path).unwrap_or_else(|| path.to_vec())
}

fn normalised(path: &[u8]) -> Option<Vec<u8>> {
    let decoded = decoded(path)?;
    let mut segments: Vec<&[u8]> = Vec::new();
    let mut ends_with_slash = false;
    for segment in decoded.strip_prefix(b"/")?.split(|&b| b == b'/') {
        ends_with_slash = matches!(segment, b"" | b"." | b"..");
        match segment {
            b"" | b"." => {}
            b".." => drop(segments.pop()?),
            segment => segments.push(segment),
        }
    }
    let mut uri = Vec::with_capacity(decoded.len());
    for segment in &segments {
        uri.push(b'/');
        uri.extend_from_slice(segment);
    }
    if ends_with_slash || segments.is_empty() {
        uri.push(b'/');
    }
    Some(uri)
}

/// Percent-decoded. Every escape must be one, and none a zero.
fn decoded(path: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut bytes = path.iter();
    while let Some(&byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            let digit = |byte: &u8| char::from(*byte).to_digit(16);
            let (high, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
            u8::try_from(high * 16 + low)
                .ok()
                .filter(|byte| *byte != 0)?
        } else {
            byte
        });
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_cookie_is_the_first_of_its_name_in_any_case() {
        for (header, expected) in [
            ("sid=1", Some("1")),
            ("SID=1; sid=2", Some("1")),
            ("a=b; Sid=1", Some("1")),
            ("sid=; sid=1", Some("")),
            ("sid; sid=1", None),
            ("sid; a=b; sid=1", Some("1")),
            ("xsid=1; sidx=2; sid=3", Some("3")),
            ("sid = 1 2 ; a=b", Some("1 2 ")),
            ("sid=\"a;b\"", Some("\"a")),
            ("a=b,sid=1", Some("1")),
            ("sid=a,b", Some("a,b")),
            ("a=sid=1", None),
            ("", None),
            ("si", None),
            ("; ;sid=1", Some("1")),
        ] {
            assert_eq!(
                cookie(header.as_bytes(), "sid").map(text),
                expected,
                "{header:?}"
            );
        }
    }

    #[test]
    fn a_host_has_neither_a_port_nor_a_last_dot() {
        for (authority, expected) in [
            ("Shop.Example:8080", "shop.example"),
            ("shop.example.", "shop.example"),
            ("shop.example.:80", "shop.example"),
            ("[::1]", "[::1]"),
            ("[::1]:80", "[::1]"),
            ("a.b", "a.b"),
        ] {
            assert_eq!(text(&host(authority.as_bytes())), expected, "{authority}");
        }
    }

    #[test]
    fn a_path_is_decoded_and_has_neither_dots_nor_double_slashes() {
        for (path, expected) in [
            ("/", "/"),
            ("/a%20b", "/a b"),
            ("/a//b/./c", "/a/b/c"),
            ("/a/../b/", "/b/"),
            ("/a/%2e%2E/b", "/b"),
            ("/a%2f..%2fb", "/b"),
            ("/a/..", "/"),
            ("/a/.", "/a/"),
            ("/a/...", "/a/..."),
            ("/%2541", "/%41"),
            ("/..", "/.."),
            ("/%zz", "/%zz"),
            ("/%00", "/%00"),
            ("/a%", "/a%"),
        ] {
            assert_eq!(text(&uri(path.as_bytes())), expected, "{path}");
        }
    }
}
