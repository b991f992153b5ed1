//! Checks of the controller itself, and of the data plane as a whole.

mod admission;
mod exec;
mod layer4;
mod metric;
pub mod plane;
pub mod read;

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::Value;
use tempfile::TempDir;

use super::certificates::Authorities;
use super::flags;
use super::schema::Case;
use crate::ports::Port;

/// The controller's own listeners that a case needs, as far as the controller has them.
#[derive(Debug, Default)]
pub struct Listeners {
    admission: Option<(Port, TempDir)>,
}

impl Listeners {
    /// Reserves what the case asks for.
    pub fn for_case(case: &Case) -> Result<Listeners> {
        let needs = |what: fn(&super::when::When) -> bool| {
            case.checks.iter().any(|check| what(&check.when))
        };
        let mut listeners = Listeners::default();
        if needs(|when| when.admission.is_some()) && flags::is_known(ADMISSION) {
            listeners.admission = Some((Port::reserve()?, certificate_folder()?));
        }
        Ok(listeners)
    }

    /// The flags that open them.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        if let Some((port, folder)) = &self.admission {
            let file = |name: &str| folder.path().join(name).display().to_string();
            arguments.push(format!("--{ADMISSION}={}", port.addr()));
            arguments.push(format!("--{ADMISSION}-certificate={}", file("tls.crt")));
            arguments.push(format!("--{ADMISSION}-key={}", file("tls.key")));
        }
        arguments
    }

    fn admission(&self) -> Result<SocketAddr, String> {
        let missing =
            || format!("the controller reviews no admissions (it has no flag --{ADMISSION})");
        self.admission
            .as_ref()
            .map(|(port, _)| port.addr())
            .ok_or_else(missing)
    }
}

const ADMISSION: &str = "validating-webhook";

fn certificate_folder() -> Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix("sluice-webhook-")
        .tempdir()?;
    let pair = Authorities::server(&["localhost".to_owned()])?;
    let write =
        |name: &str, text: String| std::fs::write(PathBuf::from(folder.path()).join(name), text);
    write("tls.crt", pair.certificate)?;
    write("tls.key", pair.key)?;
    Ok(folder)
}

/// Returns `true` if `actual` contains `expected`: objects may have more fields, everything else is equal.
fn contains(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => {
            expected.iter().all(|(name, expected)| {
                actual
                    .get(name)
                    .is_some_and(|actual| contains(actual, expected))
            })
        }
        _ => actual == expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_may_have_more_than_is_expected() {
        assert!(contains(&json!({"a": 1, "b": {"c": 2}}), &json!({"b": {}})));
        assert!(!contains(&json!({"a": 1}), &json!({"a": 2})) && !contains(&json!([]), &json!({})));
    }
}
