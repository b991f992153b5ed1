//! The validating webhook: that the API server finds and believes it, and that no dead one of somebody else is in the way.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::{
    ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::{Pod, Secret, Service};

use crate::Settings;
use crate::certificate::verify;
use crate::checklist::{Checklist, Section};
use crate::facts::{Facts, Installation, Read};

const SECTION: Section = Section::Webhook;

type Services = BTreeMap<String, Read<Option<Service>>>;

/// One webhook that is asked about Ingresses by way of a Service.
struct Hook<'a> {
    /// Name of its configuration.
    configuration: &'a str,
    webhook: &'a ValidatingWebhook,
    service: &'a ServiceReference,
}

impl Hook<'_> {
    fn service(&self) -> String {
        format!("{}/{}", self.service.namespace, self.service.name)
    }

    fn is_strict(&self) -> bool {
        self.webhook.failure_policy.as_deref() != Some("Ignore")
    }

    fn description(&self) -> String {
        format!("ValidatingWebhookConfiguration {}", self.configuration)
    }
}

fn hooks(all: &[ValidatingWebhookConfiguration]) -> impl Iterator<Item = Hook<'_>> {
    all.iter().flat_map(|configuration| {
        let webhooks = configuration.webhooks.iter().flatten();
        let of_ingresses = webhooks.filter(|webhook| asks_about_ingresses(webhook));
        of_ingresses.filter_map(|webhook| {
            Some(Hook {
                configuration: configuration.metadata.name.as_deref()?,
                webhook,
                service: webhook.client_config.service.as_ref()?,
            })
        })
    })
}

fn asks_about_ingresses(webhook: &ValidatingWebhook) -> bool {
    let has = |list: &Option<Vec<String>>, word: &str| {
        let mut list = list.iter().flatten();
        list.any(|item| item == word || item == "*")
    };
    let mut rules = webhook.rules.iter().flatten();
    rules.any(|rule| {
        has(&rule.api_groups, "networking.k8s.io")
            && (has(&rule.resources, "ingresses") || has(&rule.resources, "*/*"))
    })
}

pub(crate) fn webhook(facts: &Facts, settings: &Settings, list: &mut Checklist) {
    let Ok(installation) = &facts.installation else {
        return;
    };
    let all = match &facts.webhooks {
        Ok(all) => all,
        Err(error) => return list.unread(SECTION, "ValidatingWebhookConfigurations", error),
    };
    let Ok(flags) = &installation.flags else {
        return dead(hooks(all), &facts.services, list);
    };
    let (ours, others): (Vec<Hook<'_>>, Vec<Hook<'_>>) =
        hooks(all).partition(|hook| is_ours(hook, installation, &facts.services));
    match (&flags.webhook_certificate, ours.as_slice()) {
        (None, []) => list.ok(SECTION, "the controller has no webhook"),
        (None, [hook, ..]) => stray(hook, list),
        (Some(_), []) => list.failure(
            SECTION,
            "the controller has a webhook, and no ValidatingWebhookConfiguration leads to its Service",
            "Ingresses are stored unchecked; restore it: helm upgrade, or kubectl apply -k",
        ),
        (Some(path), ours) => {
            for hook in ours {
                trust(hook, path, installation, settings, list);
            }
        }
    }
    dead(others.into_iter(), &facts.services, list);
}

/// Its Service selects pods of this installation's controller.
fn is_ours(hook: &Hook<'_>, installation: &Installation, services: &Services) -> bool {
    if hook.service.namespace != installation.namespace {
        return false;
    }
    let Some(Ok(Some(service))) = services.get(&hook.service()) else {
        return false;
    };
    let selector = service
        .spec
        .as_ref()
        .and_then(|spec| spec.selector.as_ref());
    let mut pods = installation
        .controllers
        .iter()
        .map(|controller| &controller.pod);
    selector.is_some_and(|selector| {
        let labels = |pod: &Pod| pod.metadata.labels.clone().unwrap_or_default();
        pods.any(|pod| {
            let labels = labels(pod);
            !selector.is_empty()
                && selector
                    .iter()
                    .all(|(name, value)| labels.get(name) == Some(value))
        })
    })
}

fn stray(hook: &Hook<'_>, list: &mut Checklist) {
    let message = format!(
        "{} leads to the controller, which has no --validating-webhook",
        hook.description()
    );
    let advice = format!(
        "delete it: kubectl delete validatingwebhookconfiguration {}",
        hook.configuration
    );
    match hook.is_strict() {
        true => list.failure(
            SECTION,
            format!("{message}: no Ingress can be stored"),
            advice,
        ),
        false => list.warning(SECTION, message, advice),
    }
}

