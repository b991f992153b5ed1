//! `enable-opentelemetry`, `otlp-*` and `otel-*`: where spans go, and which requests have one.
//!
//! Only the operator says where the collector is. Without one no spans are created; with one, an Ingress can ask
//! for them even where `enable-opentelemetry` is off.

use std::net::Ipv6Addr;

use sluice_ir::{Collector, Hostname, ReasonCode, Sampler, Tracing};
use sluice_syntax::{Parsed, expression, value};
use sluice_translate_engine::Severity;

use super::keys::{Key, key};
use super::view::View;
use crate::support::Support;

const BATCHES: &str = "Envoy exports batches of 512 spans, or every 5 seconds";
const NGINX_BATCHES: Support =
    Support::Unsupported("spans of nginx are exported every second, in batches of up to 512");

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("enable-opentelemetry", "false").full(),
    key("opentelemetry-config", "/etc/ingress-controller/telemetry/opentelemetry.toml").needless(),
    key("opentelemetry-operation-name", "").partly("nginx variables that Sluice supports"),
    key("opentelemetry-trust-incoming-span", "true").full(),
    key("otel-max-export-batch-size", "512").instead(BATCHES).nginx(NGINX_BATCHES),
    key("otel-max-queuesize", "2048").full(),
    key("otel-sampler", "AlwaysOn").full(),
    key("otel-sampler-parent-based", "true").full(),
    key("otel-sampler-ratio", "0.01").full(),
    key("otel-schedule-delay-millis", "5000").instead(BATCHES).nginx(NGINX_BATCHES),
    key("otel-service-name", "nginx").full(),
    key("otlp-collector-host", "").full(),
    key("otlp-collector-port", "4317").full(),
];

/// ingress-nginx: `otel-sampler-ratio: 0.01`.
const USUAL_RATIO: u32 = 10_000;

pub(super) fn tracing(view: &mut View<'_, '_>) -> Option<Tracing> {
    let mut host = None;
    let mut tracing = Tracing::to(Collector {
        host: String::new(),
        port: 4317,
    });
    view.set(&mut host, "otlp-collector-host", |text| {
        Ok(Some(collector(text)?))
    });
    view.set(&mut tracing.collector.port, "otlp-collector-port", port);
    view.set(
        &mut tracing.enabled_by_default,
        "enable-opentelemetry",
        value::bool,
    );
    view.set(&mut tracing.service, "otel-service-name", |text| {
        Ok(text.to_owned())
    });
    view.set(
        &mut tracing.follow_parent,
        "otel-sampler-parent-based",
        value::bool,
    );
    view.set(
        &mut tracing.trust_incoming_context,
        "opentelemetry-trust-incoming-span",
        value::bool,
    );
    view.set(&mut tracing.max_queue_size, "otel-max-queuesize", queue);
    view.set(
        &mut tracing.operation,
        "opentelemetry-operation-name",
        |text| Ok(Some(expression::parse(text)?).filter(|name| !name.0.is_empty())),
    );
    tracing.sampler = sampler(view);
    if host.is_none() && tracing.enabled_by_default {
        let reason = "otlp-collector-host is not set";
        view.report(
            ReasonCode::InvalidValue,
            Severity::Warning,
            "enable-opentelemetry",
            reason,
            "no spans are created",
        );
    }
    tracing.collector.host = host?;
    Some(tracing)
}

fn sampler(view: &mut View<'_, '_>) -> Sampler {
    let mut ratio = USUAL_RATIO;
    view.set(&mut ratio, "otel-sampler-ratio", millionths);
    let mut sampler = Sampler::Always;
    view.set(&mut sampler, "otel-sampler", |text| match text {
        "AlwaysOn" => Ok(Sampler::Always),
        "AlwaysOff" => Ok(Sampler::Never),
        "TraceIdRatioBased" => Ok(Sampler::Millionths(ratio)),
        _ => Err("AlwaysOn, AlwaysOff or TraceIdRatioBased".into()),
    });
    sampler
}

