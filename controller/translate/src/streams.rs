//! `--tcp-services-configmap` and `--udp-services-configmap`: ports that lead to Services without HTTP.
//!
//! ```text
//!   "9000": "default/database:5432:PROXY:PROXY"      port: namespace/service:port, PROXY header read, PROXY header written
//! ```

use std::collections::BTreeMap;
use std::num::{NonZeroU8, NonZeroU16, NonZeroU32};

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use sluice_ir::{L4Protocol, Stream, StreamPort, Transport};
use sluice_syntax::{Parsed, shortened, value};
use sluice_translate_engine::{
    BackendRefs, BackendSettings, BackendSource, Balance, Cause, Kind, ObjectCache, ObjectKey,
    ObjectRef, Port, ReferenceSite, Report, Reporter, Service, Severity, Traffic,
};

use crate::Options;
use crate::global::Globals;

const SKIPPED: &str = "port not served";

/// Target of a port.
#[derive(Debug, PartialEq, Eq)]
struct Target<'a> {
    service: ObjectKey,
    port: &'a str,
    decode: bool,
    encode: bool,
}

/// Every port that a ConfigMap names, served or not: what comes to be served must not have been an endpoint before.
pub(crate) fn ports<'a>(
    cluster: &'a ObjectCache,
    options: &'a Options,
) -> impl Iterator<Item = u16> + 'a {
    let maps = options
        .l4_config_maps()
        .filter_map(|key| cluster.config_map(key)?.data.as_ref());
    maps.flat_map(BTreeMap::keys)
        .filter_map(|name| name.parse().ok())
}

/// Every port that leads to a Service.
pub(crate) fn streams(
    cluster: &ObjectCache,
    options: &Options,
    globals: &Globals,
    backend_refs: &mut BackendRefs,
    reports: &mut Vec<Report>,
) -> BTreeMap<StreamPort, Stream> {
    let mut all = BTreeMap::new();
    for (layer, flag, key) in [
        (
            L4Protocol::Tcp,
            "--tcp-services-configmap",
            &options.tcp_services,
        ),
        (
            L4Protocol::Udp,
            "--udp-services-configmap",
            &options.udp_services,
        ),
    ] {
        let Some(key) = key else { continue };
        let object = ObjectRef {
            kind: Kind::ConfigMap,
            key: key.clone(),
        };
        let mut reporter = Reporter::new(object.clone(), reports);
        let Some(map) = cluster.config_map(key) else {
            let consequence = "none of its ports is served";
            reporter.report_missing(object, Severity::Warning, flag, consequence);
            continue;
        };
        for (name, text) in map.data.iter().flatten() {
            let field = format!("data.{}", shortened(name));
            match read(layer, name, text, cluster, options) {
                Ok((port, target, wanted)) => {
                    let site = ReferenceSite {
                        object: object.clone(),
                        field,
                    };
                    all.insert(port, stream(target, wanted, globals, backend_refs, site));
                }
                Err(Cause {
                    code,
                    reason,
                    missing,
                }) => {
                    reporter
                        .report(code, Severity::Error, field, reason, SKIPPED)
                        .missing = missing;
                }
            }
        }
    }
    all
}

fn stream(
    target: Target<'_>,
    port: Port,
    globals: &Globals,
    backend_refs: &mut BackendRefs,
    site: ReferenceSite,
) -> Stream {
    let most = NonZeroU32::new(globals.streams.connections);
    let transport = Transport {
        proxy_protocol: target.encode,
        max_connections: most,
        ..globals.upstream.transport.clone()
    };
    // Envoy's own round robin: there is nothing of a request that one could look at.
    let (balance, attempts) = (Balance::default(), NonZeroU8::MIN);
    let settings = BackendSettings {
        transport: &transport,
        balance: &balance,
        attempts,
        traffic: Traffic::Other,
    };
    let backend = backend_refs.add(BackendSource::Service(target.service, port), settings, site);
    let timeouts = globals.streams;
    Stream {
        backend,
        proxy_protocol: target.decode,
        idle_timeout: timeouts.idle,
        attempts: timeouts.attempts,
        attempts_timeout: timeouts.attempts_within,
        responses: timeouts.answers,
    }
}

