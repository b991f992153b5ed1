//! A request in the words of a case, as bytes and as a way to connect.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use super::certificates::Authorities;
use super::when::When;
use crate::dial::Dial;
use crate::dial::openssl;
use crate::http::Request;
use crate::tls::ClientTls;

/// `Host` of a request without one: the address, without the port that only tests have.
const NO_HOST: &str = "127.0.0.1";

/// Protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
    /// gRPC: HTTP/2 with a message and trailers.
    Grpc,
}

/// A request that is ready to be sent.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// How to connect.
    pub dial: Dial,
    /// The protocol.
    pub protocol: Protocol,
    /// The request.
    pub request: Request,
}

/// The environment of a request.
pub struct Surroundings<'a> {
    /// Address of HTTP.
    pub http: std::net::SocketAddr,
    /// Address of HTTPS.
    pub https: std::net::SocketAddr,
    /// Signs the clients' certificates.
    pub authorities: &'a mut Authorities,
    /// Kept cookies.
    pub cookies: &'a BTreeMap<String, String>,
}

impl Surroundings<'_> {
    /// The `n`th request, counted from 1.
    pub fn prepare(&mut self, when: &When, n: usize) -> Result<Prepared> {
        let when = when.numbered(n)?;
        let protocol = match when
            .protocol
            .as_deref()
            .map(str::to_ascii_lowercase)
            .as_deref()
        {
            None | Some("http" | "http1" | "http/1.1") => Protocol::Http1,
            Some("h2" | "h2c" | "http2" | "http/2") => Protocol::Http2,
            Some("grpc" | "grpcs") => Protocol::Grpc,
            Some(other) => bail!("protocol {other:?} is not one that this client speaks"),
        };
        let tls = match when.scheme.as_deref() {
            None | Some("http" | "grpc") => None,
            Some("https" | "grpcs") => Some(self.tls(&when, protocol)?),
            Some(other) => bail!("expected scheme http or https, got {other:?}"),
        };
        let addr = if tls.is_some() { self.https } else { self.http };
        let dial = Dial {
            addr,
            proxy_line: when.proxy_header.clone(),
            tls,
        };
        if dial.openssl_name().is_some() && !openssl::is_installed() {
            bail!("a server name with a dot at its end needs the program `openssl`");
        }
        Ok(Prepared {
            dial,
            protocol,
            request: self.request(&when)?,
        })
    }

    fn tls(&mut self, when: &When, protocol: Protocol) -> Result<ClientTls> {
        let name = when
            .host
            .as_deref()
            .and_then(|host| host.split(':').next())
            .map(str::to_owned);
        let identity = match &when.client_cert {
            Some(words) => Some(self.authorities.client(words)?.identity()?),
            None => None,
        };
        let sni = when.sni.clone().unwrap_or(name);
        Ok(ClientTls {
            sni,
            identity,
            http2: protocol != Protocol::Http1,
            ..ClientTls::default()
        })
    }

    fn request(&self, when: &When) -> Result<Request> {
        let target = match &when.path_as_is {
            Some(Value::String(path)) => path.as_str(),
            _ => when.path.as_deref().unwrap_or("/"),
        };
        let method = when.method.as_deref().unwrap_or("GET");
        let host = when
            .host
            .as_deref()
            .filter(|host| !host.is_empty())
            .unwrap_or(NO_HOST);
        let mut request = Request::new(method, host, target);
        for (name, values) in &when.headers {
            if name.eq_ignore_ascii_case("host") {
                request.headers.retain(|(name, _)| name != "host");
            }
            for value in &values.0 {
                request = request.header(name, value);
            }
        }
        if let Some([user, password]) = &when.basic {
            let credentials = BASE64.encode(format!("{user}:{password}"));
            request = request.header("authorization", &format!("Basic {credentials}"));
        }
        let cookies = self.cookies(when)?;
        if !cookies.is_empty() {
            request = request.header("cookie", &cookies.join("; "));
        }
        let body = match (&when.raw_body, when.body_bytes) {
            (Some(body), _) => body.clone().into_bytes(),
            (None, Some(length)) => vec![b'x'; length],
            (None, None) => Vec::new(),
        };
        Ok(request.body(body))
    }

    fn cookies(&self, when: &When) -> Result<Vec<String>> {
        let mut cookies: Vec<String> = when
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if let Some(name) = &when.use_cookie {
            let value = self
                .cookies
                .get(name)
                .with_context(|| format!("no cookie {name} was kept"))?;
            cookies.push(format!("{name}={value}"));
        }
        Ok(cookies)
    }
}

