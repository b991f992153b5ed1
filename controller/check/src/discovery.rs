//! Pods and webhooks, as far as they say what else is to be read.

use std::collections::{BTreeMap, BTreeSet};

pub use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration as Webhooks;
use k8s_openapi::api::core::v1::{Container, EnvVar};
pub use k8s_openapi::api::core::v1::{Pod, Service};

use crate::facts::Read;

const INSTANCE: &str = "app.kubernetes.io/instance";

/// Pods of the one installation that is there. Several, or none, are an error.
pub fn installation(pods: Vec<Pod>, selected: &str) -> Read<(String, Vec<Pod>)> {
    let mut found: BTreeMap<(String, String), Vec<Pod>> = BTreeMap::new();
    for pod in pods.into_iter().filter(is_meant_to_run) {
        let namespace = pod.metadata.namespace.clone().unwrap_or_default();
        let instance = instance(&pod).unwrap_or_default().to_owned();
        found.entry((namespace, instance)).or_default().push(pod);
    }
    let names: Vec<String> = found
        .keys()
        .map(|(namespace, instance)| format!("{instance} in {namespace}"))
        .collect();
    match found.len() {
        0 => Err(format!("no pod of a controller has the labels {selected}")),
        1 => found
            .pop_first()
            .map(|((namespace, _), pods)| (namespace, pods))
            .ok_or_else(String::new),
        _ => Err(format!(
            "there are several installations, of which one can be checked: {}",
            names.join(", ")
        )),
    }
}

/// Pods that were replaced, evicted or are going are not missed.
#[must_use]
pub fn is_meant_to_run(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
}

/// True if the kubelet says so.
#[must_use]
pub fn is_ready(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Name of the container with Sluice in it, called after its component in the chart; of others the first.
#[must_use]
pub fn container(pod: &Pod) -> Option<String> {
    let containers = &pod.spec.as_ref()?.containers;
    let is_ours = |container: &&Container| matches!(&*container.name, "controller" | "data-plane");
    let runs = |container: &&Container| words(container).any(|word| word == "run");
    let mut all = containers.iter();
    let ours = all.find(is_ours).or_else(|| containers.iter().find(runs));
    ours.or(containers.first())
        .map(|container| container.name.clone())
}

fn words(container: &Container) -> impl Iterator<Item = &String> {
    let command = container.command.iter().flatten();
    command.chain(container.args.iter().flatten())
}

/// Release of Helm that a pod is of.
#[must_use]
pub fn instance(pod: &Pod) -> Option<&str> {
    let labels = pod.metadata.labels.as_ref()?;
    labels.get(INSTANCE).map(String::as_str)
}

/// Name of the service account.
#[must_use]
pub fn account(pod: &Pod) -> String {
    let spec = pod.spec.as_ref();
    let name = spec.and_then(|spec| spec.service_account_name.clone());
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let name = name.unwrap_or_else(|| "default".to_owned());
    format!("system:serviceaccount:{namespace}:{name}")
}

/// Secrets that a pod cannot start without.
#[must_use]
pub fn secrets(pod: &Pod) -> BTreeSet<String> {
    let volumes = pod
        .spec
        .iter()
        .flat_map(|spec| spec.volumes.iter().flatten());
    let secrets = volumes.filter_map(|volume| volume.secret.as_ref());
    let needed = secrets.filter(|secret| secret.optional != Some(true));
    needed
        .filter_map(|secret| secret.secret_name.clone())
        .collect()
}

/// Arguments of the controller's container, from `run` on, with its variables filled in as the kubelet does; `None`: there is no such
/// container.
#[must_use]
pub fn arguments(pod: &Pod) -> Option<Vec<String>> {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    containers
        .filter_map(|container| of_container(container, pod))
        .next()
}

fn of_container(container: &Container, pod: &Pod) -> Option<Vec<String>> {
    let at = words(container).position(|word| word == "run")?;
    let variables: BTreeMap<&str, &str> = container
        .env
        .iter()
        .flatten()
        .filter_map(|variable| Some((variable.name.as_str(), value(variable, pod)?)))
        .collect();
    Some(
        words(container)
            .skip(at)
            .map(|word| expanded(word, &variables))
            .collect(),
    )
}

fn value<'a>(variable: &'a EnvVar, pod: &'a Pod) -> Option<&'a str> {
    let field = || {
        let source = variable.value_from.as_ref()?.field_ref.as_ref()?;
        match source.field_path.as_str() {
            "metadata.name" => pod.metadata.name.as_deref(),
            "metadata.namespace" => pod.metadata.namespace.as_deref(),
            _ => None,
        }
    };
    variable.value.as_deref().or_else(field)
}

/// `$(NAME)` is a variable, `$$` a dollar; a variable that is not known stays as it is.
fn expanded(word: &str, variables: &BTreeMap<&str, &str>) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            text.push('$');
            rest = after;
            continue;
        }
        let variable = after
            .strip_prefix('(')
            .and_then(|after| after.split_once(')'));
        match variable.and_then(|(name, after)| Some((variables.get(name)?, after))) {
            Some((value, after)) => {
                text.push_str(value);
                rest = after;
            }
            None => {
                text.push('$');
                rest = after;
            }
        }
    }
    text + rest
}

/// Services of webhooks, as namespace and name.
#[must_use]
pub fn services(webhooks: &[Webhooks]) -> BTreeSet<(String, String)> {
    let all = webhooks.iter().flat_map(|it| it.webhooks.iter().flatten());
    let services = all.filter_map(|webhook| webhook.client_config.service.as_ref());
    services
        .map(|service| (service.namespace.clone(), service.name.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(value: serde_json::Value) -> Pod {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn arguments_are_those_that_the_process_gets() {
        let pod = pod(json!({
            "metadata": { "namespace": "edge", "name": "c-1" },
            "spec": { "containers": [
                { "name": "sidecar", "args": ["serve"] },
                { "name": "controller", "command": ["/usr/bin/sluice"], "args": [
                    "run", "--configmap=$(POD_NAMESPACE)/settings", "--a=$(NONE)", "--b=$$(POD_NAME)$(POD_NAME)", "--c=$(", "--d=$(X)",
                ], "env": [
                    { "name": "POD_NAMESPACE", "valueFrom": { "fieldRef": { "fieldPath": "metadata.namespace" } } },
                    { "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
                    { "name": "X", "value": "$(POD_NAME)" },
                ] },
            ] },
        }));
        let expected = [
            "run",
            "--configmap=edge/settings",
            "--a=$(NONE)",
            "--b=$(POD_NAME)c-1",
            "--c=$(",
            "--d=$(POD_NAME)",
        ];
        assert_eq!(arguments(&pod).unwrap(), expected);
    }

    #[test]
    fn one_installation_is_checked_and_pods_that_are_gone_are_not_of_it() {
        let named = |namespace: &str, instance: &str, phase: &str| {
            pod(json!({
                "metadata": { "namespace": namespace, "labels": { INSTANCE: instance } },
                "status": { "phase": phase },
            }))
        };
        let one = vec![
            named("a", "x", "Running"),
            named("a", "x", "Pending"),
            named("b", "y", "Failed"),
        ];
        let (namespace, pods) = installation(one, "l").unwrap();
        assert_eq!((namespace.as_str(), pods.len()), ("a", 2));
        let two = vec![named("a", "x", "Running"), named("a", "y", "Running")];
        assert!(
            installation(two, "l")
                .unwrap_err()
                .ends_with("x in a, y in a")
        );
        assert!(
            installation(Vec::new(), "l")
                .unwrap_err()
                .ends_with("labels l")
        );
    }
}
