//! Root contexts: configuration in, polls out. Hosts make a new one for every configuration, and the [`Vm`] stays.

use crate::host;
use crate::vm::{TICK, Vm};

/// The host has started this VM. ngx_wasm_module does not say so of one that takes the place of another that trapped.
pub(crate) fn on_vm_start() {
    Vm::with(Vm::on_vm_start);
}

/// A bootstrap configuration has come; `false` refuses it.
pub(crate) fn on_configure(size: usize) -> bool {
    Vm::with(|vm| {
        let accepted = vm.configure(&host::plugin_configuration(size));
        if vm.prepares_copies() {
            return accepted;
        }
        host::tick_every(TICK);
        if accepted && vm.polls_on_configure() {
            vm.poll();
        }
        accepted
    })
}

/// Some time has passed.
pub(crate) fn on_tick(root: u32) {
    Vm::with(|vm| {
        if !vm.accepts_ticks() {
            return;
        }
        vm.resume_expired();
        vm.heartbeat();
        host::switch_to(root);
        vm.poll();
    });
}

/// A poll has ended, or what a waiting request asked for itself.
pub(crate) fn on_http_call_response(root: u32, token: u32, headers: usize, body_size: usize) {
    // A call that failed has no headers at all.
    let status = if headers == 0 {
        None
    } else {
        host::call_response_status()
    };
    let body = if status == Some(200) {
        host::call_response_body(body_size)
    } else {
        Vec::new()
    };
    Vm::with(|vm| {
        if let Some(context) = vm.waiting_for(token) {
            return vm.on_own_call_response(context, status, &body);
        }
        vm.on_poll_response(status, &body);
        if !vm.polls_in_callbacks() {
            return;
        }
        // Resuming requests made their contexts the current one; the next call is this root's again.
        host::switch_to(root);
        vm.poll();
    });
}
