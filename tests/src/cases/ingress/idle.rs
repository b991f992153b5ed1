//! Worlds whose case has passed, for cases that could as well be the first in them.
//!
//! Most of a case's time is Envoy's start, and most cases are Ingresses and requests for them, no more. Such a case goes on in the world
//! of another: a change replaces all objects and pods, and nothing of the case before may be left.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};

use super::asked::Asked;
use super::control::plane;
use super::schema::{Case, Check, Given, Ingress};
use super::world::World;
use crate::cases::Selection;

/// Parts of the names of annotations with a state in the data plane, which outlives its objects.
const STATEFUL: &[&str] = &[
    "limit-",
    "auth-cache",
    "affinity",
    "session-",
    "ssl-passthrough",
];

/// Each is two processes. Those that are played at a time, and as many with other settings.
const MOST: usize = 4;

/// Worlds that nobody uses, the last one last.
#[derive(Default)]
pub struct Idle(Mutex<Vec<World>>);

impl Idle {
    /// One of them, if the case may be played in it.
    pub fn take(&self, case: &Case, selection: &Selection) -> Option<World> {
        if !is_plain(case, selection) {
            return None;
        }
        let mut worlds = self.worlds();
        let has_same_settings = |world: &World| world.model.given.configmap == case.given.configmap;
        let found = worlds.iter().rposition(has_same_settings)?;
        Some(worlds.remove(found))
    }

    /// Keeps a world for the next plain case, or ends it; or ends one that was kept for long.
    ///
    /// # Errors
    /// When a controller did not end well.
    pub fn put(&self, world: World, case: &Case, selection: &Selection) -> Result<()> {
        if !is_plain(case, selection) {
            return world.end();
        }
        let surplus = {
            let mut worlds = self.worlds();
            worlds.push(world);
            (worlds.len() > MOST).then(|| worlds.remove(0))
        };
        surplus
            .map_or(Ok(()), World::end)
            .context("the world of an earlier case")
    }

    /// Ends them.
    ///
    /// # Errors
    /// When a controller did not end well.
    pub fn end(&self) -> Result<()> {
        let worlds = mem::take(&mut *self.worlds());
        worlds.into_iter().try_for_each(World::end)
    }

    fn worlds(&self) -> MutexGuard<'_, Vec<World>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nothing but Ingresses, beside settings that stay, and requests whose answers depend on those alone. An nginx is started as quickly as
/// it is reloaded.
pub fn is_plain(case: &Case, selection: &Selection) -> bool {
    let Given {
        ingresses,
        endpoints,
        services,
        backends,
        secrets,
        configmap: _,
        configmaps,
        flags,
        ingressclasses,
        namespaces,
        rbac,
        tcp,
    } = &case.given;
    let nothing_else = [
        endpoints.is_empty(),
        services.is_empty(),
        backends.is_empty(),
        secrets.is_empty(),
        configmaps.is_empty(),
        flags.is_empty(),
        ingressclasses.is_none(),
        namespaces.is_empty(),
        rbac.is_none(),
        tcp.is_empty(),
    ];
    selection.data_plane == "envoy"
        && nothing_else.iter().all(|nothing| *nothing)
        && ingresses.iter().all(is_stateless)
        && case.checks.iter().all(is_request)
}

fn is_stateless(ingress: &Ingress) -> bool {
    let has_state = |name: &String| STATEFUL.iter().any(|part| name.contains(part));
    ingress.tls.is_empty() && !ingress.annotations.keys().any(has_state)
}

fn is_request(check: &Check) -> bool {
    Asked::of(check) == Asked::Requests
        && check.when.after.0.is_empty()
        && check.when.within_s.is_none()
        && check.then.log_contains.is_none()
        && !plane::is_asked_for(&check.then)
}
