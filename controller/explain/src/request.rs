//! A request in the words of its URL.

use std::fmt;

use sluice_filter_core::path;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `http` or `https`: that of the connection.
    pub scheme: String,
    /// The one that a proxy in front says, where that is believed.
    pub forwarded_scheme: Option<String>,
    /// In lower case, without a port.
    pub host: String,
    /// A port that is not the scheme's own.
    pub port: Option<u16>,
    /// The path and the query, as they are sent.
    pub target: String,
    /// The path by which a route is found: decoded, without dot segments. `None`: it means nothing, and is answered with 400.
    pub path: Option<String>,
    /// `GET`.
    pub method: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
}

/// A text that is no request, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidRequest(pub String);

impl fmt::Display for InvalidRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidRequest {}

impl Request {
    /// A request for a URL; without a scheme it is http. A header is `NAME: VALUE`.
    ///
    /// # Errors
    /// When the URL has no host or another scheme, or a header has no colon.
    pub fn parse(url: &str, method: &str, headers: &[String]) -> Result<Self, InvalidRequest> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "http" && scheme != "https" {
            return Err(invalid("URL", "http:// or https://", &scheme));
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if let Some(wrong) = target
            .chars()
            .find(|it| it.is_whitespace() || it.is_control())
        {
            return Err(invalid(
                "URL",
                "%20 and the like in a path",
                &wrong.to_string(),
            ));
        }
        if method.is_empty() || !method.chars().all(|it| it.is_ascii_graphic()) {
            return Err(invalid("method", "a word, such as GET", method));
        }
        let headers = headers
            .iter()
            .map(|header| parse_header(header))
            .collect::<Result<Vec<_>, _>>()?;
        // As with curl, a header changes the host that is asked for.
        let by_header = headers.iter().find(|(name, _)| name == "host");
        let authority = by_header.map_or(authority, |(_, host)| host);
        let (host, port) = parse_authority(authority)?;
        let usual = if scheme == "https" { 443 } else { 80 };
        let target = match target.starts_with('/') {
            true => target.to_owned(),
            false => format!("/{target}"),
        };
        let canonical = path::canonical(target.as_bytes()).ok();
        let path = canonical
            .and_then(|canonical| String::from_utf8(canonical.target).ok())
            .map(|target| target.split('?').next().unwrap_or_default().to_owned());
        Ok(Request {
            host,
            port: port.filter(|port| *port != usual),
            path,
            target,
            method: method.to_owned(),
            headers: headers
                .into_iter()
                .filter(|(name, _)| name != "host")
                .collect(),
            scheme,
            forwarded_scheme: None,
        })
    }

    /// The query, without the question mark.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.target.split_once('?').map(|(_, query)| query)
    }

    /// Values of a header, joined with commas; `None` if there is none.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        let all = self.headers.iter().filter(|(known, _)| known == name);
        let values: Vec<&str> = all.map(|(_, value)| value.as_str()).collect();
        (!values.is_empty()).then(|| values.join(","))
    }

    /// The first cookie of this name.
    #[must_use]
    pub fn cookie(&self, name: &str) -> Option<String> {
        let cookies = self.header("cookie")?;
        let pairs = cookies
            .split([';', ','])
            .filter_map(|pair| pair.trim().split_once('='));
        let mut named = pairs.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.to_owned())
    }

    /// The first value of a parameter of the query, as it is sent.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&str> {
        let pairs = self.query()?.split('&');
        let mut pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// The scheme that the client is said to speak, by which pods and redirects go.
    #[must_use]
    pub fn told_scheme(&self) -> &str {
        self.forwarded_scheme.as_ref().unwrap_or(&self.scheme)
    }

    /// The port that the client connected to.
    #[must_use]
    pub fn port(&self) -> u16 {
        let usual = if self.told_scheme() == "https" {
            443
        } else {
            80
        };
        self.port.unwrap_or(usual)
    }

    /// The host, and a port that is not the usual one.
    #[must_use]
    pub fn authority(&self) -> String {
        match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }

    /// Scheme and authority.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("{}://{}", self.told_scheme(), self.authority())
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.method, self.origin(), self.target)
    }
}

