//! Objects as Kubernetes' own types read them: a field that is misspelt or of another type is lost, or refused. Objects of others
//! (cert-manager, Prometheus, KEDA) have no types here.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::{IngressClass, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cases::cases;
use crate::chart::objects;

const OTHERS: [&str; 3] = [
    "cert-manager.io/v1",
    "monitoring.coreos.com/v1",
    "keda.sh/v1alpha1",
];

fn read<T: DeserializeOwned + Serialize>(object: &Value) -> Result<Value> {
    let typed: T = serde_json::from_value(object.clone())?;
    Ok(serde_json::to_value(typed)?)
}

/// The object as its type has it; `None` for those of others.
fn typed(object: &Value) -> Result<Option<Value>> {
    let api = object["apiVersion"].as_str().context("no apiVersion")?;
    if OTHERS.contains(&api) {
        return Ok(None);
    }
    let kind = object["kind"].as_str().context("no kind")?;
    let typed = match format!("{api} {kind}").as_str() {
        "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration" => {
            read::<ValidatingWebhookConfiguration>(object)
        }
        "apps/v1 DaemonSet" => read::<DaemonSet>(object),
        "apps/v1 Deployment" => read::<Deployment>(object),
        "autoscaling/v2 HorizontalPodAutoscaler" => read::<HorizontalPodAutoscaler>(object),
        "batch/v1 Job" => read::<Job>(object),
        "networking.k8s.io/v1 IngressClass" => read::<IngressClass>(object),
        "networking.k8s.io/v1 NetworkPolicy" => read::<NetworkPolicy>(object),
        "policy/v1 PodDisruptionBudget" => read::<PodDisruptionBudget>(object),
        "rbac.authorization.k8s.io/v1 ClusterRole" => read::<ClusterRole>(object),
        "rbac.authorization.k8s.io/v1 ClusterRoleBinding" => read::<ClusterRoleBinding>(object),
        "rbac.authorization.k8s.io/v1 Role" => read::<Role>(object),
        "rbac.authorization.k8s.io/v1 RoleBinding" => read::<RoleBinding>(object),
        "v1 ConfigMap" => read::<ConfigMap>(object),
        "v1 Service" => read::<Service>(object),
        "v1 ServiceAccount" => read::<ServiceAccount>(object),
        other => anyhow::bail!("{other}: no type"),
    };
    typed.map(Some)
}

/// All of one is in the other.
fn ensure_kept(written: &Value, read: &Value, path: &str) -> Result<()> {
    match (written, read) {
        (Value::Object(written), Value::Object(_)) => {
            written.iter().try_for_each(|(key, value)| {
                ensure_kept(value, &read[key.as_str()], &format!("{path}.{key}"))
            })
        }
        (Value::Array(written), Value::Array(items)) => {
            ensure!(written.len() == items.len(), "{path}: {written:?}");
            let pairs = written.iter().zip(items).enumerate();
            pairs.into_iter().try_for_each(|(index, (written, read))| {
                ensure_kept(written, read, &format!("{path}[{index}]"))
            })
        }
        (written, read) => {
            ensure!(written == read, "{path}: {written} is lost");
            Ok(())
        }
    }
}

#[test]
fn every_object_is_one_of_kubernetes_and_loses_no_field() -> Result<()> {
    for (case, values) in cases() {
        for object in objects(&values)? {
            let name = format!("{case}: {} {}", object["kind"], object["metadata"]["name"]);
            if let Some(read) = typed(&object).with_context(|| name.clone())? {
                ensure_kept(&object, &read, "").with_context(|| name)?;
            }
        }
    }
    Ok(())
}
