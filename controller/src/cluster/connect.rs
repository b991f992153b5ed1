//! How to reach the API server.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use axum::http::Uri;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::args::SourceArgs;

/// A watch is told to end before this, so nothing that lives stays silent for longer.
const SILENCE: Duration = Duration::from_secs(90);

/// Whether this runs in a pod.
pub(crate) fn is_in_cluster() -> bool {
    std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
}

/// A client for the cluster that the flags name. It does not connect yet.
pub(crate) async fn connect(flags: &SourceArgs) -> anyhow::Result<Client> {
    let mut config = config(flags).await?;
    config.read_timeout = Some(SILENCE);
    config.reset_reader_on_write = true;
    // kube would try the same request again for minutes, in silence and with ever longer waits. Whoever asks here has
    // waits of its own, and says what it waits for.
    config.default_retry = false;
    tracing::info!("cluster at {}", config.cluster_url);
    Client::try_from(config).context("client for the API server")
}

/// As ingress-nginx: the flags, then the pod's own account; outside of a cluster also what kubectl would use.
async fn config(flags: &SourceArgs) -> anyhow::Result<Config> {
    let host = match &flags.apiserver_host {
        Some(url) => Some(url.parse().with_context(|| format!("--apiserver-host {url}: expected a URL"))?),
        None => None,
    };
    let mut config = match (&flags.kubeconfig, &host) {
        (Some(path), _) => read(path).await?,
        (None, Some(url)) => Config::new(Uri::clone(url)),
        (None, None) if is_in_cluster() => Config::incluster().context("the pod's account")?,
        (None, None) => Config::from_kubeconfig(&KubeConfigOptions::default())
            .await
            .context("KUBECONFIG or ~/.kube/config")?,
    };
    if let Some(url) = host {
        config.cluster_url = url;
    }
    if let Some(path) = &flags.certificate_authority {
        std::fs::metadata(path).with_context(|| format!("--certificate-authority {}", path.display()))?;
        config.root_cert_file = Some(path.clone());
    }
    Ok(config)
}

/// A kubeconfig that a flag names.
pub(crate) async fn read(path: &Path) -> anyhow::Result<Config> {
    let describe = || format!("--kubeconfig {}", path.display());
    let file = Kubeconfig::read_from(path).with_context(describe)?;
    Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.with_context(describe)
}
