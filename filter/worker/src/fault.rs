//! A fault that an end-to-end test asks for.

use std::env;
use std::sync::LazyLock;

use sluice_filter_core::Request;

/// In the environment of a data plane whose clients may ask for faults.
const VARIABLE: &str = "SLUICE_FILTER_FAULTS";
const HEADER: &str = "x-test-panic";

/// Panics if the request has the header `x-test-panic` and this process the variable `SLUICE_FILTER_FAULTS`. Nothing of it is in a build
/// without debug assertions, as all shipped ones are.
#[inline]
pub fn panic_if_asked(request: &impl Request) {
    static IS_ALLOWED: LazyLock<bool> = LazyLock::new(|| env::var_os(VARIABLE).is_some());
    #[allow(clippy::panic, reason = "this is the fault")]
    if cfg!(debug_assertions) && *IS_ALLOWED && request.header(HEADER).is_some() {
        panic!("asked for by the test");
    }
}
