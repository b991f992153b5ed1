//! `sluice certgen`: a certificate for the webhook, and the API server's trust in it. One job does both.
//!
//! ```text
//!   create --> Secret {ca, cert, key}, unless it is there --+
//!                                                           +--> patch --> caBundle of the webhook configurations
//! ```

mod certificate;
mod trust;

use std::path::Path;

use anyhow::Context;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Config};
use tracing::info;

use crate::args::{Certgen, CertgenCommand, Create, Patch, SecretPlace};
use crate::{log, output};
use certificate::Made;
use sluice_kube::read_kubeconfig;

/// Key of the authority in the Secret. kube-webhook-certgen has no flag for it either.
const AUTHORITY: &str = "ca";

/// Runs once and ends.
pub(crate) fn certgen(args: &Certgen) -> anyhow::Result<()> {
    if let CertgenCommand::Version = args.command {
        return Ok(output::print(concat!("sluice ", env!("CARGO_PKG_VERSION"), "\n"))?);
    }
    log::to_stderr(args.log.filter());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("runtime")?;
    runtime.block_on(async {
        let client = connect(args.kubeconfig.as_deref()).await?;
        run(&client, &args.command).await
    })
}

async fn run(client: &Client, command: &CertgenCommand) -> anyhow::Result<()> {
    match command {
        CertgenCommand::Create(create) => {
            let authority = self::create(client, create).await?;
            trust::patch(client, &create.trust, &authority).await
        }
        CertgenCommand::Patch(patch) => self::patch(client, patch).await,
        // Needs no API server, and has not asked for one.
        CertgenCommand::Version => Ok(()),
    }
}

async fn patch(client: &Client, patch: &Patch) -> anyhow::Result<()> {
    anyhow::ensure!(
        patch.trust.webhook_name.is_some() || patch.trust.apiservice_name.is_some(),
        "nothing to patch: give --webhook-name or --apiservice-name"
    );
    let secret = find(client, &patch.secret).await?;
    let secret = secret.with_context(|| format!("Secret {}: not found", place(&patch.secret)))?;
    trust::patch(client, &patch.trust, &authority(&secret, &patch.secret)?).await
}

async fn connect(kubeconfig: Option<&Path>) -> anyhow::Result<Client> {
    let config = match kubeconfig {
        Some(path) => read_kubeconfig(path).await?,
        None => Config::infer().await.context("no way to the API server")?,
    };
    Client::try_from(config).context("client for the API server")
}

/// Makes the Secret unless it is there; returns the authority in it.
async fn create(client: &Client, create: &Create) -> anyhow::Result<ByteString> {
    if let Some(secret) = find(client, &create.secret).await? {
        info!("Secret {} is there; nothing is made", place(&create.secret));
        return authority(&secret, &create.secret);
    }
    let secret = secret(create, Made::new(&create.host)?);
    match secrets(client, &create.secret).create(&PostParams::default(), &secret).await {
        Ok(secret) => {
            info!("Secret {} made for {}", place(&create.secret), create.host.join(", "));
            authority(&secret, &create.secret)
        }
        // Another job was faster: what it made counts.
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let secret = find(client, &create.secret).await?;
            authority(&secret.with_context(|| place(&create.secret))?, &create.secret)
        }
        Err(error) => Err(error).with_context(|| format!("Secret {}", place(&create.secret))),
    }
}

fn secret(create: &Create, made: Made) -> Secret {
    let data = [
        (AUTHORITY.to_owned(), made.authority),
        (create.cert_name.clone(), made.certificate),
        (create.key_name.clone(), made.key),
    ];
    let metadata = ObjectMeta { name: Some(create.secret.secret_name.clone()), ..ObjectMeta::default() };
    let data = data.into_iter().map(|(key, pem)| (key, ByteString(pem.into_bytes()))).collect();
    Secret { metadata, data: Some(data), ..Secret::default() }
}

async fn find(client: &Client, secret: &SecretPlace) -> anyhow::Result<Option<Secret>> {
    let found = secrets(client, secret).get_opt(&secret.secret_name).await;
    found.with_context(|| format!("Secret {}", place(secret)))
}

fn secrets(client: &Client, secret: &SecretPlace) -> Api<Secret> {
    Api::namespaced(client.clone(), &secret.namespace)
}

fn authority(secret: &Secret, named: &SecretPlace) -> anyhow::Result<ByteString> {
    let authority = secret.data.as_ref().and_then(|data| data.get(AUTHORITY)).cloned();
    authority.with_context(|| format!("Secret {}: expected a key {AUTHORITY:?}, got none", place(named)))
}

fn place(secret: &SecretPlace) -> String {
    format!("{}/{}", secret.namespace, secret.secret_name)
}

#[cfg(test)]
mod tests;
