//! A request on its way through the filter.

use std::cell::RefCell;
use std::time::Duration;

use sluice_ngxsafe::{Request, Step};
use sluice_pwhost::Context;

use crate::configuration::Location;
use crate::{Sluice, worker};

/// What is kept of a request: its context in the guest.
pub type Exchange = RefCell<Option<Context>>;

/// How long a request may be paused. Longer than the filter itself waits for anything; it ends requests that the
/// filter has forgotten.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// For what the filter should have decided and did not.
pub(crate) const FAILED: Step = Step::Fail(500);

pub(crate) fn on_request(request: &Request<Sluice>, location: &Location) -> Step {
    let Some(root) = location.root() else {
        return Step::Continue;
    };
    worker::with(|worker| worker.on_request(request, root)).unwrap_or(FAILED)
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
