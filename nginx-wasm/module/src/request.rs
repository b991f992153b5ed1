//! A request with its context in the guest.

use std::cell::RefCell;

use sluice_wasm_host::Context;

/// Per-request state: the request's context in the guest, while it has one.
pub type RequestContext = RefCell<Option<Context>>;

/// A request of nginx with that state.
pub type Request = sluice_ngx::Request<RequestContext>;
