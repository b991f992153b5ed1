//! The API server's trust: `caBundle` and `failurePolicy` of webhook configurations, `caBundle` of an APIService.

use anyhow::{Context, bail};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use k8s_openapi::{ByteString, Resource as _};
use kube::api::{Api, PostParams};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::info;

/// Webhook configurations that are to trust the certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// Name of the webhook configurations.
    pub webhook: Option<String>,
    /// Name of the APIService.
    pub apiservice: Option<String>,
    /// Name of the ValidatingWebhookConfiguration to update; it must exist.
    pub validating: bool,
    /// Name of the MutatingWebhookConfiguration to update, if there is one.
    pub mutating: bool,
    /// Failure policy for when the webhook does not answer; `None`: unchanged.
    pub failure_policy: Option<FailurePolicy>,
}

/// As the API server names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// It is stored all the same.
    Ignore,
    /// It is refused.
    Fail,
}

/// Others may write at the same time.
const ATTEMPTS: usize = 5;

/// Patches whatever the flags name.
pub(super) async fn patch(
    client: &Client,
    trust: &Trust,
    authority: &ByteString,
) -> anyhow::Result<()> {
    if let Some(name) = &trust.webhook {
        if trust.validating {
            edit(
                client,
                name,
                |webhooks: &mut ValidatingWebhookConfiguration| {
                    for webhook in webhooks.webhooks.iter_mut().flatten() {
                        webhook.client_config.ca_bundle = Some(authority.clone());
                        decide(&mut webhook.failure_policy, trust.failure_policy);
                    }
                },
            )
            .await?;
        }
        if trust.mutating {
            edit(
                client,
                name,
                |webhooks: &mut MutatingWebhookConfiguration| {
                    for webhook in webhooks.webhooks.iter_mut().flatten() {
                        webhook.client_config.ca_bundle = Some(authority.clone());
                        decide(&mut webhook.failure_policy, trust.failure_policy);
                    }
                },
            )
            .await?;
        }
    }
    if let Some(name) = &trust.apiservice {
        edit(client, name, |service: &mut APIService| {
            if let Some(spec) = &mut service.spec {
                spec.ca_bundle = Some(authority.clone());
            }
        })
        .await?;
    }
    Ok(())
}

fn decide(policy: &mut Option<String>, wanted: Option<FailurePolicy>) {
    if let Some(wanted) = wanted {
        *policy = Some(format!("{wanted:?}"));
    }
}

/// Few have a mutating webhook, and patching it is on by default.
fn missing(what: String) -> anyhow::Result<()> {
    if what.starts_with(MutatingWebhookConfiguration::KIND) {
        info!("{what} does not exist; nothing to patch");
        return Ok(());
    }
    bail!("{what}: not found")
}

/// Reads, changes, writes; repeats on a conflict.
async fn edit<K>(client: &Client, name: &str, change: impl Fn(&mut K)) -> anyhow::Result<()>
where
    K: Resource<DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + PartialEq
        + Serialize
        + DeserializeOwned,
{
    let api: Api<K> = Api::all(client.clone());
    let describe = || format!("{} {name}", K::kind(&()));
    for attempt in 1.. {
        let Some(before) = api.get_opt(name).await.with_context(describe)? else {
            return missing(describe());
        };
        let mut object = before.clone();
        change(&mut object);
        if object == before {
            info!("{} is as it should be", describe());
            return Ok(());
        }
        match api.replace(name, &PostParams::default(), &object).await {
            Ok(_) => break,
            Err(kube::Error::Api(status)) if status.is_conflict() && attempt < ATTEMPTS => {}
            Err(error) => return Err(error).with_context(describe),
        }
    }
    info!("{} patched", describe());
    Ok(())
}
