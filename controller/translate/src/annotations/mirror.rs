//! A copy of each request.

use sluice_ir::{Copies, MirrorPath};
use sluice_syntax::value::{self, Parsed};
use sluice_translate_engine::UpstreamUrl;

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::risk::Risk;
use crate::support::{DataPlane, Support};

/// The filter says once for each request which pod gets it.
const NGINX: Support = Support::Partly(
    "a path and $request_uri, or one of them, after the host, and names that all paths have in common ($namespace, $ingress_name, $service_name, \
     $service_port); to the address of a Service where it has one",
);
/// Longer texts may be more than nginx reads.
const LONGEST_PATH: usize = 1000;

pub(super) const GROUP: Group = Group {
    title: "Mirrors",
    annotations: &[
        annotation("mirror-target", Value::Url, Risk::High, Scope::Ingress)
            .partly("a path and $request_uri, or one of them, after the host, and names that all paths have in common ($namespace, $ingress_name, $service_name, $service_port)")
            .nginx(NGINX),
        annotation("mirror-host", Value::Text, Risk::High, Scope::Ingress)
            .partly("the name of a host, and $host on exact hosts; other variables are reported")
            .nginx(Support::Partly(
                "the name of a host, and $host; other variables are reported",
            )),
        annotation(
            "mirror-request-body",
            Value::OnOff,
            Risk::Low,
            Scope::Ingress,
        )
        .full(),
    ],
};

/// Target of a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MirrorTarget {
    /// The backend that gets it.
    pub(crate) target: UpstreamUrl,
    /// The `Host` that it has; `None` is `$host`.
    pub(crate) host: Option<String>,
    /// Its path.
    pub(crate) path: MirrorPath,
    /// Form of the copies.
    pub(crate) copies: Copies,
}

pub(super) fn mirror(
    view: &mut View<'_, '_>,
    data_plane: Option<DataPlane>,
) -> Option<MirrorTarget> {
    let copies = match view.read("mirror-request-body", value::on_off) {
        Some(false) => Copies::Bodiless,
        Some(true) | None => Copies::Whole,
    };
    let is_known = view.hosts.is_some() || data_plane == Some(DataPlane::Nginx);
    let host = view.read("mirror-host", |text| host(text, is_known));
    let addresses = view.references.tracker.addresses;
    let constants = view.constants.clone();
    let (target, path) = view.read("mirror-target", |text| {
        let text = constants.text(text);
        let (target, path) = UpstreamUrl::parse(&text, addresses)?;
        Ok((target, parse_path(path)?))
    })?;
    let host = host.unwrap_or_else(|| Some(target.host.as_str().to_owned()));
    Some(MirrorTarget {
        target,
        host,
        path,
        copies,
    })
}

/// `None` is the host of the request. `is_known`: what that is, is known.
fn host(text: &str, is_known: bool) -> Parsed<Option<String>> {
    match text {
        "$host" | "${host}" if is_known => return Ok(None),
        "$host" | "${host}" => {
            return Err("the name of a host, or exact hosts where it is $host".into());
        }
        _ => {}
    }
    let name = sluice_ir::Hostname::parse(text).map_err(|_| "the name of a host, or $host")?;
    Ok(Some(name.as_str().to_owned()))
}

/// The part after the host; nothing is the path of the request. nginx sends the name of its own location where
/// there is nothing, and `/$request_uri`, which its documentation writes, with two slashes: nobody wants either. A slash alone is
/// a path.
fn parse_path(text: &str) -> Parsed<MirrorPath> {
    let (literal, request_uri) = match text {
        "" | "$request_uri" | "/$request_uri" => ("", true),
        _ => match text.strip_suffix("$request_uri") {
            Some(literal) => (literal, true),
            None => (text, false),
        },
    };
    let is_literal = |b: u8| b.is_ascii_alphanumeric() || b"/-._~!&'()*+,;=:@%".contains(&b);
    let fits = literal.len() <= LONGEST_PATH && (literal.is_empty() || literal.starts_with('/'));
    if fits && literal.bytes().all(is_literal) && is_decodable(literal) {
        return Ok(MirrorPath {
            literal: literal.to_owned(),
            request_uri,
        });
    }
    Err("a URL with a path, $request_uri, a path and $request_uri or nothing after its host".into())
}

/// True if each `%` begins an encoded byte: nginx refuses others where a copy is a request to a server of its own.
fn is_decodable(path: &str) -> bool {
    path.split('%').skip(1).all(|rest| {
        let digits = rest.as_bytes().get(..2).unwrap_or_default();
        digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit) && digits != b"00"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_of_a_url_and_the_request_comes_behind_it() {
        let path = |literal: &str, request_uri| MirrorPath {
            literal: literal.to_owned(),
            request_uri,
        };
        for same in ["", "$request_uri", "/$request_uri"] {
            assert_eq!(parse_path(same).unwrap(), path("", true), "{same:?}");
        }
        assert_eq!(parse_path("/a$request_uri").unwrap(), path("/a", true));
        for fixed in ["/", "/a/b", "/a/"] {
            assert_eq!(parse_path(fixed).unwrap(), path(fixed, false));
        }
        for bad in [
            "a",
            "/a$uri",
            "/$request_uri/b",
            "/a b",
            "/a\"b",
            "/a;{}",
            "/a?b",
            "/a#b",
            "/a\\b",
            "/ä",
            "/100%",
            "/%4",
            "/%+4",
            "/%RE",
            "/%00",
            "?a",
        ] {
            assert!(parse_path(bad).is_err(), "{bad:?}");
        }
        assert!(parse_path(&format!("/{}", "a".repeat(1000))).is_err());
    }
}
