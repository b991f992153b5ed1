//! How to reach the API server.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use crate::outage::with_causes;

/// Watches end before this, so no live connection is silent for longer.
const SILENCE: Duration = Duration::from_secs(90);

/// Access to the API server; by default the pod's service account, or what kubectl would use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// A file in the format of kubectl.
    pub kubeconfig: Option<PathBuf>,
    /// Context of that file, or of the one that kubectl would use, instead of its current one.
    pub context: Option<String>,
    /// URL of the API server, instead of the one that the file names.
    pub apiserver_host: Option<String>,
    /// Authorities of the API server's certificate, a PEM file.
    pub certificate_authority: Option<PathBuf>,
}

/// True in a pod.
pub fn is_in_cluster() -> bool {
    std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
}

/// A client for the cluster that is named. It does not connect yet; fails when a file cannot be read, or names no cluster.
pub async fn connect(access: &Access) -> anyhow::Result<Client> {
    client(config(access).await?)
}

/// The same for one look: also fails when the API server does not answer in time.
pub async fn connect_now(access: &Access, limit: Duration) -> anyhow::Result<Client> {
    answering(config(access).await?, limit).await
}

/// A client for an API server that answers in time.
pub(crate) async fn answering(config: Config, limit: Duration) -> anyhow::Result<Client> {
    let url = config.cluster_url.to_string();
    let url = url.trim_end_matches('/');
    let client = client(config)?;
    match tokio::time::timeout(limit, client.apiserver_version()).await {
        Ok(Ok(_)) => Ok(client),
        Ok(Err(error)) => match of_another_server(&error) {
            Some(answer) => {
                anyhow::bail!("API server {url}: no Kubernetes API answers there, but {answer}")
            }
            // A refusal is an answer.
            None if matches!(error, kube::Error::Api(_)) => Ok(client),
            None => anyhow::bail!("API server {url}: {}", with_causes(&error)),
        },
        Err(_) => anyhow::bail!("API server {url}: no answer in {limit:?}"),
    }
}

/// The answer of a server that is none of Kubernetes; its page may be as long as it likes.
fn of_another_server(error: &kube::Error) -> Option<String> {
    /// kube's word for an error that is no Status of Kubernetes.
    const NO_STATUS: &str = "Failed to parse error data";
    match error {
        kube::Error::Api(status) if status.reason == NO_STATUS => {
            Some(format!("a server that says {}", status.code))
        }
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
            Some("a server whose /version is none of Kubernetes".to_owned())
        }
        _ => None,
    }
}

/// URL of the cluster that is named.
pub(crate) async fn url(access: &Access) -> anyhow::Result<String> {
    let url = config(access).await?.cluster_url.to_string();
    Ok(url.trim_end_matches('/').to_owned())
}

fn client(mut config: Config) -> anyhow::Result<Client> {
    config.read_timeout = Some(SILENCE);
    config.reset_reader_on_write = true;
    // kube would try the same request again for minutes, in silence and with ever longer waits. Callers have
    // waits of its own, and says what it waits for.
    config.default_retry = false;
    tracing::info!("cluster at {}", config.cluster_url);
    Client::try_from(config).context("client for the API server")
}

/// As ingress-nginx: the flags, then the pod's own account; outside of a cluster also what kubectl would use.
async fn config(access: &Access) -> anyhow::Result<Config> {
    let host = match &access.apiserver_host {
        Some(url) => {
            Some(parsed(url).with_context(|| format!("--apiserver-host {url}: expected a URL"))?)
        }
        None => None,
    };
    let options = KubeConfigOptions {
        context: access.context.clone(),
        ..KubeConfigOptions::default()
    };
    let mut config = match (&access.kubeconfig, &host) {
        (Some(path), _) => read_context(path, &options).await?,
        (None, Some(url)) if access.context.is_none() => Config::new(Clone::clone(url)),
        (None, None) if is_in_cluster() && access.context.is_none() => {
            Config::incluster().context("the pod's account")?
        }
        (None, _) => Config::from_kubeconfig(&options)
            .await
            .map_err(|error| unusable("KUBECONFIG or ~/.kube/config", &error))?,
    };
    if let Some(url) = host {
        config.cluster_url = url;
    }
    if let Some(path) = &access.certificate_authority {
        std::fs::metadata(path)
            .with_context(|| format!("--certificate-authority {}", path.display()))?;
        config.root_cert_file = Some(path.clone());
    }
    Ok(config)
}

