//! For whom an endpoint is near: the zone it runs in, or those that Kubernetes hints at.

use crate::slices::Endpoint;

/// The zones of the endpoints of one port, by the rule of kube-proxy: hints count when every endpoint has one.
pub(crate) struct Zones {
    by_hints: bool,
}

impl Zones {
    pub(crate) fn among<'a>(endpoints: impl Iterator<Item = &'a Endpoint>) -> Self {
        let mut endpoints = endpoints.peekable();
        let any = endpoints.peek().is_some();
        Zones {
            by_hints: any && endpoints.all(|endpoint| hinted(endpoint).next().is_some()),
        }
    }

    /// Sorted, without duplicates. None: no zone is preferred.
    pub(crate) fn of(&self, endpoint: &Endpoint) -> Vec<String> {
        let mut zones: Vec<String> = match self.by_hints {
            true => hinted(endpoint).map(str::to_owned).collect(),
            false => endpoint
                .place
                .iter()
                .filter_map(|place| place.zone())
                .map(str::to_owned)
                .collect(),
        };
        zones.sort();
        zones.dedup();
        zones
    }
}

fn hinted(endpoint: &Endpoint) -> impl Iterator<Item = &str> {
    endpoint.place.iter().flat_map(|place| place.hints())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn zones(endpoints: Value) -> Vec<Vec<String>> {
        let endpoints: Vec<k8s_openapi::api::discovery::v1::Endpoint> =
            serde_json::from_value(endpoints).unwrap();
        let endpoints: Vec<_> = endpoints
            .into_iter()
            .map(|endpoint| Endpoint::from_kubernetes(endpoint, "n"))
            .collect();
        let zones = Zones::among(endpoints.iter());
        endpoints
            .iter()
            .map(|endpoint| zones.of(endpoint))
            .collect()
    }

    #[test]
    fn hints_count_when_every_endpoint_has_one() {
        let hints = |zones: &[&str]| {
            let zones: Vec<Value> = zones.iter().map(|zone| json!({"name": zone})).collect();
            json!({"addresses": ["10.0.0.1"], "zone": "a", "hints": {"forZones": zones}})
        };
        assert_eq!(
            zones(json!([hints(&["c", "b"]), hints(&["b"])])),
            [vec!["b", "c"], vec!["b"]]
        );
        assert_eq!(
            zones(json!([hints(&["b"]), {"addresses": ["10.0.0.2"], "zone": "b"}])),
            [["a"], ["b"]]
        );
        assert_eq!(
            zones(json!([{"addresses": ["10.0.0.1"]}])),
            [Vec::<String>::new()]
        );
    }
}
