//! The functions that Envoy calls for an HTTP filter. [`module!`](crate::module!) gives them the names of the ABI.

use std::ffi::{c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;
use std::rc::Rc;

use crate::buffer::{EnvoyBuffer, EnvoyHeader};
use crate::{Config, Filter, FilterConfig, HeadersStatus, Module, Stream};

/// An object of ours, or of Envoy's.
pub type Ptr = *mut c_void;
/// An object of ours, as Envoy keeps it.
pub type ConstPtr = *const c_void;
/// Bytes of Envoy's.
pub type Buffer = EnvoyBuffer;
/// A header of Envoy's.
pub type Header = EnvoyHeader;

type FilterOf<M> = <<M as Module>::Config as FilterConfig>::Filter;

/// The version of the ABI that this was written for.
pub const ABI_VERSION: &std::ffi::CStr = c"v0.2.0";

const CONTINUE: c_uint = 0;
const STOP_ITERATION: c_uint = 1;
const STOP_ALL_AND_WATERMARK: c_uint = 3;

pub(crate) fn guarded<M: Module, R>(
    hook: &'static str,
    otherwise: R,
    work: impl FnOnce() -> R,
) -> R {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        // A second panic, in what hears of the first, has nobody to tell.
        let _ = catch_unwind(|| M::on_panic(hook));
        otherwise
    })
}

/// `envoy_dynamic_module_on_http_filter_config_new`
///
/// # Safety
///
/// Called by Envoy: all of it is there until this returns.
pub unsafe fn config_new<M: Module>(config: Ptr, name: Buffer, document: Buffer) -> ConstPtr {
    guarded::<M, _>("config_new", null(), || {
        // SAFETY: Envoy's, until the hook returns; none of it is kept.
        let (name, document) = unsafe { (name.bytes(), document.bytes()) };
        // SAFETY: as above.
        let handle = unsafe { Config::new(config) };
        let name = String::from_utf8_lossy(name);
        M::configure(&handle, &name, document).map_or(null(), |made| {
            Box::into_raw(Box::new(made)).cast_const().cast()
        })
    })
}

/// `envoy_dynamic_module_on_http_filter_config_destroy`
///
/// # Safety
///
/// Called by Envoy, once, with what [`config_new`] gave and no other hook uses any more: Envoy counts references.
pub unsafe fn config_destroy<M: Module>(config: ConstPtr) {
    guarded::<M, _>("config_destroy", (), || {
        // SAFETY: made by `Box::into_raw` of this type in `config_new`, and given back once.
        drop(unsafe { Box::from_raw(config.cast_mut().cast::<M::Config>()) });
    });
}

/// A configuration that [`config_new`] made. Hooks share it: it is `Sync`, and Envoy ends it when no hook uses it.
///
/// # Safety
///
/// Envoy has passed it to a hook, and the reference does not outlive that.
unsafe fn config<'a, M: Module>(config: ConstPtr) -> &'a M::Config {
    // SAFETY: of this type, and alive, as above.
    unsafe { &*config.cast::<M::Config>() }
}

/// `envoy_dynamic_module_on_http_filter_new`
///
/// # Safety
///
/// Called by Envoy with what [`config_new`] gave.
pub unsafe fn filter_new<M: Module>(made: ConstPtr) -> ConstPtr {
    guarded::<M, _>("filter_new", null(), || {
        // SAFETY: of this hook.
        let config = unsafe { config::<M>(made) };
        Rc::into_raw(Rc::new(config.filter())).cast()
    })
}

/// `envoy_dynamic_module_on_http_filter_destroy`
///
/// # Safety
///
/// Called by Envoy, once, with what [`filter_new`] gave, in the thread of the stream; perhaps within another hook of the same filter.
pub unsafe fn filter_destroy<M: Module>(filter: ConstPtr) {
    guarded::<M, _>("filter_destroy", (), || {
        if !filter.is_null() {
            // SAFETY: made by `Rc::into_raw` of this type in `filter_new`, and given back once.
            drop(unsafe { Rc::from_raw(filter.cast::<FilterOf<M>>()) });
        }
    });
}