/// The name of a host, with or without a dot at its end, or an address.
fn collector(text: &str) -> Parsed<String> {
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(text);
    let is_address = bare.parse::<Ipv6Addr>().is_ok();
    let is_name = Hostname::parse(text.strip_suffix('.').unwrap_or(text)).is_ok();
    match (is_address, is_name) {
        (true, _) => Ok(bare.to_owned()),
        (_, true) => Ok(text.to_owned()),
        _ => Err("the name or the address of a host, without a scheme or a port".into()),
    }
}

fn port(text: &str) -> Parsed<u16> {
    let port = text.parse().ok().filter(|port| *port != 0);
    port.ok_or_else(|| "a port from 1 to 65535".into())
}

fn queue(text: &str) -> Parsed<u32> {
    match value::count(text)? {
        0 => Err("a number of spans, at least 1".into()),
        some => Ok(some),
    }
}

fn millionths(text: &str) -> Parsed<u32> {
    let ratio = text
        .parse()
        .ok()
        .filter(|ratio| (0.0..=1.0).contains(ratio));
    let ratio: f64 = ratio.ok_or("a number from 0 to 1, such as 0.01")?;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to a million"
    )]
    let millionths = (ratio * 1e6).round() as u32;
    Ok(millionths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[(&'static str, &str)]) -> (Option<Tracing>, Vec<String>) {
        let mut reports = Vec::new();
        let tracing = tracing(&mut View::with(
            values.iter().copied().collect(),
            &mut reports,
        ));
        (tracing, reports.iter().map(ToString::to_string).collect())
    }

    const HOST: (&str, &str) = ("otlp-collector-host", "otel.test");

    #[test]
    fn without_a_collector_there_are_no_spans_and_that_is_said() {
        assert_eq!(read(&[]), (None, vec![]));
        let (tracing, reports) = read(&[("enable-opentelemetry", "true")]);
        assert_eq!(tracing, None);
        let expected = "ConfigMap default/c: data.enable-opentelemetry: otlp-collector-host is not set; \
                        no spans are created";
        assert_eq!(reports, [expected]);
    }

    #[test]
    fn a_collector_alone_has_the_defaults_of_ingress_nginx() {
        let (tracing, reports) = read(&[HOST]);
        let collector = Collector {
            host: "otel.test".to_owned(),
            port: 4317,
        };
        assert_eq!((tracing, reports), (Some(Tracing::to(collector)), vec![]));
    }

    #[test]
    fn the_ratio_holds_only_for_the_sampler_that_has_one() {
        let sampler = |more: &[_]| read(&[&[HOST], more].concat()).0.unwrap().sampler;
        let by_ratio = ("otel-sampler", "TraceIdRatioBased");
        assert_eq!(sampler(&[("otel-sampler-ratio", "0.5")]), Sampler::Always);
        assert_eq!(sampler(&[by_ratio]), Sampler::Millionths(10_000));
        assert_eq!(
            sampler(&[by_ratio, ("otel-sampler-ratio", "0.5")]),
            Sampler::Millionths(500_000)
        );
        assert_eq!(sampler(&[("otel-sampler", "AlwaysOff")]), Sampler::Never);
    }

    #[test]
    fn a_collector_is_a_name_or_an_address() {
        for good in ["otel.test", "otel.test.", "10.0.0.1", "::1"] {
            assert_eq!(collector(good).as_deref(), Ok(good));
        }
        assert_eq!(collector("[::1]").as_deref(), Ok("::1"));
        for bad in [
            "",
            "http://otel.test",
            "otel.test:4317",
            "a b",
            "[otel]",
            "otel.test/v1",
        ] {
            assert!(collector(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_and_its_default_holds() {
        let bad = [
            ("otlp-collector-port", "0"),
            ("otel-sampler", "Sometimes"),
            ("otel-sampler-ratio", "2"),
            ("otel-max-queuesize", "0"),
            ("opentelemetry-operation-name", "$service_name"),
        ];
        for (name, value) in bad {
            let (tracing, reports) = read(&[HOST, (name, value)]);
            assert_eq!(tracing, read(&[HOST]).0, "{name}");
            let [report] = reports.as_slice() else {
                panic!("{reports:?}")
            };
            assert!(
                report.contains(&format!("data.{name}: expected")),
                "{report}"
            );
            assert!(
                report.ends_with(&format!("got {value:?}; the default is used")),
                "{report}"
            );
        }
    }
}