fn trust(
    hook: &Hook<'_>,
    path: &str,
    installation: &Installation,
    settings: &Settings,
    list: &mut Checklist,
) {
    let advice = "the certgen Job, or cert-manager's cainjector, writes caBundle: its log says why it has not; delete the Job, and apply the \
                  chart again (docs/install.md)";
    let failed = |reason: &str| {
        let consequence = match hook.is_strict() {
            true => "no Ingress can be stored",
            false => "Ingresses are stored unchecked",
        };
        format!("{}: {reason}: {consequence}", hook.description())
    };
    let bundle = hook.webhook.client_config.ca_bundle.as_ref();
    let Some(bundle) = bundle.filter(|bundle| !bundle.0.is_empty()) else {
        return list.failure(SECTION, failed("caBundle is empty"), advice);
    };
    let certificate = match certificate(installation, path) {
        Ok(certificate) => certificate,
        Err(error) => return list.unread(SECTION, "the webhook's certificate", &error),
    };
    let ServiceReference {
        name, namespace, ..
    } = hook.service;
    let name = format!("{name}.{namespace}.svc");
    let authorities = String::from_utf8_lossy(&bundle.0);
    match verify(&certificate, &authorities, &name, settings.now) {
        Ok(()) => list.ok(
            SECTION,
            format!(
                "{} leads to the controller, and the API server trusts it",
                hook.description()
            ),
        ),
        Err(error) => list.failure(
            SECTION,
            failed(&format!(
                "the API server does not trust the certificate for {name}: {error}"
            )),
            advice,
        ),
    }
}

/// The file of `--validating-webhook-certificate`, in the Secret that is mounted there.
fn certificate(installation: &Installation, path: &str) -> Read<String> {
    let pod = installation
        .controllers
        .first()
        .map(|controller| &controller.pod);
    let (secret, key) = pod
        .and_then(|pod| mounted(pod, path))
        .ok_or_else(|| format!("no Secret is mounted at {path}"))?;
    let name = format!("{}/{secret}", installation.namespace);
    let missing = || format!("Secret {name} has no {key}");
    match installation.secrets.get(&name) {
        Some(Ok(Some(secret))) => value(secret, &key).ok_or_else(missing),
        Some(Err(error)) => Err(error.clone()),
        Some(Ok(None)) | None => Err(format!("Secret {name} is missing")),
    }
}

fn value(secret: &Secret, key: &str) -> Option<String> {
    let value = secret.data.as_ref()?.get(key)?;
    Some(String::from_utf8_lossy(&value.0).into_owned())
}

/// Name of the Secret, and its key.
fn mounted(pod: &Pod, path: &str) -> Option<(String, String)> {
    let spec = pod.spec.as_ref()?;
    let (folder, key) = path.rsplit_once('/')?;
    let mut mounts = spec
        .containers
        .iter()
        .flat_map(|it| it.volume_mounts.iter().flatten());
    let mount = mounts.find(|mount| mount.mount_path.trim_end_matches('/') == folder)?;
    let mut volumes = spec.volumes.iter().flatten();
    let volume = volumes.find(|volume| volume.name == mount.name)?;
    let secret = volume.secret.as_ref()?.secret_name.clone()?;
    Some((secret, key.to_owned()))
}

/// Webhooks of others before an installation: those that answer have a say in Ingresses, and dead ones refuse them.
pub(crate) fn other_webhooks(
    webhooks: &Read<Vec<ValidatingWebhookConfiguration>>,
    services: &Services,
    list: &mut Checklist,
) {
    let all = match webhooks {
        Ok(all) => all,
        Err(error) => return list.unread(SECTION, "ValidatingWebhookConfigurations", error),
    };
    dead(hooks(all), services, list);
    let answering: Vec<&str> = hooks(all)
        .filter(|hook| !matches!(services.get(&hook.service()), Some(Ok(None))))
        .map(|hook| hook.configuration)
        .collect();
    match answering.is_empty() {
        true => list.ok(SECTION, "no other webhook is asked about Ingresses"),
        false => list.warning(
            SECTION,
            format!("ValidatingWebhookConfiguration {} is asked about Ingresses", answering.join(", ")),
            "ingress-nginx's refuses Ingresses of its class that it could not serve itself; delete it when ingress-nginx goes \
             (docs/migration.md)",
        ),
    }
}

fn dead<'a>(hooks: impl Iterator<Item = Hook<'a>>, services: &Services, list: &mut Checklist) {
    for hook in hooks.filter(Hook::is_strict) {
        if let Some(Ok(None)) = services.get(&hook.service()) {
            list.failure(
                SECTION,
                format!(
                    "{} leads to Service {}, which does not exist: no Ingress can be stored",
                    hook.description(),
                    hook.service()
                ),
                format!(
                    "delete it: kubectl delete validatingwebhookconfiguration {}",
                    hook.configuration
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhooks_are_those_whose_rules_have_ingresses() {
        for (groups, resources, expected) in [
            (["networking.k8s.io"], ["ingresses"], true),
            (["*"], ["*"], true),
            (["networking.k8s.io"], ["*/*"], true),
            (["networking.k8s.io"], ["networkpolicies"], false),
            (["apps"], ["*"], false),
        ] {
            let webhook: ValidatingWebhook = serde_json::from_value(serde_json::json!({
                "name": "a", "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": {},
                "rules": [{ "apiGroups": groups, "resources": resources }],
            }))
            .unwrap();
            assert_eq!(
                asks_about_ingresses(&webhook),
                expected,
                "{groups:?} {resources:?}"
            );
        }
    }
}