fn read<'a>(
    layer: L4Protocol,
    name: &str,
    text: &'a str,
    cluster: &ObjectCache,
    options: &Options,
) -> Result<(StreamPort, Target<'a>, Port), Cause> {
    let number: NonZeroU16 = name
        .parse()
        .map_err(|_| format!("expected a port from 1 to 65535, got {:?}", shortened(name)))?;
    if options.addresses.own_ports.contains(&number.get()) {
        let reason = format!("expected a port that Sluice does not listen on itself, got {number}");
        return Err(reason.into());
    }
    let target = target(layer, text)
        .map_err(|expected| format!("expected {expected}, got {:?}", shortened(text)))?;
    let service = cluster.service(&target.service);
    let service = service.ok_or_else(|| Cause::missing(Kind::Service, target.service.clone()))?;
    let port = port_of(service, layer, target.port).ok_or_else(|| {
        format!(
            "expected a {} port of Service {}, got {}",
            protocol(layer),
            target.service,
            target.port
        )
    })?;
    Ok((
        StreamPort {
            protocol: layer,
            number,
        },
        target,
        port,
    ))
}

fn target(layer: L4Protocol, text: &str) -> Parsed<Target<'_>> {
    let expected = match layer {
        L4Protocol::Tcp => "NAMESPACE/SERVICE:PORT, and PROXY once or twice behind colons",
        L4Protocol::Udp => "NAMESPACE/SERVICE:PORT",
    };
    let mut parts = text.trim().split(':');
    let (reference, port) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let (Some(namespace), service) = value::reference(reference)? else {
        return Err(expected.into());
    };
    let mut proxy = |is_tcp: bool| match parts.next() {
        None | Some("") => Some(false),
        Some(word) => (is_tcp && word.eq_ignore_ascii_case("PROXY")).then_some(true),
    };
    let is_tcp = layer == L4Protocol::Tcp;
    match (proxy(is_tcp), proxy(is_tcp), parts.next()) {
        (Some(decode), Some(encode), None) if !port.is_empty() => Ok(Target {
            service: ObjectKey::new(namespace, service),
            port,
            decode,
            encode,
        }),
        _ => Err(expected.into()),
    }
}

/// By its name where it has one: a Service may have the same number for TCP and for UDP.
fn port_of(service: &Service, layer: L4Protocol, wanted: &str) -> Option<Port> {
    let found = service.ports().iter().find(|port| {
        let is_target = match &port.target_port {
            Some(IntOrString::String(target)) => target == wanted,
            _ => false,
        };
        let is_wanted =
            port.port.to_string() == wanted || port.name.as_deref() == Some(wanted) || is_target;
        is_wanted && port.protocol.as_deref().unwrap_or("TCP") == protocol(layer)
    })?;
    Some(
        found
            .name
            .clone()
            .filter(|name| !name.is_empty())
            .map_or(Port::Number(found.port), Port::Name),
    )
}

fn protocol(layer: L4Protocol) -> &'static str {
    match layer {
        L4Protocol::Tcp => "TCP",
        L4Protocol::Udp => "UDP",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(layer: L4Protocol, text: &str) -> Option<(String, &str, bool, bool)> {
        let Target {
            service,
            port,
            decode,
            encode,
        } = target(layer, text).ok()?;
        Some((service.to_string(), port, decode, encode))
    }

    #[test]
    fn a_target_is_a_service_and_says_who_speaks_proxy() {
        let database = |decode, encode| Some(("db/pg".to_owned(), "5432", decode, encode));
        assert_eq!(
            parsed(L4Protocol::Tcp, "db/pg:5432"),
            database(false, false)
        );
        assert_eq!(
            parsed(L4Protocol::Tcp, "db/pg:5432:PROXY"),
            database(true, false)
        );
        assert_eq!(
            parsed(L4Protocol::Tcp, " db/pg:5432:PROXY:PROXY"),
            database(true, true)
        );
        assert_eq!(
            parsed(L4Protocol::Tcp, "db/pg:5432::PROXY"),
            database(false, true)
        );
        assert_eq!(
            parsed(L4Protocol::Udp, "db/pg:5432"),
            database(false, false)
        );
    }

    #[test]
    fn what_is_no_target_is_refused() {
        for bad in [
            "",
            "pg:5432",
            "db/pg",
            "db/pg:",
            "db/pg:1:proxies",
            "db/pg:1:PROXY:PROXY:PROXY",
            "../pg:1",
        ] {
            assert_eq!(parsed(L4Protocol::Tcp, bad), None, "{bad:?}");
        }
        assert_eq!(parsed(L4Protocol::Udp, "db/pg:1:PROXY"), None);
    }
}
