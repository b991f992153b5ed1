//! The phases of a request, each passed on to the worker.

use sluice_ngx::Step;

use crate::directives::Location;
use crate::request::Request;
use crate::worker::{self, FAILED};

pub(crate) fn on_request(request: &Request, location: &Location) -> Step {
    let Some(root_index) = location.root_index() else {
        return Step::Continue;
    };
    worker::with(|worker| worker.on_request(request, root_index)).unwrap_or(FAILED)
}

pub(crate) fn on_response(request: &Request) -> Step {
    worker::with(|worker| worker.on_response(request)).unwrap_or(FAILED)
}

pub(crate) fn on_log(request: &Request) {
    worker::with(|worker| worker.on_log(request));
}

pub(crate) fn on_end(request: &Request) {
    worker::with(|worker| worker.on_end(request));
}
