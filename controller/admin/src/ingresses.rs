//! `/ingresses`: the paths that each Ingress serves, as data planes have them.

use serde::Serialize;
use sluice_ir::{Action, Config, HttpRoute, ServerName};
use sluice_translate::{Snapshot, ids};

/// One path of an Ingress.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Served {
    namespace: String,
    ingress: String,
    /// `_`: any other host.
    host: String,
    path: String,
    /// The host has a certificate of its own.
    tls: bool,
    /// `forward`, `denied` (503: access control cannot be enforced), `redirect` or `respond`.
    action: &'static str,
    /// Name of the Service, or host of an upstream outside of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<String>,
    endpoints: usize,
}

/// In the order of Ingresses, and for each in that of hosts and paths.
pub(super) fn served(snapshot: &Snapshot) -> Vec<Served> {
    let config = snapshot.config();
    let servers = config.servers.iter();
    let routes =
        servers.flat_map(|(host, server)| server.routes.iter().map(move |route| (host, route)));
    let mut served: Vec<Served> = routes
        .filter_map(|(host, route)| {
            let owner = snapshot.owner(&route.id)?;
            let path = of_route(config, host, route);
            Some(Served {
                namespace: owner.namespace.to_string(),
                ingress: owner.name.to_string(),
                ..path
            })
        })
        .collect();
    served.sort();
    served
}

fn of_route(config: &Config, host: &ServerName, route: &HttpRoute) -> Served {
    let backend = route.primary_backend();
    let plain = backend.map(|id| config.without_variant(id));
    let service = plain.map(|id| ids::upstream_name(id).to_owned());
    let port = plain.and_then(|id| Some(ids::service_of(id)?.1.to_owned()));
    let endpoints = backend.and_then(|id| config.backends.get(id));
    let tls = config.tls.get(host);
    Served {
        namespace: String::new(),
        ingress: String::new(),
        host: host.to_string(),
        path: route.matches.path.text().to_owned(),
        tls: tls.is_some_and(|tls| tls.certificate.is_some()),
        action: match route.action {
            Action::Forward(_) => "forward",
            Action::Denied => "denied",
            Action::Redirect(_) => "redirect",
            Action::Respond(_) => "respond",
        },
        service,
        port,
        endpoints: endpoints.map_or(0, |backend| backend.endpoints.len()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sluice_translate::{Object, Options, Resources, translate};

    use super::*;

    #[test]
    fn each_path_says_where_it_leads() {
        let ingress = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": { "namespace": "shop", "name": "web", "annotations": {
                "nginx.ingress.kubernetes.io/permanent-redirect": "https://b.example/",
            } },
            "spec": { "ingressClassName": "nginx", "rules": [{ "host": "a.example", "http": { "paths": [
                { "path": "/", "pathType": "Prefix", "backend": { "service": { "name": "web", "port": { "number": 80 } } } },
            ] } }] },
        });
        let mut other = ingress.clone();
        other["metadata"] = json!({ "namespace": "shop", "name": "api" });
        other["spec"]["rules"][0]["host"] = "b.example".into();
        let mut resources = Resources::default();
        for object in [ingress, other] {
            resources.apply(Object::from_value(object).unwrap());
        }
        let options = Options {
            class_is_implied: true,
            ..Options::default()
        };
        let snapshot = translate(&resources, &options).snapshot();
        let shown = serde_json::to_value(served(&snapshot)).unwrap();
        assert_eq!(
            shown,
            json!([
                {
                    "namespace": "shop", "ingress": "api", "host": "b.example", "path": "/", "tls": false,
                    "action": "forward", "service": "web", "port": "80", "endpoints": 0,
                },
                {
                    "namespace": "shop", "ingress": "web", "host": "a.example", "path": "/", "tls": false,
                    "action": "redirect", "endpoints": 0,
                },
            ])
        );
    }
}
