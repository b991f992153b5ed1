//! Certificates that controller and data plane show each other, both of one new CA.

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{ObjectMeta, PostParams};
use tracing::info;

use super::certificate::{Authority, Signed, Usage};
use super::{SecretRef, find, secrets};

const TYPE: &str = "kubernetes.io/tls";
const CA: &str = "ca.crt";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
/// Name in the certificate of data planes.
const DATA_PLANE: &str = "data-plane";
/// A Secret that is ours may be written again.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "sluice-certgen");
/// Other jobs may do the same at the same time.
const ATTEMPTS: usize = 5;

/// The two Secrets that there should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XdsSecrets {
    /// Of both.
    pub namespace: String,
    /// Name of the controller's.
    pub controller: String,
    /// Name of the data plane's.
    pub data_plane: String,
    /// Names of the controller's Service, which its certificate is for.
    pub hosts: Vec<String>,
}

/// Makes both Secrets unless they are there; one without the other is of a CA that nobody has any more, and made again. Fails
/// when the API server refuses, and when a Secret that it did not make would have to be written.
pub async fn create_xds(client: &Client, wanted: &XdsSecrets) -> anyhow::Result<()> {
    let controller = wanted.place(&wanted.controller);
    let data_plane = wanted.place(&wanted.data_plane);
    ensure!(
        controller != data_plane,
        "--data-plane-secret {}: already used by --controller-secret",
        wanted.data_plane
    );
    for _ in 0..ATTEMPTS {
        let found = (
            find(client, &controller).await?,
            find(client, &data_plane).await?,
        );
        if let (Some(first), Some(second)) = &found
            && are_pair((first, &controller), (second, &data_plane))?
        {
            info!("Secrets {controller} and {data_plane} are there; nothing is made");
            return Ok(());
        }
        let authority = Authority::new()?;
        let server = authority.sign(&wanted.hosts, Usage::Server)?;
        let client_side = authority.sign(&[DATA_PLANE.to_owned()], Usage::Client)?;
        // What another job has written in between is read in the next round.
        if write(client, &controller, found.0, &authority, server).await?
            && write(client, &data_plane, found.1, &authority, client_side).await?
        {
            info!(
                "Secrets {controller} and {data_plane} made for {}",
                wanted.hosts.join(", ")
            );
        }
    }
    bail!("Secrets {controller} and {data_plane}: others write them at the same time")
}

impl XdsSecrets {
    fn place(&self, name: &str) -> SecretRef {
        SecretRef {
            namespace: self.namespace.clone(),
            name: name.to_owned(),
        }
    }
}

/// Returns `true` if both belong together. Those of somebody else do, if they are whole.
fn are_pair(
    (first, first_ref): (&Secret, &SecretRef),
    (second, second_ref): (&Secret, &SecretRef),
) -> anyhow::Result<bool> {
    for (secret, named) in [(first, first_ref), (second, second_ref)] {
        for key in [CERTIFICATE, KEY, CA] {
            if entry(secret, key).is_none_or(|value| value.0.is_empty()) && !is_ours(secret) {
                bail!(
                    "Secret {named}: expected a key {key:?}, got none; delete the Secret for a new one"
                );
            }
        }
    }
    let ours = is_ours(first) && is_ours(second);
    Ok(!ours || (entry(first, CA).is_some() && entry(first, CA) == entry(second, CA)))
}

/// Writes one of them, over what was found; `false` if another job was faster.
async fn write(
    client: &Client,
    place: &SecretRef,
    found: Option<Secret>,
    authority: &Authority,
    signed: Signed,
) -> anyhow::Result<bool> {
    let mut secret = secret(place, authority, signed);
    let (api, params) = (secrets(client, place), PostParams::default());
    let written = match found {
        None => api.create(&params, &secret).await,
        Some(found) => {
            ensure!(
                is_ours(&found),
                "Secret {place}: expected the other one beside it, got none; delete this one, too, or let \
                 xds.certificates be existing"
            );
            secret.metadata.resource_version = found.metadata.resource_version;
            api.replace(&place.name, &params, &secret).await
        }
    };
    match written {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.is_already_exists() || status.is_conflict() => {
            Ok(false)
        }
        Err(error) => Err(error).with_context(|| format!("Secret {place}")),
    }
}

fn secret(place: &SecretRef, authority: &Authority, signed: Signed) -> Secret {
    let data = [
        (CA, authority.pem.clone()),
        (CERTIFICATE, signed.certificate),
        (KEY, signed.key),
    ];
    let (label, value) = MANAGED_BY;
    Secret {
        metadata: ObjectMeta {
            name: Some(place.name.clone()),
            labels: Some(BTreeMap::from([(label.to_owned(), value.to_owned())])),
            ..ObjectMeta::default()
        },
        type_: Some(TYPE.to_owned()),
        data: Some(
            data.into_iter()
                .map(|(key, pem)| (key.to_owned(), ByteString(pem.into_bytes())))
                .collect(),
        ),
        ..Secret::default()
    }
}

fn entry<'a>(secret: &'a Secret, key: &str) -> Option<&'a ByteString> {
    secret.data.as_ref()?.get(key)
}

fn is_ours(secret: &Secret) -> bool {
    let (label, value) = MANAGED_BY;
    let labels = secret.metadata.labels.as_ref();
    labels.is_some_and(|labels| labels.get(label).is_some_and(|found| found == value))
}
