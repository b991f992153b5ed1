//! A reader's cluster: Sluice and an ingress-nginx in a fake API server. Both are the same controller and Envoy.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use sluice_tests::apiserver::Cluster;
use sluice_tests::apiserver::containers::Container;
use sluice_tests::echo::Echo;
use sluice_tests::installation::{Installation, LABEL};
use sluice_tests::manifests::{Ingress, endpoint_slice, service};
use sluice_tests::ports::Port;
use sluice_tests::sluice::Options;

const CLASS: &str = "k8s.io/ingress-nginx";
/// Hosts of pages, with their Services.
const HOSTS: [(&str, &str, &str); 2] = [
    ("default", "hello", "hello.localhost"),
    ("shop", "shop", "shop.example"),
];
/// As ingress-nginx logs a request of the first.
const REQUEST: &str = "192.0.2.1 - - [27/Nov/2026:12:00:00 +0000] \"GET /cart HTTP/1.1\" 200 12 \"-\" \"curl/7.88.1\" 80 0.001 \
                       [default-hello-80] [] 10.0.0.9:8080 12 0.001 200 0123456789abcdef0123456789abcdef\n";
const WARNING: &str = "2026-11-27T12:00:00.000000Z  WARN sluice: Ingress shop/shop: a report\n";

/// The cluster.
pub(crate) struct ReaderCluster {
    pub(crate) installation: Installation,
    _pods: Vec<Echo>,
    _dashboard: Port,
}

impl ReaderCluster {
    /// `programs` has the programs of containers.
    pub(crate) async fn start(programs: &Path) -> Result<ReaderCluster> {
        let cluster = Cluster::fake().await?;
        cluster.foreign_class("nginx", CLASS).await?;
        for name in ["ingress-nginx", "shop"] {
            let metadata = json!({ "name": name });
            let namespace =
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
            cluster.apply(&namespace).await?;
        }
        let pods = cluster.pods("hello", 1).await?;
        let addresses: Vec<SocketAddr> = pods.iter().map(Echo::addr).collect();
        for (namespace, name, host) in HOSTS {
            cluster
                .apply(&service(namespace, name, 80, &addresses))
                .await?;
            cluster
                .apply(&endpoint_slice(namespace, name, &addresses))
                .await?;
            let ingress = Ingress::new(namespace, name).host(host).path("/", name, 80);
            cluster.apply(&ingress.to_json()).await?;
        }
        let dashboard = Port::reserve()?;
        let flag = format!("--dashboard-port={}", dashboard.number());
        let controller = Options::with_access_to(&cluster, cluster.namespace())
            .arguments(vec![flag])
            .start()
            .await?;
        let container = Container {
            environment: vec![
                ("PATH".to_owned(), programs.display().to_string()),
                (
                    "SLUICE_ADMIN_SOCKET".to_owned(),
                    controller.admin_socket().display().to_string(),
                ),
            ],
            log: WARNING.to_owned(),
            page: Some(controller.health()),
        };
        let installation = Installation::new(cluster, controller, CLASS).await?;
        installation.contain("controller", container)?;
        let cluster = ReaderCluster {
            installation,
            _pods: pods,
            _dashboard: dashboard,
        };
        cluster.deployments()?;
        Ok(cluster)
    }

    /// The namespace of Sluice.
    pub(crate) fn namespace(&self) -> &str {
        self.installation.cluster.namespace()
    }

    /// The address of both data planes.
    pub(crate) fn address(&self) -> SocketAddr {
        self.installation.controller.http()
    }

    /// A kubeconfig that leads to the fake itself: commands in pods change the protocol, which the cluster's gate does not pass on.
    pub(crate) fn kubeconfig(&self) -> Result<String> {
        let server = format!("http://{}", self.installation.fake()?.addr());
        Ok(json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{ "name": "c", "cluster": { "server": server } }],
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "c" } }],
            "users": [{ "name": "c", "user": {} }],
        })
        .to_string())
    }

    /// Deployments and load balancers of both. An API server has no port in an address; the data plane needs one.
    fn deployments(&self) -> Result<()> {
        let fake = self.installation.fake()?;
        let theirs = json!({ LABEL: "ingress-nginx" });
        for (namespace, name, balancer, labels) in [
            (
                self.namespace(),
                "sluice-controller",
                "sluice-data-plane",
                json!({ LABEL: "controller" }),
            ),
            (
                "ingress-nginx",
                "ingress-nginx-controller",
                "ingress-nginx-controller",
                theirs.clone(),
            ),
        ] {
            let metadata = |name: &str| json!({ "namespace": namespace, "name": name });
            fake.put(json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(name),
                "spec": { "selector": { "matchLabels": labels } },
            }))?;
            let addresses = json!([{ "ip": self.address().to_string() }]);
            fake.put(json!({
                "apiVersion": "v1", "kind": "Service", "metadata": metadata(balancer),
                "spec": { "type": "LoadBalancer", "ports": [{ "name": "http", "port": 80 }] },
                "status": { "loadBalancer": { "ingress": addresses } },
            }))?;
        }
        fake.put(pod_of_ingress_nginx(&theirs))?;
        let container = Container {
            log: REQUEST.to_owned(),
            ..Container::default()
        };
        fake.contain("ingress-nginx/ingress-nginx-controller-0", container);
        Ok(())
    }
}

fn pod_of_ingress_nginx(labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "namespace": "ingress-nginx", "name": "ingress-nginx-controller-0", "labels": labels },
        "spec": { "containers": [{ "name": "controller", "image": "i" }] },
        "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] },
    })
}