fn parse_header(text: &str) -> Result<(String, String), InvalidRequest> {
    let (name, value) = text
        .split_once(':')
        .filter(|(name, _)| !name.trim().is_empty())
        .ok_or_else(|| invalid("header", "NAME: VALUE", text))?;
    Ok((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
}

fn parse_authority(text: &str) -> Result<(String, Option<u16>), InvalidRequest> {
    let is_address = |text: &str| text.starts_with('[') && text.ends_with(']');
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !is_address(text) => {
            let number = port
                .parse()
                .map_err(|_| invalid("port", "a number", port))?;
            (host, Some(number))
        }
        _ => (text, None),
    };
    if host.is_empty() {
        return Err(invalid(
            "URL",
            "a host, as in https://shop.example/cart",
            text,
        ));
    }
    if !is_address(host) && !host.chars().all(is_of_host) {
        let expected = "a host of letters, digits, dots and hyphens (punycode for others)";
        return Err(invalid("URL", expected, host));
    }
    Ok((host.to_ascii_lowercase(), port))
}

/// RFC 3986, reg-name, which allows more than names of hosts have.
fn is_of_host(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-._~%!$&'()*+,;=".contains(letter)
}

fn invalid(what: &str, expected: &str, got: &str) -> InvalidRequest {
    InvalidRequest(format!("{what}: expected {expected}, got {got:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(url: &str) -> Request {
        Request::parse(url, "GET", &[]).unwrap()
    }

    #[test]
    fn a_url_has_a_host_a_port_and_a_path() {
        let one = request("HTTPS://Shop.example:8443/a%20b/../c?d=1&D=2#x");
        assert_eq!(
            one.to_string(),
            "GET https://shop.example:8443/a%20b/../c?d=1&D=2"
        );
        assert_eq!(one.path.as_deref(), Some("/c"));
        assert_eq!((one.argument("d"), one.argument("e")), (Some("1"), None));
        assert_eq!(request("a.b").to_string(), "GET http://a.b/");
        assert_eq!(
            request("https://a.b:443?x").to_string(),
            "GET https://a.b/?x"
        );
        assert_eq!(request("http://[::1]/").host, "[::1]");
        assert_eq!(request("http://a/..").path, None);
    }

    #[test]
    fn headers_are_found_by_name_and_host_is_the_host() {
        let headers = ["Host: b.c:81", "COOKIE: x=1; y=2", "A: 1", "a: 2"].map(str::to_owned);
        let one = Request::parse("http://a/", "GET", &headers).unwrap();
        assert_eq!(one.authority(), "b.c:81");
        assert_eq!(one.header("a").as_deref(), Some("1,2"));
        assert_eq!(one.cookie("Y").as_deref(), Some("2"));
    }

    #[test]
    fn what_is_no_request_is_named() {
        let url = |url: &str| Request::parse(url, "GET", &[]).unwrap_err().to_string();
        assert_eq!(
            url("ftp://a/"),
            "URL: expected http:// or https://, got \"ftp\""
        );
        assert_eq!(
            url("http:///x"),
            "URL: expected a host, as in https://shop.example/cart, got \"\""
        );
        for host in [
            "foo bar",
            "a\tb",
            "a\nb",
            "user@a",
            "ä.example",
            "a<b",
            "[::1",
        ] {
            let error = url(&format!("http://{host}/"));
            assert!(
                error.starts_with("URL: expected a host of letters"),
                "{host}: {error}"
            );
        }
        assert!(url("http://a/foo bar").starts_with("URL: expected %20"));
        let method = Request::parse("http://a/", "GE T", &[]).unwrap_err();
        assert_eq!(
            method.to_string(),
            "method: expected a word, such as GET, got \"GE T\""
        );
        assert_eq!(url("http://a:b/"), "port: expected a number, got \"b\"");
        let header = Request::parse("http://a/", "GET", &["x".to_owned()]);
        assert_eq!(
            header.unwrap_err().to_string(),
            "header: expected NAME: VALUE, got \"x\""
        );
    }
}
