//! Contexts that clients make up.

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::http::Request;

use super::collector::Collector;
use super::{CALLER, TRACE, TracedFixture, get};

/// None of them is a context.
pub(crate) fn malformed() -> Vec<String> {
    let good = format!("00-{TRACE}-{CALLER}-01");
    let zeros = "0".repeat(32);
    vec![
        String::new(),
        "-".to_owned(),
        format!("ff-{TRACE}-{CALLER}-01"),
        format!("00-{zeros}-{CALLER}-01"),
        format!("00-{TRACE}-{}-01", &zeros[..16]),
        format!("00-{}-{CALLER}-01", TRACE.to_uppercase()),
        format!("00-{TRACE}-{CALLER}"),
        format!("00-{TRACE}-{CALLER}-0"),
        format!("00-{TRACE}-{CALLER}-zz"),
        format!("00-{TRACE}-{CALLER}-01-more"),
        format!("{good},{good}"),
        format!("{good}\" }} ; $request_id"),
        format!("{good}{}", "1".repeat(4000)),
        "0".repeat(4000),
    ]
}

/// The pod is told of a trace of ours, and of no state of another one.
pub(crate) async fn ensure_new_trace(
    traced: &TracedFixture,
    request: &Request,
    sampled: &str,
) -> Result<()> {
    let seen = traced.seen(request).await?;
    let headers = &seen["headers"];
    let [trace, span, flags] = traced.send(request).await?;
    let is_id = |text: &str, length| {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        text.len() == length && text.bytes().all(is_hex)
    };
    ensure!(
        is_id(&trace, 32) && is_id(&span, 16) && trace != TRACE && flags == sampled,
        "{request:?}: {trace} {span} {flags}"
    );
    let parents = headers["traceparent"].as_array().map_or(0, Vec::len);
    ensure!(parents == 1, "{request:?}: {headers}");
    // Envoy writes an empty one.
    let state = &headers["tracestate"];
    ensure!(
        state.is_null() || *state == json!([""]),
        "{request:?}: {headers}"
    );
    Ok(())
}

/// Whatever is said, nothing of it goes on; baggage is for those behind us, and part of no trace.
pub(crate) async fn forged_contexts(plane: &str) -> Result<()> {
    let collector = Collector::start().await?;
    let settings = json!({
        "enable-opentelemetry": "true",
        "opentelemetry-trust-incoming-span": "false",
        "enable-underscores-in-headers": "true",
        "otel-sampler": "AlwaysOff",
    });
    let traced = TracedFixture::start(plane, &collector.port, settings, &[]).await?;
    let good = format!("00-{TRACE}-{CALLER}-01");
    for context in malformed().into_iter().chain([good.clone()]) {
        let request = get("/").header("TraceParent", &context);
        let request = request
            .header("Tracestate", "a=b")
            .header("tracestate", "c=d");
        let request = request.header("baggage", "user=me");
        ensure_new_trace(&traced, &request, "00").await?;
        let seen = traced.seen(&request).await?;
        ensure!(seen["headers"]["baggage"] == json!(["user=me"]), "{seen}");
    }
    ensure!(collector.spans().is_empty(), "{:?}", collector.spans());
    traced.sluice.stop()
}
