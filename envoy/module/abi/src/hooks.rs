//! The functions that Envoy calls. [`module!`](crate::module) gives them the names of the ABI.

use std::ffi::{c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;
use std::rc::Rc;

use crate::buffer::{EnvoyBuffer, EnvoyHeader};
use crate::{Config, Filter, FilterConfig, HeadersStatus, Module, Response, Stream};

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
const SUCCESS: c_uint = 0;

fn guarded<M: Module, R>(hook: &'static str, otherwise: R, work: impl FnOnce() -> R) -> R {
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

/// `envoy_dynamic_module_on_http_filter_config_scheduled`
///
/// # Safety
///
/// Called by Envoy with what [`config_new`] gave.
pub unsafe fn config_event<M: Module>(handle: Ptr, made: ConstPtr, event: u64) {
    guarded::<M, _>("config_event", (), || {
        // SAFETY: of this hook.
        let (config, handle) = unsafe { (config::<M>(made), Config::new(handle)) };
        config.on_event(&handle, event);
    });
}

/// `envoy_dynamic_module_on_http_filter_config_http_callout_done`
///
/// # Safety
///
/// Called by Envoy with what [`config_new`] gave; the arrays have as many elements as it says, until this returns.
pub unsafe fn config_response<M: Module>(
    handle: Ptr,
    made: ConstPtr,
    result: c_uint,
    headers: (*const Header, usize),
    body: (*const Buffer, usize),
) {
    guarded::<M, _>("config_response", (), || {
        // SAFETY: of this hook.
        let (config, handle) = unsafe { (config::<M>(made), Config::new(handle)) };
        // SAFETY: as above; neither is kept.
        let (headers, body) = unsafe { (slice(headers), slice(body)) };
        let response = (result == SUCCESS).then(|| Response::new(headers, body));
        config.on_response(&handle, response.as_ref());
    });
}

/// # Safety
///
/// The array has so many elements as long as the result is used.
unsafe fn slice<'a, T>((first, len): (*const T, usize)) -> &'a [T] {
    if first.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: not null, and the caller vouches for the rest.
    unsafe { std::slice::from_raw_parts(first, len) }
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
pub unsafe fn request_headers<M: Module>(stream: Ptr, filter: ConstPtr) -> c_uint {
    let (hook, objects) = ("request_headers", (stream, filter));
    // SAFETY: as this function.
    let status = unsafe {
        with::<M, _>(
            hook,
            objects,
            HeadersStatus::Continue,
            Filter::on_request_headers,
        )
    };
    match status {
        HeadersStatus::Continue => CONTINUE,
        HeadersStatus::Responded => STOP_ITERATION,
        HeadersStatus::Wait => STOP_ALL_AND_WATERMARK,
    }
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

/// Makes a type the module of this library: exports what Envoy looks for in a module with an HTTP filter.
#[macro_export]
macro_rules! module {
    ($module:ty) => {
        #[allow(unsafe_code, reason = "the names of exports are Envoy's ABI")]
        mod exports {
            use std::ffi::{c_char, c_uint, c_void};

            use $crate::hooks::{self, Buffer, ConstPtr, Header, Ptr};

            use super::*;

            #[unsafe(no_mangle)]
            extern "C" fn envoy_dynamic_module_on_program_init() -> *const c_char {
                hooks::ABI_VERSION.as_ptr()
            }

            $crate::module! { @exports
                config_new: unsafe { hooks::config_new::<$module>(config, name, document) },
                envoy_dynamic_module_on_http_filter_config_new(config: Ptr, name: Buffer, document: Buffer) -> ConstPtr;
                config_destroy: unsafe { hooks::config_destroy::<$module>(config) },
                envoy_dynamic_module_on_http_filter_config_destroy(config: ConstPtr) -> ();
                config_event: unsafe { hooks::config_event::<$module>(handle, config, event) },
                envoy_dynamic_module_on_http_filter_config_scheduled(handle: Ptr, config: ConstPtr, event: u64) -> ();
                config_response: unsafe {
                    hooks::config_response::<$module>(handle, config, result, (headers, header_count), (body, chunk_count))
                },
                envoy_dynamic_module_on_http_filter_config_http_callout_done(
                    handle: Ptr, config: ConstPtr, _callout: u64, result: c_uint,
                    headers: *const Header, header_count: usize, body: *const Buffer, chunk_count: usize
                ) -> ();
                filter_new: unsafe { hooks::filter_new::<$module>(config) },
                envoy_dynamic_module_on_http_filter_new(config: ConstPtr, _stream: Ptr) -> ConstPtr;
                filter_destroy: unsafe { hooks::filter_destroy::<$module>(filter) },
                envoy_dynamic_module_on_http_filter_destroy(filter: ConstPtr) -> ();
                request_headers: unsafe { hooks::request_headers::<$module>(stream, filter) },
                envoy_dynamic_module_on_http_filter_request_headers(stream: Ptr, filter: ConstPtr, _end: bool) -> c_uint;
                response_headers: unsafe { hooks::response_headers::<$module>(stream, filter) },
                envoy_dynamic_module_on_http_filter_response_headers(stream: Ptr, filter: ConstPtr, _end: bool) -> c_uint;
                filter_event: unsafe { hooks::filter_event::<$module>(stream, filter, event) },
                envoy_dynamic_module_on_http_filter_scheduled(stream: Ptr, filter: ConstPtr, event: u64) -> ();
                stream_complete: unsafe { hooks::stream_complete::<$module>(stream, filter) },
                envoy_dynamic_module_on_http_filter_stream_complete(stream: Ptr, filter: ConstPtr) -> ();
                // Bodies, trailers and watermarks pass, and no stream makes calls or has a configuration of its own; Envoy
                // looks for these all the same. Zero is `Continue`.
                request_body: 0,
                envoy_dynamic_module_on_http_filter_request_body(_stream: Ptr, _filter: ConstPtr, _end: bool) -> c_uint;
                request_trailers: 0,
                envoy_dynamic_module_on_http_filter_request_trailers(_stream: Ptr, _filter: ConstPtr) -> c_uint;
                response_body: 0,
                envoy_dynamic_module_on_http_filter_response_body(_stream: Ptr, _filter: ConstPtr, _end: bool) -> c_uint;
                response_trailers: 0,
                envoy_dynamic_module_on_http_filter_response_trailers(_stream: Ptr, _filter: ConstPtr) -> c_uint;
                per_route_new: std::ptr::null(),
                envoy_dynamic_module_on_http_filter_per_route_config_new(_name: Buffer, _config: Buffer) -> ConstPtr;
                per_route_destroy: (),
                envoy_dynamic_module_on_http_filter_per_route_config_destroy(_config: ConstPtr) -> ();
                above_watermark: (),
                envoy_dynamic_module_on_http_filter_downstream_above_write_buffer_high_watermark(_stream: Ptr, _filter: ConstPtr) -> ();
                below_watermark: (),
                envoy_dynamic_module_on_http_filter_downstream_below_write_buffer_low_watermark(_stream: Ptr, _filter: ConstPtr) -> ();
                callout_done: (),
                envoy_dynamic_module_on_http_filter_http_callout_done(
                    _stream: Ptr, _filter: ConstPtr, _callout: u64, _result: c_uint,
                    _headers: *const c_void, _header_count: usize, _body: *const c_void, _chunk_count: usize
                ) -> ();
                stream_headers: (),
                envoy_dynamic_module_on_http_filter_http_stream_headers(
                    _stream: Ptr, _filter: ConstPtr, _callout: u64, _headers: *const c_void, _count: usize, _end: bool
                ) -> ();
                stream_data: (),
                envoy_dynamic_module_on_http_filter_http_stream_data(
                    _stream: Ptr, _filter: ConstPtr, _callout: u64, _data: *const c_void, _count: usize, _end: bool
                ) -> ();
                stream_trailers: (),
                envoy_dynamic_module_on_http_filter_http_stream_trailers(
                    _stream: Ptr, _filter: ConstPtr, _callout: u64, _trailers: *const c_void, _count: usize
                ) -> ();
                stream_done: (),
                envoy_dynamic_module_on_http_filter_http_stream_complete(_stream: Ptr, _filter: ConstPtr, _callout: u64) -> ();
                stream_reset: (),
                envoy_dynamic_module_on_http_filter_http_stream_reset(
                    _stream: Ptr, _filter: ConstPtr, _callout: u64, _reason: c_uint
                ) -> ();
            }
        }
    };
    (@exports $($short:ident: $body:expr, $name:ident($($arg:ident: $type:ty),* $(,)?) -> $out:ty;)*) => {
        $(
            // SAFETY: Envoy calls it as its ABI says.
            #[unsafe(no_mangle)]
            extern "C" fn $name($($arg: $type),*) -> $out {
                $body
            }
        )*
    };
}
