//! Pods that are backups of others, in nginx.

use anyhow::Result;

use crate::scenarios::backups;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backups_serve_when_no_primary_does() -> Result<()> {
    backups::serve_without_primaries("nginx", &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backups_take_connections_when_no_primary_does() -> Result<()> {
    backups::take_connections_without_primaries("nginx").await
}
