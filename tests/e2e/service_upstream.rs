//! `service-upstream`: requests go to the Service's own address, whatever its pods.

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::manifests::{self, Ingress};

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(requests_go_to_the_address_of_the_service);

async fn requests_go_to_the_address_of_the_service(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    // What listens at the address of a Service is here a pod of somebody else's.
    let (address, pod) = (tenants.foreign.addr(), tenants.owner.addr());
    let mut objects = Vec::new();
    // Ingresses decide together about a port of a Service, so each has a Service of its own.
    for (name, value) in [("service", "true"), ("pods", "false")] {
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"namespace": OWNER, "name": name},
            "spec": {
                "clusterIP": address.ip(),
                "ports": [{"name": "http", "port": address.port(), "targetPort": pod.port()}],
            },
        });
        let ingress = Ingress::new(OWNER, name)
            .annotation("service-upstream", value)
            .host(&format!("{name}.test"))
            .path("/", name, address.port());
        let slice = manifests::endpoint_slice(OWNER, name, &[pod]);
        objects.extend([service, slice, ingress.to_json()]);
    }
    tenants.write("all.yaml", &objects)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    for (host, expected) in [("service.test", FOREIGN), ("pods.test", OWNER)] {
        sluice.wait_for_status(host, "/", 200).await?;
        let answer = sluice.get(host, "/").await?;
        ensure!(answer.pod() == Some(expected), "{host}: {answer:?}");
    }
    sluice.stop()
}
