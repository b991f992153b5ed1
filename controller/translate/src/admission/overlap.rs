//! Two Ingresses with the same host and path: only the older would have it.

use sluice_syntax::shortened;
use sluice_translate_engine::Ingress;

use super::seniority;
use crate::claims::paths;
use crate::{Options, Resources, is_ours};

const CANARY: &str = "nginx.ingress.kubernetes.io/canary";

/// Every path that an older Ingress of ours has, unless one of the two is a canary. As in ingress-nginx, the annotation
/// counts as such, whatever its value.
pub(super) fn find(ingress: &Ingress, resources: &Resources, options: &Options) -> Vec<String> {
    if is_canary(ingress) {
        return Vec::new();
    }
    let (key, own) = (ingress.key(), seniority(ingress, resources));
    let mut found = Vec::new();
    for (host, path) in paths(ingress).filter(|(_, path)| !path.is_empty()) {
        let claims = resources
            .claims()
            .of_path(&host, &path)
            .filter_map(|key| resources.ingresses.get(key));
        let mut ours =
            claims.filter(|other| is_ours(other, resources, options) && !is_canary(other));
        let Some(owner) =
            ours.find(|other| seniority(other, resources) < own || other.key() == key)
        else {
            continue;
        };
        let owner = owner.key();
        if owner != key {
            let (host, path) = (if host.is_empty() { "_" } else { &host }, shortened(&path));
            found.push(format!(
                "host {host:?} and path {path:?} is already defined in ingress {owner}"
            ));
        }
    }
    found.dedup();
    found
}

fn is_canary(ingress: &Ingress) -> bool {
    ingress.annotations.get(CANARY).is_some()
}