impl When {
    /// How many requests it is.
    pub fn count(&self) -> usize {
        self.repeat.or(self.concurrency).unwrap_or(1)
    }

    /// The `n`th of them.
    fn numbered(&self, n: usize) -> Result<When> {
        let mut when = self.clone();
        if let Some(vary) = &self.vary {
            when.overlay(vary)?;
        }
        if self.count() > 1 || self.vary.is_some() {
            when.substitute(&n.to_string());
        }
        Ok(when)
    }

    /// `vary`: words of a request; or as a text `WORD=VALUE`, `cookie NAME=VALUE`, `header NAME: VALUE`.
    fn overlay(&mut self, vary: &Value) -> Result<()> {
        let words = match vary {
            Value::Object(_) => vary.clone(),
            Value::String(text) => {
                words(text).with_context(|| format!("vary {text:?} is not understood"))?
            }
            other => bail!("vary: expected words of a request or a text, got {other}"),
        };
        let other: When = serde_json::from_value(words).context("vary")?;
        let fields = [
            (&mut self.method, other.method),
            (&mut self.scheme, other.scheme),
            (&mut self.host, other.host),
            (&mut self.path, other.path),
            (&mut self.raw_body, other.raw_body),
            (&mut self.client_cert, other.client_cert),
            (&mut self.proxy_header, other.proxy_header),
        ];
        for (field, value) in fields {
            if value.is_some() {
                *field = value;
            }
        }
        self.headers.extend(other.headers);
        self.cookies.extend(other.cookies);
        self.basic = other.basic.or(self.basic.take());
        self.sni = other.sni.or(self.sni.take());
        Ok(())
    }

    fn substitute(&mut self, n: &str) {
        let put = |text: &mut String| *text = text.replace("{n}", n);
        let fields = [
            &mut self.host,
            &mut self.path,
            &mut self.raw_body,
            &mut self.client_cert,
        ];
        fields
            .into_iter()
            .chain([&mut self.proxy_header])
            .flatten()
            .for_each(put);
        if let Some(Value::String(path)) = &mut self.path_as_is {
            put(path);
        }
        if let Some(Some(sni)) = &mut self.sni {
            put(sni);
        }
        self.cookies.values_mut().for_each(put);
        self.basic.iter_mut().flatten().for_each(put);
        self.headers
            .values_mut()
            .flat_map(|values| &mut values.0)
            .for_each(put);
    }
}

