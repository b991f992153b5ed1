//! `--log-format json` of a controller whose data plane is nginx.

use anyhow::Result;

use crate::scenarios::log_format;

#[tokio::test(flavor = "multi_thread")]
async fn every_line_is_json() -> Result<()> {
    log_format::from_start_to_end("nginx").await
}

#[tokio::test(flavor = "multi_thread")]
async fn access_lines_have_the_format_of_the_configmap() -> Result<()> {
    log_format::of_the_access_log("nginx").await
}

#[tokio::test(flavor = "multi_thread")]
async fn panics_are_json() -> Result<()> {
    log_format::of_a_panic("nginx").await
}
