//! A Service without the fields that are not used: typed, an object is mostly room for what it does not say.

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::api::core::v1 as kubernetes;
use k8s_openapi::api::core::v1::{ServicePort, ServiceSpec, ServiceStatus};
use serde::Deserialize;

use crate::object_names::{Names, has_names};

/// A Service.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "kubernetes::Service")]
pub struct Service {
    pub(crate) names: Names,
    /// The name that it stands for, empty where it has none; `None`: it is not of the type `ExternalName`.
    pub(crate) external_name: Option<Box<str>>,
    /// A headless one has none.
    pub(crate) cluster_ip: Option<IpAddr>,
    /// Every address that it answers at.
    pub(crate) addresses: Box<[IpAddr]>,
    ports: Box<[ServicePort]>,
    /// The whole spec, as JSON.
    spec: Box<str>,
}

has_names!(Service);

impl Service {
    /// Its ports, in their order.
    #[must_use]
    pub fn ports(&self) -> &[ServicePort] {
        &self.ports
    }

    /// Its spec, for people; empty where it has none.
    #[must_use]
    pub fn spec(&self) -> serde_json::Map<String, serde_json::Value> {
        serde_json::from_str(&self.spec).unwrap_or_default()
    }
}

impl From<kubernetes::Service> for Service {
    fn from(service: kubernetes::Service) -> Self {
        let kubernetes::Service {
            metadata,
            spec,
            status,
        } = service;
        let json = spec
            .as_ref()
            .and_then(|spec| serde_json::to_string(spec).ok());
        let spec = spec.unwrap_or_default();
        let addresses = addresses(&spec, status.as_ref());
        let is_external = spec.type_.as_deref() == Some("ExternalName");
        let external_name = spec.external_name.unwrap_or_default();
        Service {
            names: metadata.into(),
            external_name: is_external.then(|| external_name.into_boxed_str()),
            cluster_ip: spec.cluster_ip.and_then(|ip| ip.parse().ok()),
            addresses: addresses.into_iter().collect(),
            ports: spec.ports.unwrap_or_default().into(),
            spec: json.unwrap_or_default().into_boxed_str(),
        }
    }
}

fn addresses(spec: &ServiceSpec, status: Option<&ServiceStatus>) -> BTreeSet<IpAddr> {
    let own = spec
        .cluster_ip
        .iter()
        .chain(spec.cluster_ips.iter().flatten());
    let written = own
        .chain(spec.external_ips.iter().flatten())
        .chain(&spec.load_balancer_ip);
    let balancers = status.and_then(|status| status.load_balancer.as_ref());
    let balancers = balancers
        .into_iter()
        .flat_map(|status| status.ingress.iter().flatten());
    let texts = written.chain(balancers.filter_map(|balancer| balancer.ip.as_ref()));
    texts
        .filter_map(|text| text.parse::<IpAddr>().ok())
        .map(|ip| ip.to_canonical())
        .collect()
}