fn words(text: &str) -> Option<Value> {
    const WORDS: [&str; 7] = [
        "path",
        "host",
        "method",
        "sni",
        "client_cert",
        "proxy_header",
        "raw_body",
    ];
    let text = text.trim();
    if text.starts_with('/') {
        return Some(serde_json::json!({ "path": text }));
    }
    // A word alone: `{n}` already stands in it.
    if WORDS.contains(&text) || ["headers", "cookies", "basic"].contains(&text) {
        return Some(serde_json::json!({}));
    }
    let pair = |text: &str| {
        let at = text.find(['=', ':'])?;
        Some((
            text[..at].trim().to_owned(),
            text[at + 1..].trim().to_owned(),
        ))
    };
    let (name, value) = match text.split_once(' ') {
        Some(("header" | "headers" | "cookie" | "cookies", rest)) => {
            let (name, value) = pair(rest)?;
            let field = if text.starts_with("header") {
                "headers"
            } else {
                "cookies"
            };
            return Some(serde_json::json!({ field: { name: value } }));
        }
        Some((word, value)) if WORDS.contains(&word) => (word.to_owned(), value.trim().to_owned()),
        _ => pair(text)?,
    };
    match WORDS.contains(&name.as_str()) {
        true => Some(serde_json::json!({ name: value })),
        false => Some(serde_json::json!({ "headers": { name: value } })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn prepared(when: Value, n: usize) -> Result<Prepared> {
        let addr = "127.0.0.1:1".parse().unwrap();
        let cookies = BTreeMap::from([("kept".to_owned(), "1".to_owned())]);
        let mut authorities = Authorities::default();
        let mut all = Surroundings {
            http: addr,
            https: addr,
            authorities: &mut authorities,
            cookies: &cookies,
        };
        all.prepare(&serde_json::from_value(when).unwrap(), n)
    }

    fn text(when: Value, n: usize) -> String {
        String::from_utf8(prepared(when, n).unwrap().request.to_bytes()).unwrap()
    }

    #[test]
    fn words_become_bytes() {
        let when = json!({
            "method": "POST", "host": "a.example", "path": "/x?y", "headers": { "A": ["1", "2"] },
            "basic": ["u", "p"], "cookies": { "c": "v" }, "use_cookie": "kept", "raw_body": "hi",
        });
        let expected = "POST /x?y HTTP/1.1\r\nhost: a.example\r\nA: 1\r\nA: 2\r\nauthorization: Basic dTpw\r\n\
            cookie: c=v; kept=1\r\ncontent-length: 2\r\n\r\nhi";
        assert_eq!(text(when, 1), expected);
        assert!(text(json!({ "path": "/" }), 1).contains("host: 127.0.0.1\r\n"));
        assert!(prepared(json!({ "use_cookie": "lost" }), 1).is_err());
        assert!(prepared(json!({ "protocol": "smtp" }), 1).is_err());
    }

    #[test]
    fn requests_of_a_row_may_differ() {
        for vary in [
            json!({ "headers": { "X": "u{n}" } }),
            json!("X=u{n}"),
            json!("header X: u{n}"),
        ] {
            assert!(
                text(json!({ "repeat": 9, "vary": vary }), 7).contains("X: u7\r\n"),
                "{vary}"
            );
        }
        for vary in [
            json!({ "path": "/p{n}" }),
            json!("path=/p{n}"),
            json!("/p{n}"),
            json!("path /p{n}"),
        ] {
            assert!(
                text(json!({ "repeat": 9, "vary": vary }), 7).contains("GET /p7 "),
                "{vary}"
            );
        }
        assert!(
            text(json!({ "repeat": 9, "vary": "cookie c=v{n}" }), 7).contains("cookie: c=v7\r\n")
        );
        assert!(text(json!({ "repeat": 9, "path": "/{n}" }), 7).contains("GET /7 "));
        assert!(text(json!({ "path": "/{n}" }), 1).contains("GET /{n} "));
        assert!(prepared(json!({ "vary": "as you like" }), 1).is_err());
    }

    #[test]
    fn the_server_name_is_the_host_unless_it_is_said() {
        let sni = |mut when: Value| {
            when["scheme"] = "https".into();
            prepared(when, 1).unwrap().dial.tls.unwrap().sni
        };
        assert_eq!(
            sni(json!({ "host": "a.example:443" })).as_deref(),
            Some("a.example")
        );
        assert_eq!(sni(json!({ "host": "a.example", "sni": null })), None);
        assert_eq!(
            sni(json!({ "host": "a.example", "sni": "b" })).as_deref(),
            Some("b")
        );
        let certificate = json!({ "scheme": "https", "client_cert": "CN=x" });
        assert!(
            prepared(certificate, 1)
                .unwrap()
                .dial
                .tls
                .unwrap()
                .identity
                .is_some()
        );
    }
}