/// Calls a hook with a reference of its own to the filter, which Envoy may destroy meanwhile.
///
/// # Safety
///
/// Called by Envoy with what [`filter_new`] gave and is not destroyed, in the thread of the stream.
unsafe fn with<M: Module, R>(
    hook: &'static str,
    (stream, filter): (Ptr, ConstPtr),
    otherwise: R,
    work: impl FnOnce(&FilterOf<M>, &Stream<'_>) -> R,
) -> R {
    // There is none where its making has panicked.
    if filter.is_null() {
        return otherwise;
    }
    guarded::<M, _>(hook, otherwise, || {
        let filter = filter.cast::<FilterOf<M>>();
        // SAFETY: made by `Rc::into_raw` of this type, and not yet given back. All references are of one thread.
        let filter = unsafe {
            Rc::increment_strong_count(filter);
            Rc::from_raw(filter)
        };
        // SAFETY: Envoy's side of a filter that was destroyed is there until its event loop goes on, and answers that it has nothing.
        let stream = unsafe { Stream::new(stream) };
        work(&filter, &stream)
    })
}

/// `envoy_dynamic_module_on_http_filter_request_headers`
///
/// # Safety
///
/// As [`with`].
pub unsafe fn request_headers<M: Module>(stream: Ptr, filter: ConstPtr, end: bool) -> c_uint {
    let (hook, objects) = ("request_headers", (stream, filter));
    let on_headers =
        |filter: &FilterOf<M>, stream: &Stream<'_>| filter.on_request_headers(stream, !end);
    // SAFETY: as this function.
    let status = unsafe { with::<M, _>(hook, objects, HeadersStatus::Continue, on_headers) };
    match status {
        HeadersStatus::Continue => CONTINUE,
        HeadersStatus::Responded => STOP_ITERATION,
        HeadersStatus::Wait => STOP_ALL_AND_WATERMARK,
    }
}

/// `envoy_dynamic_module_on_http_filter_request_body`
///
/// # Safety
///
/// As [`with`].
pub unsafe fn request_body<M: Module>(stream: Ptr, filter: ConstPtr) -> c_uint {
    let (hook, objects) = ("request_body", (stream, filter));
    // SAFETY: as this function.
    unsafe { with::<M, _>(hook, objects, (), Filter::on_request_body) };
    CONTINUE
}

/// `envoy_dynamic_module_on_http_filter_response_headers`
///
/// # Safety
///
/// As [`with`].
pub unsafe fn response_headers<M: Module>(stream: Ptr, filter: ConstPtr) -> c_uint {
    let (hook, objects) = ("response_headers", (stream, filter));
    // SAFETY: as this function.
    unsafe { with::<M, _>(hook, objects, (), Filter::on_response_headers) };
    CONTINUE
}

/// `envoy_dynamic_module_on_http_filter_scheduled`
///
/// # Safety
///
/// As [`with`].
pub unsafe fn filter_event<M: Module>(stream: Ptr, filter: ConstPtr, event: u64) {
    let (hook, objects) = ("filter_event", (stream, filter));
    let on_event = |filter: &FilterOf<M>, stream: &Stream<'_>| filter.on_event(stream, event);
    // SAFETY: as this function.
    unsafe { with::<M, _>(hook, objects, (), on_event) };
}

/// `envoy_dynamic_module_on_http_filter_stream_complete`
///
/// # Safety
///
/// As [`with`].
pub unsafe fn stream_complete<M: Module>(stream: Ptr, filter: ConstPtr) {
    let (hook, objects) = ("stream_complete", (stream, filter));
    // SAFETY: as this function.
    unsafe { with::<M, _>(hook, objects, (), Filter::on_complete) };
}