/// A URL; kube says of which type.
fn parsed<T: FromStr<Err: Display>>(text: &str) -> anyhow::Result<T> {
    text.parse().map_err(|error| anyhow::anyhow!("{error}"))
}

/// A kubeconfig that a flag names.
pub(crate) async fn read(path: &Path) -> anyhow::Result<Config> {
    read_context(path, &KubeConfigOptions::default()).await
}

async fn read_context(path: &Path, options: &KubeConfigOptions) -> anyhow::Result<Config> {
    let name = format!("--kubeconfig {}", path.display());
    // kube names the path twice.
    std::fs::File::open(path).with_context(|| name.clone())?;
    let file = Kubeconfig::read_from(path).map_err(|error| unusable(&name, &error))?;
    Config::from_custom_kubeconfig(file, options)
        .await
        .map_err(|error| unusable(&name, &error))
}

/// Most of kube's errors repeat their cause: it is said once, in one line.
fn unusable(kubeconfig: &str, error: &KubeconfigError) -> anyhow::Error {
    let reason = match error {
        KubeconfigError::ReadConfig(cause, path) => format!("{}: {cause}", path.display()),
        KubeconfigError::Parse(error) if error.to_string().contains("`\\u{0}'") => {
            "expected YAML, got no text file".to_owned()
        }
        other => {
            let text = with_causes(other);
            // Paths have two pairs of quotes there, and YAML a picture of the place under it.
            let line = text.lines().next().unwrap_or_default();
            line.replace("'\"", "\"").replace("\"'", "\"")
        }
    };
    anyhow::anyhow!("{kubeconfig}: {reason}")
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// A server that says the same to everything.
    fn server(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.82.8.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        format!("http://{address}")
    }

    async fn said(answer: &'static str) -> Option<String> {
        let access = Access {
            apiserver_host: Some(server(answer)),
            ..Access::default()
        };
        let connected = connect_now(&access, Duration::from_secs(5)).await;
        connected.err().map(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_server_that_is_none_of_kubernetes_is_named() {
        for (answer, expected) in [
            (
                "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n<html>no</html>",
                Some("no Kubernetes API answers there, but a server that says 404"),
            ),
            (
                "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<html>hello</html>",
                Some(
                    "no Kubernetes API answers there, but a server whose /version is none of Kubernetes",
                ),
            ),
            (
                concat!(
                    "HTTP/1.1 403 Forbidden\r\n",
                    "Connection: close\r\n\r\n",
                    r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}"#
                ),
                None,
            ),
        ] {
            let said = said(answer).await;
            let ends = |text: &str| said.as_ref().is_some_and(|said| said.ends_with(text));
            assert!(expected.map_or(said.is_none(), ends), "{said:?}");
        }
    }

    #[tokio::test]
    async fn a_kubeconfig_that_cannot_be_used_is_told_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        for (content, reason) in [
            (&b"\x00\x01"[..], "expected YAML, got no text file"),
            (b"a: [", "YAML"),
            (
                b"apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n\
                  clusters: [{name: c, cluster: {server: 'http://a', certificate-authority: /none}}]\nusers: [{name: u}]\n",
                "\"/none\"",
            ),
        ] {
            std::fs::write(&path, content).unwrap();
            let error = read(&path).await.unwrap_err().to_string();
            let begin = format!("--kubeconfig {}: ", path.display());
            assert!(error.starts_with(&begin) && error.contains(reason), "{error}");
            assert!(error.lines().count() == 1 && !error.contains("'\""), "{error}");
        }
        let gone = KubeconfigError::ReadConfig(std::io::ErrorKind::NotFound.into(), "/a".into());
        assert_eq!(
            unusable("KUBECONFIG", &gone).to_string(),
            "KUBECONFIG: /a: entity not found"
        );
    }
}
