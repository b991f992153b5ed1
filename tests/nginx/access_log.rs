//! Requests that are written down by nginx.

use anyhow::Result;

use crate::scenarios::access_log;

#[tokio::test(flavor = "multi_thread")]
async fn access_log_records_requests_when_enabled() -> Result<()> {
    access_log::requests("nginx").await
}

#[tokio::test(flavor = "multi_thread")]
async fn access_log_follows_its_format_and_skips_excluded_paths() -> Result<()> {
    access_log::formats("nginx").await
}

#[tokio::test(flavor = "multi_thread")]
async fn tcp_connections_use_the_stream_log_format() -> Result<()> {
    access_log::connections("nginx").await
}

#[tokio::test(flavor = "multi_thread")]
async fn admin_requests_are_not_in_the_access_log() -> Result<()> {
    access_log::admin_requests("nginx").await
}
