//! A certificate for the webhook, and the API server's trust in it: one job does both. Certificates for the connection between
//! controller and data plane.
//!
//! ```text
//!   create --> Secret {ca, cert, key}, unless it is there --+
//!                                                           +--> patch --> caBundle of the webhook configurations
//!   xds -----> two Secrets {tls.crt, tls.key, ca.crt} of one CA, unless they are there
//! ```

mod certificate;
mod trust;
mod xds;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Config};
use tracing::info;

use crate::connect::{answering, read};
use certificate::{Authority, Signed, Usage};
pub use trust::{FailurePolicy, Trust};
pub use xds::{XdsSecrets, create_xds};

/// Key of the authority in the Secret. kube-webhook-certgen has no flag for it either.
const AUTHORITY: &str = "ca";
/// Time for the API server's first answer.
const ANSWER: Duration = Duration::from_secs(10);

/// Secret for the certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRef {
    /// Of the Secret.
    pub namespace: String,
    /// Of the Secret.
    pub name: String,
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The certificate that there should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Secret for the certificate.
    pub secret: SecretRef,
    /// Names of the webhook's Service, such as `sluice-admission.sluice.svc`.
    pub hosts: Vec<String>,
    /// Key of the certificate in the Secret.
    pub certificate_key: String,
    /// Key of the private key in the Secret.
    pub private_key_key: String,
}

/// A client for the cluster of this kubeconfig; without one, that of the pod's own account, or as kubectl. Fails when there is no such
/// file, no way to an API server, or no answer of it.
pub async fn connect(kubeconfig: Option<&Path>) -> anyhow::Result<Client> {
    let config = match kubeconfig {
        Some(path) => read(path).await?,
        None => Config::infer().await.context("no way to the API server")?,
    };
    answering(config, ANSWER).await
}

/// Makes the certificate unless it is there, and has it trusted. Fails when the API server refuses, and when one that is to trust it
/// does not exist.
pub async fn create(client: &Client, wanted: &Wanted, trust: &Trust) -> anyhow::Result<()> {
    let authority = kept(client, wanted).await?;
    trust::patch(client, trust, &authority).await
}

/// Has the certificate trusted that is there. Fails when there is none, when no webhook is named, and as [`create`].
pub async fn patch(client: &Client, secret: &SecretRef, trust: &Trust) -> anyhow::Result<()> {
    anyhow::ensure!(
        trust.webhook.is_some() || trust.apiservice.is_some(),
        "nothing to patch: give --webhook-name or --apiservice-name"
    );
    let found = find(client, secret).await?;
    let found = found.with_context(|| format!("Secret {secret}: not found"))?;
    trust::patch(client, trust, &authority(&found, secret)?).await
}

/// Makes the Secret unless it is there; returns the authority in it.
async fn kept(client: &Client, wanted: &Wanted) -> anyhow::Result<ByteString> {
    if let Some(secret) = find(client, &wanted.secret).await? {
        info!("Secret {} is there; nothing is made", wanted.secret);
        return authority(&secret, &wanted.secret);
    }
    let made = Authority::new()?;
    let signed = made.sign(&wanted.hosts, Usage::Server)?;
    let secret = secret(wanted, made.pem, signed);
    match secrets(client, &wanted.secret)
        .create(&PostParams::default(), &secret)
        .await
    {
        Ok(secret) => {
            info!(
                "Secret {} made for {}",
                wanted.secret,
                wanted.hosts.join(", ")
            );
            authority(&secret, &wanted.secret)
        }
        // Another job was faster: what it made counts.
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let secret = find(client, &wanted.secret).await?;
            authority(
                &secret.with_context(|| wanted.secret.to_string())?,
                &wanted.secret,
            )
        }
        Err(error) => Err(error).with_context(|| format!("Secret {}", wanted.secret)),
    }
}

fn secret(wanted: &Wanted, authority: String, signed: Signed) -> Secret {
    let data = [
        (AUTHORITY.to_owned(), authority),
        (wanted.certificate_key.clone(), signed.certificate),
        (wanted.private_key_key.clone(), signed.key),
    ];
    let metadata = ObjectMeta {
        name: Some(wanted.secret.name.clone()),
        ..ObjectMeta::default()
    };
    let data = data
        .into_iter()
        .map(|(key, pem)| (key, ByteString(pem.into_bytes())))
        .collect();
    Secret {
        metadata,
        data: Some(data),
        ..Secret::default()
    }
}

async fn find(client: &Client, secret: &SecretRef) -> anyhow::Result<Option<Secret>> {
    let found = secrets(client, secret).get_opt(&secret.name).await;
    found.with_context(|| format!("Secret {secret}"))
}

fn secrets(client: &Client, secret: &SecretRef) -> Api<Secret> {
    Api::namespaced(client.clone(), &secret.namespace)
}

fn authority(secret: &Secret, named: &SecretRef) -> anyhow::Result<ByteString> {
    let authority = secret
        .data
        .as_ref()
        .and_then(|data| data.get(AUTHORITY))
        .cloned();
    authority.with_context(|| format!("Secret {named}: expected a key {AUTHORITY:?}, got none"))
}

#[cfg(test)]
mod tests;
