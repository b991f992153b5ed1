//! Active health checks, with nginx.

use anyhow::Result;

use crate::scenarios::health_checks;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_that_fail_their_checks_get_no_requests() -> Result<()> {
    health_checks::failing_pods_get_no_requests("nginx", &[]).await
}
