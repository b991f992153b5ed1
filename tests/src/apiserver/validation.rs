//! Validation as in a real API server, as far as a test has ever needed it; [`Fake::put`](super::Fake::put) bypasses it.
//!
//! One rule is missing: a real one refuses loopback addresses as endpoints, and the pods of the fake have no other.

use serde_json::Value;

use super::kinds::Kind;
use super::reply::Refusal;

/// Of a new object.
pub(super) fn of_a_new_object(kind: &'static Kind, object: &Value) -> Result<(), Refusal> {
    if kind.name != "Ingress" {
        return Ok(());
    }
    let annotation = &object["metadata"]["annotations"]["kubernetes.io/ingress.class"];
    let class = &object["spec"]["ingressClassName"];
    if annotation.is_string() && class.is_string() && annotation != class {
        let why = "annotations.kubernetes.io/ingress.class: must match `ingressClassName` when both are specified";
        return Err(Refusal::invalid(kind, why));
    }
    leads_somewhere(kind, object)
}

/// Of an object that takes the place of another.
pub(super) fn of_a_replacement(kind: &'static Kind, object: &Value) -> Result<(), Refusal> {
    match kind.name {
        "Ingress" => leads_somewhere(kind, object),
        "ValidatingWebhookConfiguration" if object["metadata"]["resourceVersion"].is_null() => {
            Err(Refusal::invalid(
                kind,
                "metadata.resourceVersion: must be specified for an update",
            ))
        }
        _ => Ok(()),
    }
}

fn leads_somewhere(kind: &'static Kind, ingress: &Value) -> Result<(), Refusal> {
    let has_rules = ingress["spec"]["rules"]
        .as_array()
        .is_some_and(|rules| !rules.is_empty());
    if !has_rules && !ingress["spec"]["defaultBackend"].is_object() {
        return Err(Refusal::invalid(
            kind,
            "spec: either `defaultBackend` or `rules` must be specified",
        ));
    }
    Ok(())
}
