//! Worker processes.

use nginx_sys::{
    NGX_OK, NGX_PROCESS_SINGLE, NGX_PROCESS_WORKER, ngx_cycle_t, ngx_http_conf_ctx_t,
    ngx_http_module, ngx_int_t, ngx_process, ngx_uint_t,
};

use crate::module::Registered;

/// `init_process`. Also called in the cache processes, which serve no requests.
///
/// # Safety
///
/// By nginx, with the cycle that the process is for.
pub(crate) unsafe extern "C" fn init_process<M: Registered>(cycle: *mut ngx_cycle_t) -> ngx_int_t {
    // SAFETY: the process's kind is set before this. A cycle without `http {}` has no context at the index of the
    // HTTP module; with one, our main configuration is there and lives as long as the cycle, which is this process's.
    unsafe {
        let process = ngx_process;
        let serves = [NGX_PROCESS_WORKER, NGX_PROCESS_SINGLE]
            .map(|kind| kind as ngx_uint_t)
            .contains(&process);
        let http = ngx_http_module.index;
        let context: *mut ngx_http_conf_ctx_t = (*(*cycle).conf_ctx.add(http)).cast();
        if serves && !context.is_null() {
            M::start_worker(
                &*(*(*context).main_conf.add(M::table().ctx_index())).cast::<M::Main>(),
            );
        }
    }
    NGX_OK as ngx_int_t
}

/// `exit_process`.
///
/// # Safety
///
/// By nginx, at the end of a process.
pub(crate) unsafe extern "C" fn exit_process<M: Registered>(_cycle: *mut ngx_cycle_t) {
    M::stop_worker();
}
