//! A controller and a data plane for several recorded cases at once, where they do not touch each other.

use std::sync::Mutex;
use std::sync::PoisonError;

use anyhow::{Context, Result, anyhow};
use serde_json::{Map, Value, json};

use super::file::RecordedCase;
use super::tenant::Tenant;
use crate::cases::Selection;
use crate::cases::ingress::certificates::{Authorities, Owner};
use crate::cases::ingress::schema::Case;
use crate::cases::ingress::world::World;
use crate::tls::Identity;

/// A running world, and the cases in it.
pub struct Site {
    /// The controller, the data plane, and the pods.
    pub world: World,
    authorities: Mutex<Authorities>,
}

/// The cases of one site, each with its names.
pub type Plan = Vec<(Tenant, RecordedCase)>;

/// Sites for these cases: one for all that are about their own hosts, one for each of the others.
pub fn plan(cases: &[RecordedCase]) -> Result<Vec<Plan>> {
    let (shared, alone): (Vec<_>, Vec<_>) = cases.iter().cloned().partition(is_about_own_hosts);
    let shared = shared.into_iter().enumerate();
    let shared = shared.map(|(n, case)| Ok((Tenant::numbered(n)?, case)));
    let shared = shared.collect::<Result<Plan>>()?;
    let alone = alone.into_iter().map(|case| vec![(Tenant::alone(), case)]);
    Ok(std::iter::once(shared)
        .filter(|plan| !plan.is_empty())
        .chain(alone)
        .collect())
}

/// No settings of the controller, no default backend, and no requests that hosts of others could answer.
fn is_about_own_hosts(case: &RecordedCase) -> bool {
    let ingresses = case.given.get("ingresses").and_then(Value::as_array);
    let has_host = |rule: &Value| rule["host"].is_string();
    let own = |ingress: &Value| {
        let rules = ingress["rules"].as_array();
        ingress.get("defaultBackend").is_none()
            && rules.is_some_and(|rules| rules.iter().all(has_host))
    };
    !case.given.contains_key("configmap")
        && !case.given.contains_key("missing_services")
        && case
            .requests
            .iter()
            .all(|exchange| exchange.request.raw.is_none())
        && ingresses.is_some_and(|all| all.iter().all(own))
}

impl Site {
    /// Starts everything, and waits until it serves.
    pub async fn start(plan: &Plan, selection: &Selection) -> Result<Site> {
        let mut given = Map::new();
        for (tenant, case) in plan {
            merge(&mut given, tenant.given(case)?)?;
        }
        let case = json!({ "id": "site", "area": "recordings", "title": "", "given": given, "checks": [] });
        let case = Case::read(&case).map_err(|error| anyhow!(error))?;
        let world = World::start(&case, selection).await;
        let mut world = world.map_err(|outcome| anyhow!("{outcome:?}"))?;
        let authorities = Mutex::new(std::mem::take(&mut world.secrets.authorities));
        Ok(Site { world, authorities })
    }

    /// A client's certificate.
    pub fn client_identity(&self, words: &str) -> Result<Identity> {
        let mut authorities = self
            .authorities
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        authorities.client(words)?.identity()
    }

    /// True for the certificate that hosts without their own present.
    pub fn is_default(&self, owner: &Owner) -> bool {
        owner.common_name == "Kubernetes Ingress Controller Fake Certificate"
    }
}

/// Lists are joined, and so are objects by name; the controller's ConfigMap is that of the only case.
fn merge(all: &mut Map<String, Value>, given: Map<String, Value>) -> Result<()> {
    for (part, value) in given {
        match (all.get_mut(&part), value) {
            (None, value) => drop(all.insert(part, value)),
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (Some(Value::Object(by_name)), Value::Object(more)) => by_name.extend(more),
            (Some(_), _) => {
                return Err(anyhow!("given.{part}")).context("two cases in one cluster");
            }
        }
    }
    Ok(())
}
