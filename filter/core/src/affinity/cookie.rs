//! Reading cookies of a request.

/// The names and values of a `Cookie` header, in its order.
pub fn pairs(header: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    header.split(|&b| b == b';').filter_map(|pair| {
        let equals = pair.iter().position(|&b| b == b'=')?;
        let (name, value) = pair.split_at(equals);
        Some((
            name.trim_ascii(),
            value.get(1..).unwrap_or_default().trim_ascii(),
        ))
    })
}

/// Parsed session cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session<'a> {
    /// Endpoint of the session, in the form of the affinity mode.
    pub upstream_key: &'a [u8],
    /// Backend of the session. Cookies from before ingress-nginx 1.0 have none.
    pub backend_key: Option<&'a [u8]>,
}

impl<'a> Session<'a> {
    /// Splits a cookie's value.
    #[must_use]
    pub fn parse(value: &'a [u8]) -> Session<'a> {
        let mut parts = value.split(|&b| b == b'|');
        Session {
            upstream_key: parts.next().unwrap_or_default(),
            backend_key: parts.next(),
        }
    }

    /// The session of a request with this cookie header: of several cookies with the name (a browser sends one for each
    /// path) the one of this backend, else the last, which is the one that ingress-nginx takes.
    #[must_use]
    pub fn find(header: &'a [u8], name: &str, backend_key: &[u8]) -> Option<Session<'a>> {
        let mut last = None;
        let named = pairs(header).filter(|(known, _)| *known == name.as_bytes());
        for session in named.map(|(_, value)| Session::parse(value)) {
            if session.backend_key == Some(backend_key) {
                return Some(session);
            }
            last = Some(session);
        }
        last.filter(|session| !session.upstream_key.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session<'a>(header: &'a str, backend_key: &str) -> Option<(&'a str, Option<&'a str>)> {
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        let session = Session::find(header.as_bytes(), "route", backend_key.as_bytes())?;
        Some((text(session.upstream_key), session.backend_key.map(text)))
    }

    #[test]
    fn a_cookie_is_found_among_others_by_its_whole_name() {
        assert_eq!(session("a=1; route=k|b; c=2", "b"), Some(("k", Some("b"))));
        assert_eq!(session("xroute=1;route2=2; rout=3; =4; route", "b"), None);
        assert_eq!(session("route = k|b ", "b"), Some(("k", Some("b"))));
        assert_eq!(session("route=k=|b", "b"), Some(("k=", Some("b"))));
    }

    #[test]
    fn an_old_cookie_without_a_backend_is_a_session_of_no_backend() {
        assert_eq!(
            session("route=10.184.7.40:8080", "b"),
            Some(("10.184.7.40:8080", None))
        );
        assert_eq!(session("route=", "b"), None);
    }

    #[test]
    fn of_two_cookies_the_one_of_this_backend_counts_and_else_the_last() {
        assert_eq!(
            session("route=k1|b; route=k2|c", "b"),
            Some(("k1", Some("b")))
        );
        assert_eq!(
            session("route=k1|c; route=k2|d", "b"),
            Some(("k2", Some("d")))
        );
    }
}
