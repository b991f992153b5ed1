//! A test is told once and runs wherever there is an API server.

use anyhow::{Context, Result};
use sluice_tests::apiserver::Cluster;

/// Runs a test against the fake, and against a real API server when `KUBECONFIG` names one.
pub(crate) async fn on_each_apiserver(test: impl AsyncFn(&Cluster) -> Result<()>) -> Result<()> {
    run(&Cluster::fake().await?, &test).await?;
    match Cluster::real("sluice-test").await? {
        Some(cluster) => {
            run(&cluster, &test).await?;
            cluster.remove().await
        }
        None => {
            print("KUBECONFIG is not set: not run against a real API server");
            Ok(())
        }
    }
}

async fn run(cluster: &Cluster, test: &impl AsyncFn(&Cluster) -> Result<()>) -> Result<()> {
    print(&format!("runs against {}", cluster.described()));
    test(cluster)
        .await
        .with_context(|| format!("against {}", cluster.described()))
}

/// To the output of the test.
#[allow(
    clippy::print_stderr,
    reason = "which API server ran belongs into the output of a test"
)]
pub(crate) fn print(text: &str) {
    eprintln!("{text}");
}
