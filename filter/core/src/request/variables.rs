//! nginx's variables, from what any data plane says of a request.
//!
//! A host that has the variables themselves (nginx) is asked for them instead; this is for hosts that do not, and for the
//! controller where it decides about clients. Where a value comes from is in `docs/hash-variables.md`.

mod read;

use std::borrow::Cow;

use sluice_filter_config::{Plain, Variable};

use crate::{Fact, Request};

pub use read::{argument, cookie, host, split_path, uri};

/// Appends the value of a variable; nothing when the request does not say it.
pub fn append<R: Request + ?Sized>(request: &R, variable: &Variable, out: &mut Vec<u8>) {
    match variable {
        Variable::Header(name) => header(request, name, out),
        Variable::Cookie(name) => {
            let cookies = request.header("cookie");
            extend(
                out,
                cookies.as_deref().and_then(|header| cookie(header, name)),
            );
        }
        Variable::Arg(name) => {
            let path = request.header(":path");
            extend(
                out,
                path.as_deref()
                    .and_then(|path| argument(split_path(path).1?, name)),
            );
        }
        Variable::Plain(plain) => append_plain(request, *plain, out),
    }
}

fn append_plain<R: Request + ?Sized>(request: &R, plain: Plain, out: &mut Vec<u8>) {
    let raw = |name: &str| request.header(name);
    let fact = |fact: Fact| request.fact(fact);
    let address = |plain| match plain {
        Plain::RemoteAddr | Plain::RemotePort => fact(Fact::ClientAddress),
        _ => fact(Fact::ServerAddress),
    };
    match plain {
        Plain::Args | Plain::QueryString => {
            extend(out, raw(":path").as_deref().and_then(|p| split_path(p).1));
        }
        Plain::BinaryRemoteAddr => {
            let address = fact(Fact::ClientAddress);
            extend(out, address.as_deref().and_then(octets).as_deref());
        }
        Plain::ContentLength => extend(out, raw("content-length").as_deref()),
        Plain::ContentType => extend(out, raw("content-type").as_deref()),
        Plain::Uri | Plain::DocumentUri => {
            let path = raw(":path").map(|path| uri(split_path(&path).0));
            extend(out, path.as_deref());
        }
        Plain::Host => {
            let host = raw(":authority").map(|authority| host(&authority));
            extend(out, host.as_deref());
        }
        Plain::Https => extend(out, fact(Fact::Tls).map(|_| b"on".as_slice())),
        Plain::IsArgs => {
            let path = raw(":path");
            let query = path.as_deref().and_then(|path| split_path(path).1);
            let mark = query
                .filter(|query| !query.is_empty())
                .map(|_| b"?".as_slice());
            extend(out, mark);
        }
        Plain::Request => {
            for part in [Plain::RequestMethod, Plain::RequestUri] {
                append_plain(request, part, out);
                out.push(b' ');
            }
            append_plain(request, Plain::ServerProtocol, out);
        }
        Plain::RequestMethod => extend(out, raw(":method").as_deref()),
        Plain::RequestUri => extend(out, request.sent_target().as_deref()),
        Plain::Scheme => {
            let scheme = fact(Fact::Tls).map_or(b"http".as_slice(), |_| b"https");
            extend(out, Some(scheme));
        }
        Plain::RemoteAddr | Plain::ServerAddr => {
            let address = address(plain);
            extend(out, address.as_deref().and_then(|a| Some(endpoint(a)?.0)));
        }
        Plain::RemotePort | Plain::ServerPort => {
            let address = address(plain);
            extend(out, address.as_deref().and_then(|a| Some(endpoint(a)?.1)));
        }
        Plain::ServerName => extend(out, fact(Fact::ServerName).as_deref()),
        Plain::ServerProtocol => extend(out, fact(Fact::Protocol).as_deref().map(protocol)),
        Plain::SslServerName => extend(out, fact(Fact::ServerNameIndication).as_deref()),
    }
}

fn extend(out: &mut Vec<u8>, value: Option<&[u8]>) {
    out.extend_from_slice(value.unwrap_or_default());
}

