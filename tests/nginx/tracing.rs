//! Spans of nginx, which the controller sends.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::http::{self, Request};
use sluice_tests::ports::Port;
use sluice_tests::wait;
use tokio::net::TcpListener;

use crate::fixture::HOST;
use crate::scenarios::tracing::collector::{Collector, Span};
use crate::scenarios::tracing::{
    self, CALLER, TRACE, TracedFixture, attribute, get, hostile, path, request_in_trace,
};

#[tokio::test(flavor = "multi_thread")]
async fn trace_context_propagates_from_client_to_pod() -> Result<()> {
    tracing::propagation("nginx").await
}

#[tokio::test(flavor = "multi_thread")]
async fn ingress_disables_or_names_its_spans() -> Result<()> {
    tracing::disabled_and_named_spans("nginx", &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn ingress_enables_spans_that_are_off_by_default() -> Result<()> {
    tracing::enabled_by_ingress("nginx").await
}

#[tokio::test(flavor = "multi_thread")]
async fn sampling_ratio_zero_keeps_only_traces_begun_upstream() -> Result<()> {
    tracing::ratio_zero("nginx").await
}

#[tokio::test(flavor = "multi_thread")]
async fn untrusted_trace_context_is_ignored() -> Result<()> {
    tracing::untrusted_context("nginx").await
}

/// On Envoy the ConfigMap decides for all.
#[tokio::test(flavor = "multi_thread")]
async fn ingress_says_whether_its_clients_are_trusted() -> Result<()> {
    for trusted in [true, false] {
        let collector = Collector::start().await?;
        let settings = json!({
            "enable-opentelemetry": "true",
            "opentelemetry-trust-incoming-span": trusted.to_string(),
        });
        let other = path("/other")
            .annotation("enable-opentelemetry", "true")
            .annotation("opentelemetry-trust-incoming-span", &(!trusted).to_string());
        let traced = TracedFixture::start("nginx", &collector.port, settings, &[other]).await?;
        for (target, trusted) in [("/usual", trusted), ("/other", !trusted)] {
            let request = request_in_trace(target, "00").header("tracestate", "a=b");
            let seen = traced.seen(&request).await?;
            let state = seen["headers"]["tracestate"][0].as_str();
            let [trace, _, flags] = traced.send(&request).await?;
            ensure!((trace == TRACE) == trusted, "{target}: {trace}");
            // Whoever is not trusted does not say that there is no span.
            ensure!(
                flags == if trusted { "00" } else { "01" },
                "{target}: {flags}"
            );
            ensure!(state == trusted.then_some("a=b"), "{target}: {seen}");
        }
        let [distrusting, believing] = if trusted {
            ["/other", "/usual"]
        } else {
            ["/usual", "/other"]
        };
        let span = collector.wait_for(distrusting).await?;
        ensure!(span.trace != TRACE && span.parent.is_empty(), "{span:?}");
        for context in hostile::malformed() {
            let request = get(believing).header("traceparent", &context);
            hostile::ensure_new_trace(&traced, &request.header("tracestate", "a=b"), "01").await?;
        }
        traced.sluice.stop()?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_collector_delays_no_request() -> Result<()> {
    tracing::unreachable_collector("nginx").await
}

#[tokio::test(flavor = "multi_thread")]
async fn collector_is_set_and_unset_under_load() -> Result<()> {
    tracing::collector_set_and_unset("nginx").await
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_trace_context_begins_a_new_trace() -> Result<()> {
    let collector = Collector::start().await?;
    let settings = json!({"enable-opentelemetry": "true"});
    let traced = TracedFixture::start("nginx", &collector.port, settings, &[]).await?;
    for context in hostile::malformed() {
        let request = get("/").header("traceparent", &context);
        hostile::ensure_new_trace(&traced, &request.header("tracestate", "a=b"), "01").await?;
    }
    let good = format!("00-{TRACE}-{CALLER}-01");
    let twice = get("/").header("traceparent", &good);
    hostile::ensure_new_trace(&traced, &twice.header("traceparent", &good), "01").await?;
    hostile::ensure_new_trace(&traced, &get("/").header("tracestate", "a=b"), "01").await?;
    traced.sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_trace_context_goes_no_further() -> Result<()> {
    hostile::forged_contexts("nginx").await
}

#[tokio::test(flavor = "multi_thread")]
async fn believed_trace_context_is_passed_on_with_its_state() -> Result<()> {
    let collector = Collector::start().await?;
    let settings = json!({"enable-opentelemetry": "true"});
    let traced = TracedFixture::start("nginx", &collector.port, settings, &[]).await?;
    let state = format!("a={}", "x".repeat(400));
    let later = format!("cc-{TRACE}-{CALLER}-01-what-is-new");
    for context in [format!("00-{TRACE}-{CALLER}-03"), later] {
        let request = get("/").header("traceparent", &context);
        let request = request
            .header("tracestate", &state)
            .header("tracestate", "c=d");
        let seen = traced.seen(&request).await?;
        let all = format!("{state}, c=d");
        ensure!(seen["headers"]["tracestate"] == json!([all]), "{seen}");
        let [trace, _, flags] = traced.send(&request).await?;
        ensure!(trace == TRACE && flags == "01", "{trace} {flags}");
    }
    let spans = wait_for_many(&collector, 4).await?;
    ensure!(spans.iter().all(|span| span.parent == CALLER), "{spans:?}");
    traced.sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_all_workers_differ_and_a_share_is_kept() -> Result<()> {
    let collector = Collector::start().await?;
    let settings = json!({
        "enable-opentelemetry": "true",
        "otel-sampler": "TraceIdRatioBased",
        "otel-sampler-ratio": "0.5",
    });
    let traced = TracedFixture::with(&collector.port, settings, &[], |options| {
        options.data_plane("nginx").workers(2)
    })
    .await?;
    let (mut traces, mut spans, mut kept) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for _ in 0..400 {
        let [trace, span, flags] = traced.send(&get("/")).await?;
        if flags == "01" {
            kept.insert(span.clone());
        }
        traces.insert(trace);
        spans.insert(span);
    }
    ensure!((traces.len(), spans.len()) == (400, 400));
    // A fair coin is outside of that once in a hundred million runs.
    ensure!((140..=260).contains(&kept.len()), "{}", kept.len());
    let sent = wait_for_many(&collector, kept.len()).await?;
    let sent: BTreeSet<String> = sent.into_iter().map(|span| span.id).collect();
    ensure!(sent == kept, "{sent:?} {kept:?}");
    traced.sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_collector_delays_no_request_and_dropped_spans_are_counted() -> Result<()> {
    let port = Port::reserve()?;
    let silent = TcpListener::bind(port.addr()).await?;
    let hang = tokio::spawn(async move {
        let mut connections = Vec::new();
        while let Ok((connection, _)) = silent.accept().await {
            connections.push(connection);
        }
    });
    let settings = json!({"enable-opentelemetry": "true", "otel-max-queuesize": "10"});
    let traced = TracedFixture::start("nginx", &port, settings, &[]).await?;
    let began = Instant::now();
    for _ in 0..100 {
        traced.send(&get("/")).await?;
    }
    ensure!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    let dropped = async || counter(&traced, "spans_dropped_total").await;
    let dropped = async || dropped().await.filter(|dropped| *dropped == 90.0);
    wait::until("all but ten spans to be dropped", dropped).await?;
    ensure!(counter(&traced, "spans_sent_total").await == Some(0.0));
    hang.abort();
    traced.sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_wait_for_a_collector_that_comes_later() -> Result<()> {
    let port = Port::reserve()?;
    let settings = json!({"enable-opentelemetry": "true"});
    let traced = TracedFixture::start("nginx", &port, settings, &[]).await?;
    for n in 0..20 {
        traced.send(&get(&format!("/{n}"))).await?;
    }
    let line = "spans wait, and are dropped beyond otel-max-queuesize";
    let said = async || {
        let lines = traced.sluice.log().lines();
        lines.iter().any(|said| said.contains(line)).then_some(())
    };
    wait::until("the failure to be logged", said).await?;
    let collector = Collector::at(port).await?;
    let spans = wait_for_many(&collector, 20).await?;
    ensure!(spans.len() == 20, "{spans:?}");
    let sent = async || {
        let sent = counter(&traced, "spans_sent_total").await;
        sent.filter(|sent| *sent == 20.0)
    };
    wait::until("twenty spans to be counted", sent).await?;
    ensure!(counter(&traced, "spans_dropped_total").await == Some(0.0));
    traced.sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_carry_what_happened_to_their_requests() -> Result<()> {
    let collector = Collector::start().await?;
    let moved = path("/moved").annotation("permanent-redirect", "https://elsewhere.test/");
    let settings = json!({"enable-opentelemetry": "true"});
    let traced = TracedFixture::start("nginx", &collector.port, settings, &[moved]).await?;
    let pod = traced.fixture.pods[0].addr().to_string();
    traced
        .send(&get("/pod").header("user-agent", "\u{fffd}\"}"))
        .await?;
    let span = collector.wait_for("/pod").await?;
    ensure!(attribute(&span, "upstream_address") == pod, "{span:?}");
    ensure!(
        attribute(&span, "upstream_cluster.name") == "default/web/80",
        "{span:?}"
    );
    ensure!(
        attribute(&span, "http.url") == format!("http://{HOST}/pod"),
        "{span:?}"
    );
    ensure!(
        attribute(&span, "http.user_agent") == "\u{fffd}\"}",
        "{span:?}"
    );
    for (host, target, status) in [(HOST, "/moved", "301"), ("nobody.test", "/lost", "404")] {
        http::send(traced.sluice.http(), &Request::get(host, target)).await?;
        let span = collector.wait_for(target).await?;
        ensure!(attribute(&span, "http.status_code") == status, "{span:?}");
        ensure!(attribute(&span, "upstream_address").is_empty(), "{span:?}");
    }
    traced.sluice.stop()
}

async fn wait_for_many(collector: &Collector, count: usize) -> Result<Vec<Span>> {
    let sent = async || Some(collector.spans()).filter(|spans| spans.len() >= count);
    Ok(wait::until(&format!("{count} spans"), sent).await?.0)
}

/// A counter of the controller.
async fn counter(traced: &TracedFixture, name: &str) -> Option<f64> {
    let page = http::get(traced.sluice.health(), "metrics", "/metrics").await;
    let page = page.ok()?.text();
    let prefix = format!("nginx_ingress_controller_{name}{{");
    let line = page.lines().find(|line| line.starts_with(&prefix))?;
    line.rsplit(' ').next()?.parse().ok()
}
