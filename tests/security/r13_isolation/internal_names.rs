//! Names of our own in a configuration are such that no tenant can write.

use std::fs;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use sluice_tests::artifacts;
use sluice_tests::manifests::Ingress;

use super::{ensure_changes_are_accepted, neighbour};
use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(path_named_like_an_internal_location_belongs_to_the_tenant);

/// Every name of an internal route that there is or was, as a path, where such routes are.
async fn path_named_like_an_internal_location_belongs_to_the_tenant(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.manifests.ingress(&neighbour("own.test"))?;
    let mirror = hash("external/copy.example:80 copy.example");
    let names = [
        "guard".to_owned(),
        format!("mirror_{mirror}"),
        format!("mirror/{mirror}"),
        "refused".to_owned(),
        "sign_in".to_owned(),
        "502".to_owned(),
    ];
    let paths = names.iter().flat_map(|name| {
        [
            format!("/_sluice_{name}"),
            format!("/sluice_{name}"),
            format!("/@sluice_{name}"),
        ]
    });
    let paths: Vec<String> = paths.collect();
    let mut ingress = Ingress::new(FOREIGN, "names")
        .annotation("auth-url", "http://auth.example/verify")
        .annotation("auth-signin", "http://auth.example/start")
        .annotation("mirror-target", "http://copy.example")
        .host("names.test");
    for path in &paths {
        ingress = ingress.typed_path("Exact", path, "web", 80);
    }
    tenants.manifests.ingress(&ingress)?;
    let open = paths.iter().fold(
        Ingress::new(FOREIGN, "open").host("open.test"),
        |open, path| {
            open.typed_path("Exact", path, "web", 80)
                .typed_path("Prefix", path, "web", 80)
        },
    );
    tenants.manifests.ingress(&open)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    ensure!(sluice.get("own.test", "/").await?.pod() == Some(OWNER));
    for path in &paths {
        let guarded = sluice.get("names.test", path).await?;
        ensure!(
            guarded.pod().is_none() && guarded.status != 404,
            "{path}: {}",
            guarded.status
        );
        ensure!(
            sluice.get("open.test", path).await?.pod() == Some(FOREIGN),
            "{path} is the tenant's"
        );
    }
    ensure_changes_are_accepted(&sluice, &tenants).await?;
    sluice.stop()
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A path of a tenant begins with a slash and is in quotes. What is not is ours, and begins otherwise; but for the root, where
/// nobody has it.
#[test]
fn internal_nginx_locations_never_begin_like_paths() -> Result<()> {
    let mut own = 0;
    for case in fs::read_dir(artifacts::repository().join("tests/golden"))? {
        let file = case?.path().join("nginx.conf");
        let conf = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let blocks = conf
            .lines()
            .filter_map(|line| line.trim().strip_prefix("location ")?.strip_suffix(" {"));
        for block in blocks.filter(|block| *block != "/") {
            let name = block.split_once(' ').map_or(block, |(_, name)| name);
            let is_quoted = name.starts_with('"');
            own += usize::from(!is_quoted || name.starts_with("\"sluice"));
            ensure!(
                is_quoted || !name.starts_with('/'),
                "{}: {block}",
                file.display()
            );
        }
    }
    ensure!(own > 10, "golden cases have routes of our own, found {own}");
    Ok(())
}
