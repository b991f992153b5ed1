//! Requests that are written down by nginx.

use anyhow::Result;

use crate::written;

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_written_down_where_that_is_asked_for() -> Result<()> {
    written::requests("nginx").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_looks_as_the_operator_wrote_it_and_some_paths_have_none() -> Result<()> {
    written::formats("nginx", "").await
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_a_tcp_port_are_written_down_as_text_or_not_at_all() -> Result<()> {
    written::connections("nginx").await
}
