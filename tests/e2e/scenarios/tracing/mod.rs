//! Spans of real requests, as a collector gets them.

pub(crate) mod collector;
pub(crate) mod hostile;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Port;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST, page};
use collector::{Collector, Span};

pub(crate) const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
pub(crate) const CALLER: &str = "b7ad6b7169203331";

/// A site with these settings beside the collector's address.
pub(crate) struct TracedFixture {
    pub(crate) fixture: Fixture,
    pub(crate) sluice: Sluice,
}

impl TracedFixture {
    pub(crate) async fn start(
        plane: &str,
        port: &Port,
        settings: Value,
        ingresses: &[Ingress],
    ) -> Result<TracedFixture> {
        TracedFixture::with_flags(plane, port, settings, ingresses, &[]).await
    }

    pub(crate) async fn with_flags(
        plane: &str,
        port: &Port,
        settings: Value,
        ingresses: &[Ingress],
        more: &[&str],
    ) -> Result<TracedFixture> {
        let more = more.iter().map(|flag| (*flag).to_owned()).collect();
        let options = |options: Options| options.data_plane(plane).arguments(more);
        TracedFixture::with(port, settings, ingresses, options).await
    }

    pub(crate) async fn with(
        port: &Port,
        settings: Value,
        ingresses: &[Ingress],
        options: impl FnOnce(Options) -> Options,
    ) -> Result<TracedFixture> {
        let fixture = Fixture::start(1, 1).await?;
        for ingress in ingresses {
            fixture.manifests.ingress(ingress)?;
        }
        configure(&fixture, &with_collector(port, settings))?;
        let flags = ["--configmap", "sluice/settings"].map(str::to_owned);
        let sluice = options(Options::new(&fixture.manifests))
            .arguments(flags.into())
            .start()
            .await?;
        Ok(TracedFixture { fixture, sluice })
    }

    /// The request that the pod receives.
    pub(crate) async fn seen(&self, request: &Request) -> Result<Value> {
        let answer = http::send(self.sluice.http(), request).await?;
        ensure!(answer.status == 200, "{}", answer.status);
        answer.json()
    }

    /// Trace id, parent span and sampling flag that the pod receives.
    pub(crate) async fn send(&self, request: &Request) -> Result<[String; 3]> {
        let seen = self.seen(request).await?;
        let parent = seen["headers"]["traceparent"][0]
            .as_str()
            .context("no traceparent")?;
        let [_, trace, span, flags] = parent.split('-').collect::<Vec<_>>()[..] else {
            anyhow::bail!("{parent}")
        };
        Ok([trace, span, flags].map(str::to_owned))
    }
}

/// The operator's settings.
fn configure(fixture: &Fixture, data: &Value) -> Result<()> {
    let metadata = json!({"name": "settings", "namespace": "sluice"});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
    fixture.manifests.object(&map)
}

fn with_collector(port: &Port, mut settings: Value) -> Value {
    settings["otlp-collector-host"] = port.addr().ip().to_string().into();
    settings["otlp-collector-port"] = port.number().to_string().into();
    settings
}

pub(crate) fn get(target: &str) -> Request {
    Request::get(HOST, target)
}

pub(crate) fn request_in_trace(target: &str, flags: &str) -> Request {
    get(target).header("traceparent", &format!("00-{TRACE}-{CALLER}-{flags}"))
}

/// More paths of the site, each an Ingress of its own.
pub(crate) fn path(path: &str) -> Ingress {
    Ingress::new("default", path.trim_start_matches('/'))
        .host(HOST)
        .path(path, "web", 80)
}

pub(crate) fn attribute<'a>(span: &'a Span, name: &str) -> &'a str {
    span.attributes.get(name).map_or("", String::as_str)
}

pub(crate) async fn propagation(plane: &str) -> Result<()> {
    let collector = Collector::start().await?;
    let moved = path("/moved").annotation("rewrite-target", "/elsewhere");
    let settings = json!({"enable-opentelemetry": "true", "otel-service-name": "edge"});
    let traced = TracedFixture::start(plane, &collector.port, settings, &[moved]).await?;

    let request = request_in_trace("/moved?a=b", "01").header("user-agent", "a test");
    let id = "11111111-2222-4333-8444-555555555555";
    let with_id = request.clone().header("x-request-id", id);
    let answer = http::send(traced.sluice.http(), &with_id).await?;
    ensure!(
        answer.json()?["headers"]["x-request-id"][0] == id,
        "the id of a request is its client's"
    );
    let [trace, told, flags] = traced.send(&request).await?;
    ensure!(
        (trace.as_str(), flags.as_str()) == (TRACE, "01"),
        "{trace} {flags}"
    );
    traced.send(&request_in_trace("/unsampled", "00")).await?;
    let [begun, ..] = traced.send(&get("/begun")).await?;

    let new = collector.wait_for("/begun").await?;
    ensure!(
        (new.trace.as_str(), new.parent.as_str()) == (begun.as_str(), ""),
        "{new:?}"
    );
    let spans = collector.spans();
    ensure!(
        !spans
            .iter()
            .any(|span| attribute(span, "http.target") == "/unsampled"),
        "{spans:?}"
    );
    let span = spans
        .iter()
        .find(|span| span.id == told)
        .context("no span with the id that the pod has")?;
    ensure!(
        (span.trace.as_str(), span.parent.as_str()) == (TRACE, CALLER),
        "{span:?}"
    );
    ensure!(
        span.service == "edge" && span.name == format!("{HOST}~/moved"),
        "{span:?}"
    );
    for (name, value) in [
        ("http.method", "GET"),
        ("http.status_code", "200"),
        ("http.host", HOST),
        ("http.scheme", "http"),
        ("http.target", "/moved?a=b"),
        ("http.user_agent", "a test"),
        ("net.peer.ip", "127.0.0.1"),
    ] {
        ensure!(attribute(span, name) == value, "{name}: {span:?}");
    }
    traced.sluice.stop()
}

