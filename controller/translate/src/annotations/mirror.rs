//! A copy of each request.

use sluice_syntax::value::{self, Parsed};
use sluice_translate_engine::UpstreamUrl;

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::risk::Risk;
use crate::support::Support;

/// The filter says once for each request which pod gets it.
const NGINX: Support =
    Support::Partly("as Envoy, but to the address of a Service where it has one");

pub(super) const GROUP: Group = Group {
    title: "Mirrors",
    annotations: &[
        annotation("mirror-target", Value::Url, Risk::High, Scope::Ingress).partly(
            "mirrored requests keep their path and query: nothing, / or $request_uri after the host",
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
    /// True if the body is left out.
    pub(crate) bodiless: bool,
}

pub(super) fn mirror(view: &mut View<'_, '_>) -> Option<MirrorTarget> {
    let has_body = view
        .read("mirror-request-body", value::on_off)
        .unwrap_or(true);
    let host = view.read("mirror-host", |text| -> Parsed<String> {
        let name = sluice_ir::Hostname::parse(text).map_err(|_| "the name of a host")?;
        Ok(name.as_str().to_owned())
    });
    let addresses = view.references.tracker.addresses;
    let target = view.read("mirror-target", |text| {
        let (target, path) = UpstreamUrl::parse(text, addresses)?;
        let same = ["", "/", "$request_uri", "/$request_uri"].contains(&path);
        if same {
            Ok(target)
        } else {
            Err("a URL with nothing, / or $request_uri after its host".into())
        }
    })?;
    let host = host.unwrap_or_else(|| target.host.as_str().to_owned());
    Some(MirrorTarget {
        target,
        host,
        bodiless: !has_body,
    })
}
