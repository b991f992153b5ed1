//! What reaches a server from other islands: the canaries of its backends, and what becomes of it when pods are missing.

use std::sync::Arc;

use sluice_ir::{Action, Backend, BackendId, ErrorRequest, Location, Server, Shared};

use crate::islands::Island;
use crate::ledger::Ledger;
use crate::servers::ErrorService;

type Backends = Shared<BackendId, Backend>;

/// Nobody would answer.
pub(crate) fn is_dead(backend: &Backend) -> bool {
    backend.endpoints.is_empty() && backend.outside.is_none()
}

/// The server as it is served: the same one when nothing reaches it.
pub(crate) fn finished(
    server: &Arc<Server>,
    island: &Island,
    ledger: &Ledger,
    backends: &Backends,
) -> Arc<Server> {
    let mut finished = Arc::clone(server);
    for (position, location) in server.locations.iter().enumerate() {
        let Action::Forward(main) = &location.action else { continue };
        let canaries = ledger.canaries(&main.service_port());
        let asked = island.error_services.get(&location.id);
        if canaries.is_empty() && asked.is_none() {
            continue;
        }
        let Some(location) = Arc::make_mut(&mut finished).locations.get_mut(position) else { continue };
        location.canaries.extend(canaries.iter().cloned());
        if let Some(asked) = asked {
            ask(location, main, asked, backends);
        }
    }
    finished
}

/// A location whose pods are missing leads to its error service, if that has any.
fn ask(location: &mut Location, main: &BackendId, asked: &ErrorService, backends: &Backends) {
    let ErrorService { backend, next, place } = asked;
    let is_dead = |id: &BackendId| backends.get(id).is_none_or(|backend| is_dead(backend));
    if is_dead(backend) {
        location.error_pages.iter_mut().for_each(|pages| pages.backend.clone_from(next));
    } else if is_dead(main) {
        location.action = Action::Forward(backend.clone());
        location.for_https = None;
        location.error = Some(ErrorRequest { status: 503, place: place.clone() });
    }
}
