//! Overlays on a server from outside its component: canaries of its backends, and error services when endpoints are missing.

use std::sync::Arc;

use sluice_ir::{Action, Backend, BackendId, ErrorRequest, HttpRoute, Server, Shared};

use crate::assembled::ErrorService;
use crate::backend_registry::BackendRegistry;
use crate::canaries::on_route;
use crate::ids::{have_same_transport, without_variant};
use crate::route_groups::RouteGroup;

type Backends = Shared<BackendId, Backend>;

/// Nothing would answer.
pub(crate) fn is_dead(backend: &Backend) -> bool {
    backend.endpoints.is_empty()
}

/// The server as it is served: the same one when nothing reaches it.
pub(crate) fn overlay_canaries(
    server: &Arc<Server>,
    group: &RouteGroup,
    registry: &BackendRegistry,
    backends: &Backends,
) -> Arc<Server> {
    let mut overlaid = Arc::clone(server);
    for (position, route) in server.routes.iter().enumerate() {
        let Some(main) = route.primary_backend() else {
            continue;
        };
        let canaries = registry.canaries(&without_variant(main));
        let asked = group.error_services.get(&route.id);
        if canaries.is_empty() && asked.is_none() {
            continue;
        }
        let Some(route) = Arc::make_mut(&mut overlaid).routes.get_mut(position) else {
            continue;
        };
        let https = route.https_backend.as_ref();
        let canaries = canaries.iter().map(|canary| on_route(canary, main, https));
        route.canaries = canaries.collect();
        if let Some(asked) = asked {
            ask(route, main, asked, backends);
        }
    }
    overlaid
}

/// A route whose pods are missing leads to its error service, if that has any.
fn ask(route: &mut HttpRoute, main: &BackendId, asked: &ErrorService, backends: &Backends) {
    let ErrorService {
        backend,
        next,
        headers,
    } = asked;
    let is_dead = |id: &BackendId| backends.get(id).is_none_or(|backend| is_dead(backend));
    if is_dead(backend) {
        route
            .error_pages
            .iter_mut()
            .for_each(|pages| pages.backend.clone_from(next));
    } else if is_dead(main) {
        // nginx speaks to the pods of a location in one way.
        if route.https_backend.is_some() || !have_same_transport(main, backend) {
            route.canaries.clear();
        }
        route.action = Action::to(backend.clone());
        route.https_backend = None;
        route.error_request = Some(Box::new(ErrorRequest {
            status: 503,
            headers: headers.clone(),
        }));
    }
}
