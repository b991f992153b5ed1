//! Holders of the names under a wildcard host (R12 of the security rules).
//!
//! ```text
//!   Ingresses that name *.a.example --oldest of ours--> its holder <-- looked up by route groups with a host x.a.example
//! ```
//!
//! A wildcard does not connect the hosts under it, or all applications of a platform would be one component. So who holds a
//! wildcard is kept here, and only when that is somebody else the route groups under it are translated again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Hostname, ServerName};
use sluice_syntax::value;

use crate::annotations::canonical;
use crate::claims::Age;
use crate::shared_inputs::ClassMatch;
use crate::{ObjectKey, Options, Resources, Translation};

/// The oldest Ingress that names it, by what follows the star.
pub(crate) type Wildcards = BTreeMap<Hostname, Age>;

/// ClassMatch it is.
pub(crate) fn key((_, Reverse(key)): &Age) -> &ObjectKey {
    key
}

impl Translation {
    /// Looks up who holds these wildcards now, and says which of them are somebody else's than before.
    pub(crate) fn look_up_holders(
        &mut self,
        suffixes: BTreeSet<Hostname>,
        resources: &Resources,
        options: &Options,
    ) -> BTreeSet<Hostname> {
        let mut changed = BTreeSet::new();
        for suffix in suffixes {
            let now = self.holder(&suffix, resources, options).cloned();
            let before = match &now {
                Some(age) => self.wildcards.insert(suffix.clone(), age.clone()),
                None => self.wildcards.remove(&suffix),
            };
            if before != now {
                changed.insert(suffix);
            }
        }
        changed
    }

    /// A canary has no host.
    fn holder<'a>(
        &self,
        suffix: &'a Hostname,
        resources: &'a Resources,
        options: &Options,
    ) -> Option<&'a Age> {
        resources.claims().of_wildcard(suffix).find(|age| {
            let ingress = resources.ingresses.get(key(age));
            let ours = ingress.filter(|ingress| {
                matches!(
                    self.shared_inputs.class_match(ingress, options),
                    ClassMatch::Ours
                )
            });
            ours.is_some_and(|ingress| {
                let mut annotations = ingress.metadata.annotations.iter().flatten();
                !annotations.any(|(name, text)| is_canary(name, text))
            })
        })
    }
}

fn is_canary(annotation: &str, text: &str) -> bool {
    let name = annotation
        .rsplit_once('/')
        .map_or(annotation, |(_, name)| name);
    canonical(name) == "canary" && value::bool(text) == Ok(true)
}

/// Suffixes of the wildcards that cover these names.
pub(crate) fn over<'a>(names: impl IntoIterator<Item = &'a ServerName>) -> BTreeSet<Hostname> {
    names
        .into_iter()
        .filter_map(ServerName::wildcard_suffix)
        .collect()
}

/// Of the wildcards among these names.
pub(crate) fn among<'a>(names: impl IntoIterator<Item = &'a ServerName>) -> BTreeSet<Hostname> {
    let wildcards = names.into_iter().filter_map(|name| match name {
        ServerName::Wildcard(suffix) => Some(suffix.clone()),
        ServerName::Exact(_) | ServerName::CatchAll => None,
    });
    wildcards.collect()
}
