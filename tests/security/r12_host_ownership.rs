//! R12: an object changes only what its namespace owns. Hosts belong to the namespace that named them first.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::manifests::Ingress;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(foreign_ingress_takes_no_path_of_the_owner);

/// Created at a second of one minute: the smaller is the older.
fn created_at(ingress: &Ingress, second: u8) -> Value {
    let mut object = ingress.to_json();
    object["metadata"]["creationTimestamp"] = json!(format!("2026-01-01T00:00:{second:02}Z"));
    object
}

/// Whatever order the two are written in.
async fn foreign_ingress_takes_no_path_of_the_owner(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let paths = ["/", "/a", "/a/b"];
    let with_paths = |namespace: &str| {
        let ingress = Ingress::new(namespace, "web").host("shared.test");
        paths
            .iter()
            .fold(ingress, |ingress, path| ingress.path(path, "web", 80))
    };
    let own = with_paths(FOREIGN).path("/foreign", "web", 80);
    tenants.write("a-foreign.yaml", &[created_at(&own, 2)])?;
    tenants.write("b-owner.yaml", &[created_at(&with_paths(OWNER), 1)])?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    for path in paths {
        let answer = sluice.get("shared.test", path).await?;
        ensure!(
            answer.pod() == Some(OWNER),
            "{path}: {:?} answered",
            answer.pod()
        );
    }
    ensure!(sluice.get("shared.test", "/foreign").await?.pod() == Some(FOREIGN));
    ensure!((tenants.owner.hits(), tenants.foreign.hits()) == (3, 1));
    sluice.stop()
}
