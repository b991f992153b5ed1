//! The phases of a request, each passed on to the worker.

use std::cell::RefCell;

use sluice_ngxsafe::{Request, Step};
use sluice_pwhost::Context;

use crate::Sluice;
use crate::directives::Location;
use crate::worker::{self, FAILED};

/// Per-request state: the request's context in the guest.
pub type RequestContext = RefCell<Option<Context>>;

pub(crate) fn on_request(request: &Request<Sluice>, location: &Location) -> Step {
    let Some(root_index) = location.root_index() else {
        return Step::Continue;
    };
    worker::with(|worker| worker.on_request(request, root_index)).unwrap_or(FAILED)
}

pub(crate) fn on_response(request: &Request<Sluice>) -> Step {
    worker::with(|worker| worker.on_response(request)).unwrap_or(FAILED)
}

pub(crate) fn on_log(request: &Request<Sluice>) {
    worker::with(|worker| worker.on_log(request));
}

pub(crate) fn on_end(request: &Request<Sluice>) {
    worker::with(|worker| worker.on_end(request));
}