/// With a scope for each host, Envoy knows the routes of a wildcard only after the span has begun.
pub(crate) async fn disabled_and_named_spans(plane: &str, flags: &[&str]) -> Result<()> {
    let collector = Collector::start().await?;
    let off = path("/off").annotation("enable-opentelemetry", "false");
    let pay = path("/pay").annotation("enable-opentelemetry", "true");
    let pay = pay.annotation("opentelemetry-operation-name", "pay_now");
    let wild = Ingress::new("default", "wild")
        .host("*.wild.test")
        .path("/", "web", 80);
    let wild = wild.annotation("enable-opentelemetry", "false");
    let settings = json!({
        "enable-opentelemetry": "true",
        "opentelemetry-operation-name": "HTTP $request_method $uri",
    });
    let traced =
        TracedFixture::with_flags(plane, &collector.port, settings, &[off, pay, wild], flags)
            .await?;

    let of_a_wildcard = Request::get("a.wild.test", "/off");
    for request in [get("/off"), request_in_trace("/off", "01"), of_a_wildcard] {
        let [.., flags] = traced.send(&request).await?;
        ensure!(
            flags == "00",
            "the pod is told that the trace is kept: {request:?}"
        );
    }
    traced.send(&get("/pay")).await?;
    traced.send(&get("/last?a=b")).await?;
    let last = collector.wait_for("/last?a=b").await?;
    ensure!(last.name == "HTTP GET /last", "{last:?}");
    let spans = collector.spans();
    let named = |name: &str| spans.iter().filter(|span| span.name == name).count();
    ensure!(spans.len() == 2 && named("pay_now") == 1, "{spans:?}");
    traced.sluice.stop()
}

pub(crate) async fn enabled_by_ingress(plane: &str) -> Result<()> {
    let collector = Collector::start().await?;
    let on = path("/on").annotation("enable-opentelemetry", "true");
    let traced = TracedFixture::start(plane, &collector.port, json!({}), &[on]).await?;
    for request in [get("/"), request_in_trace("/", "01"), get("/on")] {
        traced.send(&request).await?;
    }
    let on = collector.wait_for("/on").await?;
    ensure!(collector.spans() == [on]);
    traced.sluice.stop()
}

pub(crate) async fn ratio_zero(plane: &str) -> Result<()> {
    let collector = Collector::start().await?;
    let settings = json!({
        "enable-opentelemetry": "true",
        "otel-sampler": "TraceIdRatioBased",
        "otel-sampler-ratio": "0",
    });
    let traced = TracedFixture::start(plane, &collector.port, settings, &[]).await?;
    for _ in 0..20 {
        let [.., flags] = traced.send(&get("/mine")).await?;
        ensure!(flags == "00", "{flags}");
    }
    traced.send(&request_in_trace("/theirs", "01")).await?;
    let theirs = collector.wait_for("/theirs").await?;
    ensure!(collector.spans() == [theirs]);
    traced.sluice.stop()
}

pub(crate) async fn untrusted_context(plane: &str) -> Result<()> {
    let collector = Collector::start().await?;
    let settings = json!({
        "enable-opentelemetry": "true",
        "opentelemetry-trust-incoming-span": "false",
        "otel-sampler": "TraceIdRatioBased",
        "otel-sampler-ratio": "1",
    });
    let traced = TracedFixture::start(plane, &collector.port, settings, &[]).await?;
    let [trace, told, flags] = traced.send(&request_in_trace("/theirs", "00")).await?;
    ensure!(trace != TRACE && flags == "01", "{trace} {flags}");
    let span = collector.wait_for("/theirs").await?;
    ensure!(
        (&span.trace, &span.id, span.parent.as_str()) == (&trace, &told, ""),
        "{span:?}"
    );
    traced.sluice.stop()
}

pub(crate) async fn unreachable_collector(plane: &str) -> Result<()> {
    let nobody = Port::reserve()?;
    let settings = json!({"enable-opentelemetry": "true", "otel-max-queuesize": "10"});
    let traced = TracedFixture::start(plane, &nobody, settings, &[]).await?;
    // More than the queue holds.
    for _ in 0..50 {
        ensure!(http::send(traced.sluice.http(), &page()).await?.status == 200);
    }
    ensure!(traced.fixture.pods[0].hits() == 50);
    traced.sluice.stop()
}

pub(crate) async fn collector_set_and_unset(plane: &str) -> Result<()> {
    let collector = Collector::start().await?;
    let settings = json!({"enable-opentelemetry": "true"});
    let traced = TracedFixture::start(plane, &collector.port, settings.clone(), &[]).await?;
    let is_traced = async || traced.send(&get("/")).await.is_ok();
    ensure!(is_traced().await);
    for _ in 0..2 {
        configure(&traced.fixture, &settings)?;
        let plain = async || (!is_traced().await).then_some(());
        wait::until("requests without a trace", plain).await?;
        ensure!(http::send(traced.sluice.http(), &page()).await?.status == 200);
        configure(
            &traced.fixture,
            &with_collector(&collector.port, settings.clone()),
        )?;
        let traces = async || is_traced().await.then_some(());
        wait::until("requests with a trace", traces).await?;
    }
    // Workers of the former configuration may still take connections.
    let last = async || traced.send(&get("/last")).await.ok();
    wait::until("the last request with a trace", last).await?;
    collector.wait_for("/last").await?;
    traced.sluice.stop()
}
