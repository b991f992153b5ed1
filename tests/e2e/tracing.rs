//! Spans that Envoy sends.

use anyhow::Result;

use crate::scenarios::tracing::{self, hostile};

#[tokio::test(flavor = "multi_thread")]
async fn trace_context_propagates_from_client_to_pod() -> Result<()> {
    tracing::propagation("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn ingress_disables_or_names_its_spans() -> Result<()> {
    tracing::disabled_and_named_spans("envoy", &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn ingress_disables_or_names_its_spans_in_route_scopes() -> Result<()> {
    tracing::disabled_and_named_spans("envoy", &["--scopes-from", "1"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn ingress_enables_spans_that_are_off_by_default() -> Result<()> {
    tracing::enabled_by_ingress("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn sampling_ratio_zero_keeps_only_traces_begun_upstream() -> Result<()> {
    tracing::ratio_zero("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn untrusted_trace_context_is_ignored() -> Result<()> {
    tracing::untrusted_context("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_collector_delays_no_request() -> Result<()> {
    tracing::unreachable_collector("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn collector_is_set_and_unset_under_load() -> Result<()> {
    tracing::collector_set_and_unset("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_trace_context_goes_no_further() -> Result<()> {
    hostile::forged_contexts("envoy").await
}
