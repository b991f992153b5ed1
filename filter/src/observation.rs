//! Observations of responses and completed requests. Only needed values are read.

use std::borrow::Cow;
use std::time::Duration;

use sluice_filter_config::Host;
use sluice_filter_config::host_contract::OUTCOME;
use sluice_filter_core::{Interest, attempts};
use sluice_filter_worker::Observation;

use crate::host;

/// Result of a completed request.
pub(crate) fn read(host: Host, interest: Interest) -> Observation<'static> {
    match host {
        Host::Envoy | Host::ManagedEnvoy => from_envoy(interest),
        Host::Nginx => from_nginx_module(interest),
        Host::NgxWasm => from_nginx_variables(interest),
    }
}

fn from_envoy(interest: Interest) -> Observation<'static> {
    let Some(endpoint) = text(b"upstream\0address") else {
        return Observation::default();
    };
    let latency =
        || number(b"response\0backend_latency").and_then(|nanos| u64::try_from(nanos).ok());
    let status = || number(b"response\0code").and_then(|code| u16::try_from(code).ok());
    let attempts =
        || number(b"upstream\0request_attempt_count").and_then(|n| u32::try_from(n).ok());
    let response_time = interest
        .latency
        .then(latency)
        .flatten()
        .map(Duration::from_nanos);
    let is_status_read = interest.status || response_time.is_none();
    Observation {
        endpoint: Some(Cow::Owned(endpoint)),
        status: is_status_read
            .then(status)
            .flatten()
            .filter(|&status| status != 0),
        response_time,
        attempts: interest.failures.then(attempts).flatten().unwrap_or(1),
    }
}

/// Each question costs about a microsecond, so our own module answers all of nginx's lists at once, a line for each.
fn from_nginx_module(interest: Interest) -> Observation<'static> {
    let Some(told) = text(OUTCOME.property.as_bytes()) else {
        return Observation::default();
    };
    let mut lists = told.split('\n');
    let mut next = || lists.next().unwrap_or_default();
    Observation::of_nginx([next(), next(), next(), next()], interest)
}

fn from_nginx_variables(interest: Interest) -> Observation<'static> {
    let Some(tried) = text(b"ngx.upstream_addr") else {
        return Observation::default();
    };
    let list = |path: &[u8]| text(path).unwrap_or_default();
    let time = |path: &[u8]| {
        if interest.latency {
            list(path)
        } else {
            String::new()
        }
    };
    let (status, connect) = (
        list(b"ngx.upstream_status"),
        time(b"ngx.upstream_connect_time"),
    );
    Observation::of_nginx(
        [
            &tried,
            &status,
            &connect,
            &time(b"ngx.upstream_response_time"),
        ],
        interest,
    )
}

/// `ip:port` of the endpoint that gives the response.
pub(crate) fn upstream_address(host: Host) -> Option<String> {
    match host {
        Host::Envoy | Host::ManagedEnvoy => text(b"upstream\0address"),
        Host::Nginx | Host::NgxWasm => {
            Some(attempts(&text(b"ngx.upstream_addr")?).last()?.to_owned())
        }
    }
}

/// True if the response is from an upstream, not from Envoy itself.
pub(crate) fn is_from_upstream() -> bool {
    text(b"response\0code_details").as_deref() == Some("via_upstream")
}

/// True if the client's own connection is TLS.
pub(crate) fn is_https(host: Host) -> bool {
    match host {
        Host::Envoy | Host::ManagedEnvoy => text(b"connection\0tls_version").is_some(),
        Host::Nginx | Host::NgxWasm => text(b"ngx.https").as_deref() == Some("on"),
    }
}

/// The zone of the data plane, as Envoy's bootstrap says it.
pub(crate) fn own_zone(host: Host) -> Option<String> {
    match host {
        Host::Envoy | Host::ManagedEnvoy => text(b"xds\0node\0locality\0zone"),
        Host::Nginx | Host::NgxWasm => None,
    }
}

fn text(path: &[u8]) -> Option<String> {
    host::property(path)
        .and_then(|value| String::from_utf8(value).ok())
        .filter(|text| !text.is_empty())
}

/// Envoy's numbers and durations are eight bytes.
fn number(path: &[u8]) -> Option<i64> {
    host::property(path)?
        .try_into()
        .ok()
        .map(i64::from_le_bytes)
}
