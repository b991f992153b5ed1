//! nginx's phases, which call the module for each request.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use nginx_sys::{
    NGX_AGAIN, NGX_DECLINED, NGX_DONE, NGX_ERROR, NGX_HTTP_INTERNAL_SERVER_ERROR, NGX_OK,
    ngx_array_push, ngx_conf_t, ngx_http_conf_ctx_t, ngx_http_filter_finalize_request,
    ngx_http_handler_pt, ngx_http_output_header_filter_pt, ngx_http_phases_NGX_HTTP_LOG_PHASE,
    ngx_http_phases_NGX_HTTP_PRECONTENT_PHASE, ngx_http_phases_NGX_HTTP_REWRITE_PHASE,
    ngx_http_request_t, ngx_http_top_header_filter, ngx_int_t, ngx_table_elt_t,
};

use crate::live_request::LiveRequest;
use crate::module::{Registered, Step};
use crate::request::{PhaseResult, Request, State};
use crate::{conf, directives, named_location};

const OK: ngx_int_t = NGX_OK as ngx_int_t;
const ERROR: ngx_int_t = NGX_ERROR as ngx_int_t;
const DECLINED: ngx_int_t = NGX_DECLINED as ngx_int_t;
const INTERNAL_SERVER_ERROR: ngx_int_t = NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t;

/// The header filter after this one. nginx rebuilds the chain for each configuration.
struct NextHeaderFilter(Cell<ngx_http_output_header_filter_pt>);

// SAFETY: nginx's thread is the only one that reads or writes it (rule 1).
unsafe impl Sync for NextHeaderFilter {}

static NEXT_HEADER_FILTER: NextHeaderFilter = NextHeaderFilter(Cell::new(None));

/// A header that nginx does not send, because its hash is 0: in the place of one that it would make itself.
struct Removed(UnsafeCell<ngx_table_elt_t>);

// SAFETY: nginx's thread is the only one that reads it (rule 1).
unsafe impl Sync for Removed {}

// SAFETY: an element of numbers, lengths of 0 and null pointers.
static REMOVED: Removed = Removed(UnsafeCell::new(unsafe {
    MaybeUninit::zeroed().assume_init()
}));

/// `postconfiguration`.
///
/// # Safety
///
/// By nginx, with a live `cf` at the end of `http {}`.
pub(crate) unsafe extern "C" fn postconfiguration<M: Registered>(cf: *mut ngx_conf_t) -> ngx_int_t {
    // SAFETY: by contract, and nobody else has a reference to the main configuration.
    unsafe {
        match M::on_configured(&mut *directives::main::<M>(cf)) {
            Ok(is_used) => {
                install_header_filter::<M>();
                if is_used { install::<M>(cf) } else { OK }
            }
            Err(reason) => {
                conf::log_error(cf, &reason);
                ERROR
            }
        }
    }
}

/// Installs the phase handlers. nginx calls those of a phase in the order from the last, and `load_module` puts this module behind
/// nginx's own: in the rewrite phase it comes before the directives of the location that nginx has found. The precontent phase
/// follows access control, so denied clients cost the module nothing.
unsafe fn install<M: Registered>(cf: *mut ngx_conf_t) -> ngx_int_t {
    let handlers: [(
        u32,
        unsafe extern "C" fn(*mut ngx_http_request_t) -> ngx_int_t,
    ); 3] = [
        (ngx_http_phases_NGX_HTTP_REWRITE_PHASE, rewrite::<M>),
        (ngx_http_phases_NGX_HTTP_PRECONTENT_PHASE, precontent::<M>),
        (ngx_http_phases_NGX_HTTP_LOG_PHASE, log::<M>),
    ];
    // SAFETY: `cf` is in `http {}`, whose core module has its main configuration; a pushed element is a handler.
    unsafe {
        let context: *mut ngx_http_conf_ctx_t = (*cf).ctx.cast();
        let core = conf::core_main((*context).main_conf);
        for (phase, handler) in handlers {
            let pushed: *mut ngx_http_handler_pt =
                ngx_array_push(&raw mut (*core).phases[phase as usize].handlers).cast();
            if pushed.is_null() {
                return ERROR;
            }
            *pushed = Some(handler);
        }
    }
    OK
}

/// Installed without a proxy-wasm filter, too: the `Server` header is a matter of locations.
unsafe fn install_header_filter<M: Registered>() {
    // SAFETY: nginx reads its configuration in one thread, and calls filters afterwards.
    unsafe {
        NEXT_HEADER_FILTER.0.set(ngx_http_top_header_filter);
        ngx_http_top_header_filter = Some(header_filter::<M>);
    }
}

