//! A request with what the filter keeps of it.

use std::cell::RefCell;
use std::time::Duration;

use sluice_filter_worker::Pending;
use sluice_ngx::Step;
use sluice_wasm_host::Context;

/// Per-request state.
pub type RequestState = RefCell<Kept>;

/// A request of nginx with that state.
pub type Request = sluice_ngx::Request<RequestState>;

/// Something that the filter keeps of a request.
#[derive(Default)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one for each request, and a box would be one more allocation"
)]
pub enum Kept {
    /// Nothing: it was not filtered, or nothing is left to do.
    #[default]
    Nothing,
    /// Its context in the guest.
    Context(Context),
    /// Work that is left for the built-in filter at this index.
    Pending(usize, Pending),
}

/// The response where the filter should have decided and did not.
pub(crate) const FAILED: Step = Step::Fail(500);
/// Limit of a pause. Longer than any timeout of the filter itself; it ends requests that the filter lost track of.
pub(crate) const PAUSE_LIMIT: Duration = Duration::from_secs(5);