/// `http_host` is `:authority` where there are pseudo-headers. To nginx `-` and `_` are the same in a name.
fn header<R: Request + ?Sized>(request: &R, name: &str, out: &mut Vec<u8>) {
    let dashed = match name {
        "host" => Cow::Borrowed(":authority"),
        name => Cow::Owned(name.replace('_', "-")),
    };
    let value = request
        .header(&dashed)
        .or_else(|| request.header(name).filter(|_| dashed != name));
    extend(out, value.as_deref());
}

/// Address without brackets, and port.
fn endpoint(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = text.iter().rposition(|&b| b == b':')?;
    let (address, port) = text.split_at(colon);
    let bare = address
        .strip_prefix(b"[")
        .and_then(|inner| inner.strip_suffix(b"]"));
    Some((bare.unwrap_or(address), port.get(1..)?))
}

fn octets(text: &[u8]) -> Option<Vec<u8>> {
    let address = std::str::from_utf8(endpoint(text)?.0).ok()?;
    Some(match address.parse().ok()? {
        std::net::IpAddr::V4(address) => address.octets().to_vec(),
        std::net::IpAddr::V6(address) => address.octets().to_vec(),
    })
}

/// nginx says `HTTP/2.0` where others say `HTTP/2`.
fn protocol(name: &[u8]) -> &[u8] {
    match name {
        b"HTTP/2" => b"HTTP/2.0",
        b"HTTP/3" => b"HTTP/3.0",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use sluice_filter_config::HashKey;

    use super::*;
    use crate::hash_key::Key;

    struct Sample;

    impl Request for Sample {
        fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
            let value = match name {
                ":path" => "/a%20b/zz?x=1&User=Bob%21&user=eve",
                ":authority" => "Shop.Example:8080",
                ":method" => "GET",
                "cookie" => "sid=s1; SID=s2",
                "x-user" => "bob",
                "content-type" => "text/plain",
                "content-length" => "0",
                _ => return None,
            };
            Some(Cow::Borrowed(value.as_bytes()))
        }

        fn fact(&self, fact: Fact) -> Option<Cow<'_, [u8]>> {
            let value = match fact {
                Fact::ClientAddress => "[2001:db8::1]:40000",
                Fact::ServerAddress => "10.0.0.1:443",
                Fact::ServerName => "*.example",
                Fact::Tls => "TLSv1.3",
                Fact::ServerNameIndication => "shop.example",
                Fact::Protocol => "HTTP/2",
            };
            Some(Cow::Borrowed(value.as_bytes()))
        }
    }

    fn value(expression: &str) -> String {
        let (key, unknown) = HashKey::parse(expression);
        assert_eq!(unknown, []);
        let mut value = Vec::new();
        Key::from(&key).evaluate(&Sample, &mut value);
        String::from_utf8_lossy(&value).into_owned()
    }

    #[test]
    fn every_variable_is_what_nginx_would_say() {
        for (expression, expected) in [
            ("$uri|$document_uri", "/a b/zz|/a b/zz"),
            ("$request_uri", "/a%20b/zz?x=1&User=Bob%21&user=eve"),
            ("$args", "x=1&User=Bob%21&user=eve"),
            ("$query_string", "x=1&User=Bob%21&user=eve"),
            ("$is_args$arg_user-$arg_x-$arg_none", "?Bob%21-1-"),
            (
                "$host|$http_host|$server_name|$ssl_server_name",
                "shop.example|Shop.Example:8080|*.example|shop.example",
            ),
            ("$http_x_user:$http_none$cookie_sid", "bob:s1"),
            (
                "$remote_addr $remote_port $server_addr $server_port",
                "2001:db8::1 40000 10.0.0.1 443",
            ),
            ("$scheme $https", "https on"),
            (
                "$request_method $server_protocol $content_type $content_length",
                "GET HTTP/2.0 text/plain 0",
            ),
            (
                "$request",
                "GET /a%20b/zz?x=1&User=Bob%21&user=eve HTTP/2.0",
            ),
        ] {
            assert_eq!(value(expression), expected, "{expression}");
        }
        let mut binary = Vec::new();
        append(
            &Sample,
            &Variable::Plain(Plain::BinaryRemoteAddr),
            &mut binary,
        );
        assert_eq!(binary.len(), 16);
    }

    #[test]
    fn an_address_has_no_port() {
        assert_eq!(octets(b"10.0.0.1:80"), Some(vec![10, 0, 0, 1]));
    }
}
