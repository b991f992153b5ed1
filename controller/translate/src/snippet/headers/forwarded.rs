//! Request headers about the client that a snippet sets again.
//!
//! nginx sends both lines then, ingress-nginx's first, and pods differ in which they read. Here pods get one: the snippet's where it
//! says something of its own. No value is the client's that was not before.

use sluice_ir::{Forwarded, HeaderName, Variable};

use crate::snippet::syntax::reserved_variables::bare;

const FOR: &str = "x-forwarded-for";
const HOST: &str = "x-forwarded-host";
const PORT: &str = "x-forwarded-port";
const PROTO: &str = "x-forwarded-proto";
/// Headers with the scheme that pods are told; Envoy makes the others of the first.
pub(super) const OF_SCHEME: [&str; 3] = [PROTO, "x-forwarded-scheme", "x-scheme"];
const ORIGINAL_FOR: &str = "x-original-forwarded-for";
const ORIGINAL_HOST: &str = "x-original-forwarded-host";
const ORIGINAL_URI: &str = "x-original-uri";

/// Headers that Sluice alone sets; others with their prefixes are like any other.
const OWN: [&str; 7] = [
    FOR,
    HOST,
    PORT,
    PROTO,
    "x-forwarded-scheme",
    ORIGINAL_FOR,
    ORIGINAL_HOST,
];
/// Envoy's header with the client's certificate.
const CLIENT_CERTIFICATE: &str = "x-forwarded-client-cert";

/// Meaning of such a header and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::snippet) enum ForwardedHeader<'a> {
    /// Pods get the same anyway.
    Unchanged,
    /// The address of the client, and what the client itself says of others, which is left out.
    ClientChain,
    /// This scheme.
    Scheme(&'a str),
    /// This port.
    Port(&'a str),
}

/// Reads a header; `None`: it is no such header, or says something else.
pub(in crate::snippet) fn read<'a>(
    name: &str,
    value: &'a str,
    settings: &Forwarded,
) -> Option<ForwardedHeader<'a>> {
    let (name, variable) = (name.to_ascii_lowercase(), bare(value));
    let variable = variable.as_str();
    let is_scheme = OF_SCHEME.contains(&name.as_str());
    let chain_of_clients = settings
        .client_header
        .as_deref()
        .is_none_or(|header| header.eq_ignore_ascii_case(FOR));
    match (name.as_str(), variable) {
        (_, "$http_x_forwarded_proto") if is_scheme && settings.trust_forwarded => {}
        (_, "http" | "https") if is_scheme => return Some(ForwardedHeader::Scheme(value)),
        (PORT, "$http_x_forwarded_port") if settings.trust_forwarded => {}
        (PORT, _) if is_port(value) => return Some(ForwardedHeader::Port(value)),
        (HOST, "$http_x_forwarded_host") if settings.trust_forwarded => {}
        (FOR, "$proxy_add_x_forwarded_for" | "$full_x_forwarded_for") => {
            let is_whole = settings.append_forwarded_for && chain_of_clients;
            return Some(if is_whole {
                ForwardedHeader::Unchanged
            } else {
                ForwardedHeader::ClientChain
            });
        }
        (ORIGINAL_FOR, "$http_x_forwarded_for") if chain_of_clients => {}
        (ORIGINAL_HOST, "$http_x_forwarded_host") => {}
        (ORIGINAL_URI, "$request_uri") if settings.original_uri => {}
        _ => return None,
    }
    Some(ForwardedHeader::Unchanged)
}

fn is_port(text: &str) -> bool {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    is_plain && text.parse::<u16>().is_ok()
}

/// True if Sluice or Envoy sets the header, in whatever spelling.
pub(super) fn is_own(name: &HeaderName, settings: &Forwarded) -> bool {
    let is = |other: &str| name.is_alike(other);
    OWN.into_iter().any(is) || is(CLIENT_CERTIFICATE) || (settings.original_uri && is(ORIGINAL_URI))
}

/// The headers that Sluice or Envoy alone set.
pub(in crate::snippet) fn own() -> impl Iterator<Item = &'static str> {
    OWN.into_iter().chain([CLIENT_CERTIFICATE])
}

/// The header that Envoy has a variable in.
pub(crate) fn source_header(variable: &Variable) -> Option<&'static str> {
    match variable {
        Variable::Scheme => Some("x-forwarded-proto"),
        Variable::ServerPort => Some("x-forwarded-port"),
        Variable::Cookie(_) => Some("cookie"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::ForwardedHeader::{ClientChain, Port, Scheme, Unchanged};
    use super::*;

    #[test]
    fn what_is_told_depends_on_what_is_believed() {
        let trusting = Forwarded {
            trust_forwarded: true,
            append_forwarded_for: true,
            original_uri: true,
            client_header: Some("X-Forwarded-For".to_owned()),
            ..Forwarded::default()
        };
        for (name, value, told, where_trusted) in [
            (
                "X-Forwarded-Proto",
                "https",
                Some(Scheme("https")),
                Some(Scheme("https")),
            ),
            (
                "X-Forwarded-Proto",
                "$http_x_forwarded_proto",
                None,
                Some(Unchanged),
            ),
            ("X-Forwarded-Proto", "ftp", None, None),
            (
                "X-Scheme",
                "${http_x_forwarded_proto}",
                None,
                Some(Unchanged),
            ),
            (
                "x-forwarded-port",
                "443",
                Some(Port("443")),
                Some(Port("443")),
            ),
            ("X-Forwarded-Port", "0", None, None),
            ("X-Forwarded-Port", "65536", None, None),
            ("X-Forwarded-Port", "4 43", None, None),
            (
                "X-Forwarded-For",
                "$proxy_add_x_forwarded_for",
                Some(ClientChain),
                Some(Unchanged),
            ),
            ("X-Forwarded-For", "$http_x_forwarded_for", None, None),
            ("X-Forwarded-For", "10.0.0.1", None, None),
            ("X-Original-URI", "$request_uri", None, Some(Unchanged)),
            ("X-Forwarded-Host", "a.test", None, None),
        ] {
            assert_eq!(read(name, value, &Forwarded::default()), told, "{name}");
            assert_eq!(read(name, value, &trusting), where_trusted, "{name}");
        }
        let other = Forwarded {
            client_header: Some("CF-Connecting-IP".to_owned()),
            ..trusting
        };
        let chain = read("X-Forwarded-For", "$proxy_add_x_forwarded_for", &other);
        assert_eq!(chain, Some(ClientChain));
    }
}
