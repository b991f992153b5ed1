//! A copy of each request.

use sluice_ir::{MirrorPath, ReasonCode};
use sluice_syntax::value::{self, Parsed};
use sluice_translate_engine::{Cause, UpstreamUrl};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::risk::Risk;
use crate::support::{DataPlane, Support, Supports};

/// The filter says once for each request which pod gets it.
const NGINX: Support = Support::Partly(
    "a path and $request_uri, or one of them, after the host; to the address of a Service where it has one",
);
/// A path of its own: Envoy's mirror policies change no path, and neither does any of its filters behind them.
const PATH: Supports = Supports {
    envoy: Support::Unsupported("write nothing or $request_uri after the host"),
    nginx: Support::Full,
};
/// Longer texts may be more than nginx reads.
const LONGEST_PATH: usize = 1000;

pub(super) const GROUP: Group = Group {
    title: "Mirrors",
    annotations: &[
        annotation("mirror-target", Value::Url, Risk::High, Scope::Ingress).partly(
            "mirrored requests keep their path and query: nothing, $request_uri or /$request_uri after the host; a path of their own (also /) is reported",
        ).nginx(NGINX),
        annotation("mirror-host", Value::Text, Risk::High, Scope::Ingress).full(),
        annotation("mirror-request-body", Value::OnOff, Risk::Low, Scope::Ingress)
            .instead("mirrored requests have the body of the request")
            .nginx(Support::Full)
            .harmless(&["on"]),
    ],
};

/// Target of a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MirrorTarget {
    /// The backend that gets it.
    pub(crate) target: UpstreamUrl,
    /// The `Host` that it has.
    pub(crate) host: String,
    /// Its path, if it is not that of the request.
    pub(crate) path: Option<MirrorPath>,
    /// True if the body is left out.
    pub(crate) bodiless: bool,
}

pub(super) fn mirror(
    view: &mut View<'_, '_>,
    served_by: Option<DataPlane>,
) -> Option<MirrorTarget> {
    let has_body = view
        .read("mirror-request-body", value::on_off)
        .unwrap_or(true);
    let host = view.read("mirror-host", |text| -> Parsed<String> {
        let name = sluice_ir::Hostname::parse(text).map_err(|_| "the name of a host")?;
        Ok(name.as_str().to_owned())
    });
    let addresses = view.references.tracker.addresses;
    let (target, path) = view.read("mirror-target", |text| {
        let (target, path) = UpstreamUrl::parse(text, addresses)?;
        Ok((target, parse_path(path)?))
    })?;
    if path.is_some() {
        for (applies_to, support) in PATH.by_data_plane(served_by) {
            if let Support::Unsupported(advice) = support {
                let cause = Cause::new(ReasonCode::Unsupported, applies_to.not_supported(advice));
                view.not_honoured("mirror-target", cause, "requests are not mirrored");
            }
        }
        if !PATH.is_honoured(served_by) {
            return None;
        }
    }
    let host = host.unwrap_or_else(|| target.host.as_str().to_owned());
    Some(MirrorTarget {
        target,
        host,
        path,
        bodiless: !has_body,
    })
}

/// The part after the host; `None` where that is the path of the request. nginx sends the name of its own location where
/// there is nothing, and `/$request_uri`, which its documentation writes, with two slashes: nobody wants either. A slash alone is
/// a path.
fn parse_path(text: &str) -> Parsed<Option<MirrorPath>> {
    if ["", "$request_uri", "/$request_uri"].contains(&text) {
        return Ok(None);
    }
    let (literal, request_uri) = match text.strip_suffix("$request_uri") {
        Some(literal) => (literal, true),
        None => (text, false),
    };
    let is_literal = |b: u8| b.is_ascii_alphanumeric() || b"/-._~!&'()*+,;=:@%".contains(&b);
    let fits = literal.len() <= LONGEST_PATH && literal.starts_with('/');
    if fits && literal.bytes().all(is_literal) {
        let literal = literal.to_owned();
        return Ok(Some(MirrorPath {
            literal,
            request_uri,
        }));
    }
    Err("a URL with a path, $request_uri, a path and $request_uri or nothing after its host".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_of_a_url_and_the_request_comes_behind_it() {
        let path = |literal: &str, request_uri| {
            let literal = literal.to_owned();
            Some(MirrorPath {
                literal,
                request_uri,
            })
        };
        for same in ["", "$request_uri", "/$request_uri"] {
            assert_eq!(parse_path(same).unwrap(), None, "{same:?}");
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
            "?a",
        ] {
            assert!(parse_path(bad).is_err(), "{bad:?}");
        }
        assert!(parse_path(&format!("/{}", "a".repeat(1000))).is_err());
    }
}
