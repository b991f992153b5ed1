//! Active health checks: `sluice.dev/health-check-...`.

use std::num::{NonZeroU16, NonZeroU32};

use sluice_ir::{HealthCheck, Hostname, Protocol, ReasonCode, StatusRange, Transport};
use sluice_syntax::value::{self, Parsed};
use sluice_translate_engine::Cause;

use super::view::View;

// Their rows of the catalogue are among Sluice's own.
pub(crate) const PATH: &str = "sluice.dev/health-check-path";
pub(super) const INTERVAL: &str = "sluice.dev/health-check-interval";
pub(super) const TIMEOUT: &str = "sluice.dev/health-check-timeout";
pub(super) const HEALTHY: &str = "sluice.dev/health-check-healthy-threshold";
pub(super) const UNHEALTHY: &str = "sluice.dev/health-check-unhealthy-threshold";
pub(super) const PORT: &str = "sluice.dev/health-check-port";
pub(super) const HOST: &str = "sluice.dev/health-check-host";
pub(super) const STATUS: &str = "sluice.dev/health-check-status";

/// Of a path.
const MAX_PATH_BYTES: usize = 1024;
/// Of checks, or of results in a row.
const MAX_THRESHOLD: u16 = 100;

/// How the endpoints of an Ingress are reached.
#[derive(Clone, Copy)]
pub(super) struct Reached {
    pub(super) protocol: Protocol,
    /// They ask for a certificate of ours.
    pub(super) with_certificate: bool,
    /// By the address of their Service.
    pub(super) service_upstream: bool,
}

pub(super) fn health_check(view: &mut View<'_, '_>, reached: Reached) -> Option<HealthCheck> {
    let path = view.read(PATH, path);
    let interval = view.read(INTERVAL, |text| time(text, 1_000, 3_600_000, "1s to 1h"));
    let timeout = view.read(TIMEOUT, |text| time(text, 100, 60_000, "100ms to 60s"));
    let healthy_threshold = view.read(HEALTHY, threshold);
    let unhealthy_threshold = view.read(UNHEALTHY, threshold);
    let port = view.read(PORT, port);
    let host = view.read(HOST, host);
    let statuses = view.read(STATUS, statuses);
    let Some(path) = path else {
        for (name, is_set) in [
            (INTERVAL, interval.is_some()),
            (TIMEOUT, timeout.is_some()),
            (HEALTHY, healthy_threshold.is_some()),
            (UNHEALTHY, unhealthy_threshold.is_some()),
            (PORT, port.is_some()),
            (HOST, host.is_some()),
            (STATUS, statuses.is_some()),
        ] {
            if is_set {
                let reason = "sluice.dev/health-check-path is not set";
                view.not_honoured(name, reason, "annotation ignored");
            }
        }
        return None;
    };
    if let Some(reason) = unusable(reached) {
        let cause = Cause::new(ReasonCode::Unsupported, reason);
        view.not_honoured(PATH, cause, "endpoints are not checked");
        return None;
    }
    let usual = HealthCheck::at(path);
    Some(HealthCheck {
        host,
        port,
        interval: interval.unwrap_or(usual.interval),
        timeout: timeout.unwrap_or(usual.timeout),
        healthy_threshold: healthy_threshold.unwrap_or(usual.healthy_threshold),
        unhealthy_threshold: unhealthy_threshold.unwrap_or(usual.unhealthy_threshold),
        statuses: statuses.unwrap_or(usual.statuses),
        ..usual
    })
}

/// Why the endpoints of a canary cannot be checked, when the pods of its main Ingress are spoken to so.
pub(crate) fn unusable_with(transport: &Transport) -> Option<&'static str> {
    let tls = transport.tls.as_ref();
    unusable(Reached {
        protocol: transport.protocol,
        with_certificate: tls.is_some_and(|tls| tls.certificate.is_some()),
        service_upstream: false,
    })
}

fn unusable(reached: Reached) -> Option<&'static str> {
    if reached.protocol != Protocol::Http1 {
        return Some(
            "checks are requests of HTTP/1.1: backend-protocol must be HTTP, HTTPS or AUTO_HTTP",
        );
    }
    if reached.with_certificate {
        return Some("checks present no client certificate, and proxy-ssl-secret has one");
    }
    if reached.service_upstream {
        return Some("service-upstream is on: the address of a Service leads to any of its pods");
    }
    None
}

fn path(text: &str) -> Parsed<String> {
    let expected = || format!("a path of up to {MAX_PATH_BYTES} bytes, such as /healthz");
    let is_path = text.starts_with('/') && text.len() <= MAX_PATH_BYTES && !text.contains('#');
    match value::url(text) {
        Ok(path) if is_path => Ok(path),
        _ => Err(expected().into()),
    }
}

fn time(text: &str, least: u32, most: u32, range: &str) -> Parsed<NonZeroU32> {
    let millis = value::span(text).ok();
    let millis = millis.filter(|millis| (least..=most).contains(millis));
    let millis = millis.and_then(NonZeroU32::new);
    millis.ok_or_else(|| format!("a time from {range}").into())
}

fn threshold(text: &str) -> Parsed<NonZeroU16> {
    let count = text.parse().ok();
    let count = count.filter(|count: &NonZeroU16| count.get() <= MAX_THRESHOLD);
    count.ok_or_else(|| format!("an integer from 1 to {MAX_THRESHOLD}").into())
}

fn port(text: &str) -> Parsed<NonZeroU16> {
    text.parse().map_err(|_| "a port from 1 to 65535".into())
}

fn host(text: &str) -> Parsed<String> {
    match Hostname::parse(text) {
        Ok(host) => Ok(host.as_str().to_owned()),
        Err(_) => Err("a host name without a port".into()),
    }
}

fn statuses(text: &str) -> Parsed<StatusRange> {
    let status = |text: &str| {
        let is_status = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_status.then(|| text.parse::<u16>().ok()).flatten()
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = status(first).zip(status(last));
    range
        .and_then(|(first, last)| StatusRange::new(first, last))
        .ok_or_else(|| "a status or a range of them from 200 to 599, such as 200-399".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_and_no_request() {
        for good in ["/", "/healthz", "/a/b?c=d&e=%20"] {
            assert_eq!(path(good).as_deref(), Ok(good));
        }
        let long = format!("/{}", "a".repeat(MAX_PATH_BYTES));
        for bad in [
            "",
            "healthz",
            "http://pod/",
            "/a b",
            "/a\r\nhost: b",
            "/\u{e9}",
            "/a#b",
            "/$uri",
            &long,
        ] {
            assert!(path(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn statuses_are_one_or_a_range() {
        let text = |range: &str| statuses(range).map(|range| range.to_string());
        assert_eq!(text("200-399").as_deref(), Ok("200-399"));
        assert_eq!(text("204").as_deref(), Ok("204"));
        for bad in [
            "",
            "2xx",
            "399-200",
            "200-",
            "-200",
            "+200",
            "200-600",
            "100",
            "0200",
            "200-300-400",
        ] {
            assert!(statuses(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn times_have_limits() {
        let millis = |text| time(text, 1_000, 3_600_000, "1s to 1h").map(NonZeroU32::get);
        assert_eq!(
            [millis("1"), millis("5s"), millis("1h")],
            [Ok(1_000), Ok(5_000), Ok(3_600_000)]
        );
        for bad in ["0", "999ms", "2h", "5 s", "-1", ""] {
            assert!(millis(bad).is_err(), "{bad:?}");
        }
    }
}
