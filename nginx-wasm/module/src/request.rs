//! A request with its state in the filter.

use std::cell::{Cell, RefCell, RefMut};
use std::time::Duration;

use sluice_filter_worker::Pending;
use sluice_ngx::Step;
use sluice_wasm_host::Context;

/// Per-request state: what the filter that runs in this process keeps of it.
#[derive(Default)]
pub struct RequestState {
    /// The request's context in the guest, while it has one.
    pub(crate) context: RefCell<Option<Context>>,
    /// The work that is left for the filter of this module.
    pending: RefCell<Pending>,
    /// Index of the configuration of that filter.
    filter: Cell<usize>,
}

/// A request of nginx with that state.
pub type Request = sluice_ngx::Request<RequestState>;

/// The response where the filter should have decided and did not.
pub(crate) const FAILED: Step = Step::Fail(500);
/// Limit of a pause. Longer than any timeout of the filter itself; it ends requests that the filter lost track of.
pub(crate) const PAUSE_LIMIT: Duration = Duration::from_secs(5);

impl RequestState {
    /// The work that is left for the filter at this index.
    pub(crate) fn pending(&self, filter: usize) -> RefMut<'_, Pending> {
        self.filter.set(filter);
        self.pending.borrow_mut()
    }

    /// Index of the filter for which work is left; `None` if there is no work.
    pub(crate) fn awaited_by(&self) -> Option<usize> {
        let is_done = self
            .pending
            .try_borrow()
            .is_ok_and(|pending| pending.is_empty());
        (!is_done).then_some(self.filter.get())
    }
}
