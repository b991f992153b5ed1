//! Fields of objects, as the API server has them.

use anyhow::{Context, Result};
use serde_json::Value;

use super::super::then::Then;
use super::super::world::World;
use crate::wait;

/// Path of an Ingress's addresses.
pub const STATUS: &str = "Ingress.status.loadBalancer.ingress";
const NETWORKING: &str = "networking.k8s.io/v1";

impl World {
    /// Reads a field of the first Ingress, as `Ingress.status.loadBalancer.ingress`.
    pub async fn read(&self, what: &str, then: &Then) -> Vec<String> {
        match self.field(what).await {
            Ok(value) => against(what, &value, then),
            Err(error) => vec![format!("{what}: {error:#}")],
        }
    }

    /// Sends a signal once there is a status to lose, and waits for the end.
    pub async fn end_by(&mut self, signal: &str) -> Result<()> {
        let written = async || {
            self.field(STATUS)
                .await
                .ok()
                .filter(|value| !value.is_null())
        };
        wait::until("the status to be written", written).await?;
        self.sluice.signal(signal)?;
        self.sluice.ended().await
    }

    async fn field(&self, what: &str) -> Result<Value> {
        let (kind, path) = what.split_once('.').context("expected KIND.FIELD")?;
        anyhow::ensure!(kind == "Ingress", "only fields of Ingresses can be read");
        let cluster = self
            .stage
            .cluster()
            .context("the case was not played in a cluster")?;
        let ingress = self
            .model
            .given
            .ingresses
            .first()
            .context("the case has no Ingress")?;
        let object = cluster
            .object(NETWORKING, kind, ingress.namespace(), &ingress.name)
            .await?;
        let object = object.context("there is none")?;
        let pointer = format!("/{}", path.replace('.', "/"));
        Ok(object.pointer(&pointer).cloned().unwrap_or_default())
    }
}

fn against(what: &str, value: &Value, then: &Then) -> Vec<String> {
    let mut reasons = Vec::new();
    // What is empty is not written at all.
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    if let Some(expected) = then
        .equals
        .as_ref()
        .map(|value| value.clone().unwrap_or_default())
        && *value != expected
        && !(is_empty(value) && is_empty(&expected))
    {
        reasons.push(format!("{what}: expected {expected}, got {value}"));
    }
    if let Some(expected) = &then.set_equals
        && sorted(value.as_array().map(Vec::as_slice)) != sorted(Some(expected))
    {
        reasons.push(format!(
            "{what}: expected {expected:?} in any order, got {value}"
        ));
    }
    if let Some(absent) = then.absent
        && absent != value.is_null()
    {
        reasons.push(format!("{what}: absent: expected {absent}, got {value}"));
    }
    reasons
}

fn sorted(values: Option<&[Value]>) -> Vec<String> {
    let mut texts: Vec<String> = values.into_iter().flatten().map(Value::to_string).collect();
    texts.sort();
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_is_compared_as_a_whole_or_as_a_set() {
        let wrong = |value: Value, then: Value| {
            against("f", &value, &serde_json::from_value(then).unwrap()).len()
        };
        assert_eq!(
            wrong(json!([{"ip": "a"}]), json!({"equals": [{"ip": "a"}]})),
            0
        );
        assert_eq!(wrong(json!([{"ip": "a"}]), json!({"equals": []})), 1);
        assert_eq!(wrong(json!(null), json!({"equals": []})), 0);
        assert_eq!(wrong(json!(null), json!({"equals": [1]})), 1);
        assert_eq!(wrong(json!([1, 2]), json!({"set_equals": [2, 1]})), 0);
        assert_eq!(wrong(json!([1, 2]), json!({"set_equals": [2]})), 1);
        assert_eq!(wrong(json!(1), json!({"absent": true})), 1);
    }
}