unsafe extern "C" fn rewrite<M: Registered>(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: nginx calls this with a live request, whose location has a configuration that `create` made.
    unsafe {
        let Some(live) = NonNull::new(r).filter(|_| r == (*r).main) else {
            return DECLINED;
        };
        let location = &*(*(*r).loc_conf.add(M::table().ctx_index())).cast::<M::Location>();
        if !M::finds_location(location) {
            return DECLINED;
        }
        match M::find_location(&mut LiveRequest::new(live)) {
            Ok(name) => named_location::enter(live, &name),
            Err(status) => status as ngx_int_t,
        }
    }
}

unsafe extern "C" fn precontent<M: Registered>(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: nginx calls this with a live request, whose location has a configuration that `create` made. The table is
    // that of the module whose per-request state `M::Request` is, and its `end_of_request` is the one below.
    unsafe {
        let Some(live) = NonNull::new(r).filter(|_| r == (*r).main) else {
            return DECLINED;
        };
        let location = &*(*(*r).loc_conf.add(M::table().ctx_index())).cast::<M::Location>();
        let current = Request::<M::Request>::current(r, M::table());
        if let Some(request) = &current {
            match request.state() {
                State::New => end::<M>(request),
                State::Paused => return NGX_AGAIN as ngx_int_t,
                State::InCallback | State::Continued | State::Responded => return DECLINED,
            }
        } else if !M::is_enabled(location) {
            return DECLINED;
        }
        // An internal redirect starts a request again, with the same handle.
        let former = current.or_else(|| Request::find(r, M::table()));
        let Some(request) = former
            .inspect(end::<M>)
            .or_else(|| Request::create(live, M::table()))
        else {
            return INTERNAL_SERVER_ERROR;
        };
        request.set_current(r, M::table());
        match call_on_request::<M>(&request, r, location) {
            PhaseResult::Decline => DECLINED,
            PhaseResult::Wait => NGX_AGAIN as ngx_int_t,
            PhaseResult::Done => NGX_DONE as ngx_int_t,
            PhaseResult::Fail(status) => status,
        }
    }
}

unsafe fn call_on_request<M: Registered>(
    request: &Request<M::Request>,
    r: *mut ngx_http_request_t,
    location: &M::Location,
) -> PhaseResult {
    request.begin();
    // SAFETY: the request is live: nothing that the module can call ends it (rule 3).
    unsafe {
        match M::on_request(request, location) {
            Step::Continue => request.apply_pending(r),
            Step::Pause(deadline) => request.pause(r, deadline),
            Step::Fail(status) => {
                request.set_state(State::Responded);
                PhaseResult::Fail(status as ngx_int_t)
            }
        }
    }
}

unsafe extern "C" fn header_filter<M: Registered>(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: nginx calls this with a live request, and the next filter may be called with it. The table is the module's
    // own, and nginx identifies the module by it.
    unsafe {
        let location = &*(*(*r).loc_conf.add(M::table().ctx_index())).cast::<M::Location>();
        if M::hides_server(location) && (*r).headers_out.server.is_null() {
            (*r).headers_out.server = REMOVED.0.get();
        }
        if r == (*r).main
            && let Some(request) = Request::<M::Request>::current(r, M::table())
            && request.state() == State::Continued
            && let Step::Fail(status) = M::on_response(&request)
        {
            request.set_state(State::Responded);
            return ngx_http_filter_finalize_request(r, M::table().as_ptr(), status as ngx_int_t);
        }
        NEXT_HEADER_FILTER.0.get().map_or(OK, |next| next(r))
    }
}

unsafe extern "C" fn log<M: Registered>(r: *mut ngx_http_request_t) -> ngx_int_t {
    let table = M::table();
    // SAFETY: nginx calls this with a live request, and the table is the module's own.
    let request = unsafe { Request::current(r, table).or_else(|| Request::find(r, table)) };
    if let Some(request) = request {
        log_once::<M>(&request);
    }
    OK
}

/// Calls `on_log` unless it was called already.
fn log_once<M: Registered>(request: &Request<M::Request>) {
    if request.take_log() {
        M::on_log(request);
    }
}

/// Calls `on_log` and `on_end` unless they were called already.
fn end<M: Registered>(request: &Request<M::Request>) {
    log_once::<M>(request);
    if request.take_end() {
        M::on_end(request);
    }
}

/// The cleanup of a request's pool: the request has ended.
///
/// # Safety
///
/// By nginx, once, with the pointer that `Request::create` gave it.
pub(crate) unsafe extern "C" fn end_of_request<M: Registered>(data: *mut c_void) {
    // SAFETY: by contract; the handle was created for this module, whose per-request state this type is.
    let request = unsafe { Request::<M::Request>::from_cleanup(data) };
    // Before the callbacks, so that they cannot access a request whose memory is being freed.
    request.detach();
    end::<M>(&request);
}
