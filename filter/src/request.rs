//! The life of a request: it arrives, it is answered, it is over. To the host it is a number.

use proxy_wasm::types::Action;

use sluice_filter_config::host_contract::Copies;
use sluice_filter_worker::prepare_copy;

use crate::host;
use crate::vm::Vm;

/// It has come, with its headers.
pub(crate) fn on_request_headers(context: u32, has_body: bool) -> Action {
    #[cfg(feature = "fault-injection")]
    fail_if_asked();
    Vm::with(|vm| match vm.copies() {
        Some(copies) => {
            prepare_copy(copies, &vm.stream(), has_body);
            Action::Continue
        }
        None => vm.on_request_headers(context),
    })
}

/// A part of its body has come.
pub(crate) fn on_request_body(size: usize) {
    Vm::with(|vm| {
        if vm.copies().is_some_and(Copies::are_bodiless) {
            host::drop_request_body(size);
        }
    });
}

/// An endpoint has answered it.
pub(crate) fn on_response_headers(context: u32) {
    Vm::with(|vm| vm.on_response_headers(context));
}

/// It was served, or its client went away. Envoy and nginx say so of every request.
pub(crate) fn on_log(context: u32) {
    Vm::with(|vm| vm.complete(context));
}

/// The host knows no more of it.
pub(crate) fn on_delete(context: u32) {
    Vm::with(|vm| vm.cancel(context));
}

#[cfg(feature = "fault-injection")]
#[allow(clippy::panic, reason = "this is the fault")]
fn fail_if_asked() {
    if host::asks_for("x-test-panic") {
        panic!("asked for by the test");
    }
    if host::asks_for("x-test-loop") {
        loop {
            std::hint::spin_loop();
        }
    }
}
