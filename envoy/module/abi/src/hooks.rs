//! The functions that Envoy calls. [`program!`](crate::program) gives them the names of the ABI.

use std::ffi::{c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;

use crate::buffer::{EnvoyBuffer, EnvoyHeader};
use crate::{Config, Filter, FilterConfig, Headers, Program, Response, Stream};

/// An object of ours, or of Envoy's.
pub type Ptr = *mut c_void;
/// An object of ours, as Envoy keeps it.
pub type ConstPtr = *const c_void;
/// Bytes of Envoy's.
pub type Buffer = EnvoyBuffer;
/// A header of Envoy's.
pub type Header = EnvoyHeader;

type FilterOf<P> = <<P as Program>::Config as FilterConfig>::Filter;

/// The version of the ABI that this was written for.
pub const ABI_VERSION: &std::ffi::CStr = c"v0.2.0";

const CONTINUE: c_uint = 0;
const STOP_ITERATION: c_uint = 1;
const STOP_ALL_AND_WATERMARK: c_uint = 3;
const SUCCESS: c_uint = 0;

fn guarded<P: Program, R>(hook: &'static str, otherwise: R, work: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        // A second panic, in what hears of the first, has nobody to tell.
        let _ = catch_unwind(|| P::on_panic(hook));
        otherwise
    })
}

/// # Safety
///
/// Called by Envoy: `envoy_dynamic_module_on_http_filter_config_new`.
pub unsafe fn config_new<P: Program>(config: Ptr, name: Buffer, document: Buffer) -> ConstPtr {
    guarded::<P, _>("config_new", null(), || {
        // SAFETY: both are there during the hook, and so is the configuration.
        let (name, document, handle) =
            unsafe { (name.bytes(), document.bytes(), Config::new(config)) };
        let name = String::from_utf8_lossy(name);
        P::configure(&handle, &name, document).map_or(null(), |made| {
            Box::into_raw(Box::new(made)).cast_const().cast()
        })
    })
}

/// # Safety
///
/// Called by Envoy, once, with what [`config_new`] gave: `envoy_dynamic_module_on_http_filter_config_destroy`.
pub unsafe fn config_destroy<P: Program>(config: ConstPtr) {
    // SAFETY: see above.
    guarded::<P, _>("config_destroy", (), || {
        drop(unsafe { Box::from_raw(config.cast_mut().cast::<P::Config>()) });
    });
}

/// # Safety
///
/// Called by Envoy with what [`config_new`] gave: `envoy_dynamic_module_on_http_filter_config_scheduled`.
pub unsafe fn config_event<P: Program>(handle: Ptr, config: ConstPtr, event: u64) {
    guarded::<P, _>("config_event", (), || {
        // SAFETY: both are there during the hook.
        let (config, handle) = unsafe { (&*config.cast::<P::Config>(), Config::new(handle)) };
        config.on_event(&handle, event);
    });
}

/// # Safety
///
/// Called by Envoy with what [`config_new`] gave: `envoy_dynamic_module_on_http_filter_config_http_callout_done`.
pub unsafe fn config_response<P: Program>(
    handle: Ptr,
    config: ConstPtr,
    result: c_uint,
    headers: (*const Header, usize),
    body: (*const Buffer, usize),
) {
    guarded::<P, _>("config_response", (), || {
        // SAFETY: all of it is there during the hook.
        let (config, handle, headers, body) = unsafe {
            (
                &*config.cast::<P::Config>(),
                Config::new(handle),
                slice(headers),
                slice(body),
            )
        };
        let response = (result == SUCCESS).then(|| Response::new(headers, body));
        config.on_response(&handle, response.as_ref());
    });
}

/// # Safety
///
/// The array is there as long as the result is used.
unsafe fn slice<'a, T>((first, len): (*const T, usize)) -> &'a [T] {
    if first.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: see above.
    unsafe { std::slice::from_raw_parts(first, len) }
}

/// # Safety
///
/// Called by Envoy with what [`config_new`] gave: `envoy_dynamic_module_on_http_filter_new`.
pub unsafe fn filter_new<P: Program>(config: ConstPtr) -> ConstPtr {
    guarded::<P, _>("filter_new", null(), || {
        // SAFETY: it is there during the hook.
        let config = unsafe { &*config.cast::<P::Config>() };
        Box::into_raw(Box::new(config.filter())).cast_const().cast()
    })
}

/// # Safety
///
/// Called by Envoy, once, with what [`filter_new`] gave: `envoy_dynamic_module_on_http_filter_destroy`.
pub unsafe fn filter_destroy<P: Program>(filter: ConstPtr) {
    guarded::<P, _>("filter_destroy", (), || {
        if !filter.is_null() {
            // SAFETY: see above.
            drop(unsafe { Box::from_raw(filter.cast_mut().cast::<FilterOf<P>>()) });
        }
    });
}

/// # Safety
///
/// Called by Envoy with what [`filter_new`] gave, in the thread of the stream.
unsafe fn with<P: Program, R>(
    hook: &'static str,
    (stream, filter): (Ptr, ConstPtr),
    otherwise: R,
    work: impl FnOnce(&FilterOf<P>, &Stream<'_>) -> R,
) -> R {
    guarded::<P, _>(hook, otherwise, || {
        // SAFETY: see above; both are there during the hook.
        let (filter, stream) = unsafe { (&*filter.cast::<FilterOf<P>>(), Stream::new(stream)) };
        work(filter, &stream)
    })
}

/// # Safety
///
/// Called by Envoy with what [`filter_new`] gave: `envoy_dynamic_module_on_http_filter_request_headers`.
pub unsafe fn request_headers<P: Program>(stream: Ptr, filter: ConstPtr) -> c_uint {
    // SAFETY: see above.
    let way = unsafe {
        with::<P, _>(
            "request_headers",
            (stream, filter),
            Headers::Continue,
            Filter::on_request_headers,
        )
    };
    match way {
        Headers::Continue => CONTINUE,
        Headers::Responded => STOP_ITERATION,
        Headers::Wait => STOP_ALL_AND_WATERMARK,
    }
}

/// # Safety
///
/// Called by Envoy with what [`filter_new`] gave: `envoy_dynamic_module_on_http_filter_response_headers`.
pub unsafe fn response_headers<P: Program>(stream: Ptr, filter: ConstPtr) -> c_uint {
    // SAFETY: see above.
    unsafe {
        with::<P, _>(
            "response_headers",
            (stream, filter),
            (),
            Filter::on_response_headers,
        );
    }
    CONTINUE
}

/// # Safety
///
/// Called by Envoy with what [`filter_new`] gave: `envoy_dynamic_module_on_http_filter_scheduled`.
pub unsafe fn filter_event<P: Program>(stream: Ptr, filter: ConstPtr, event: u64) {
    // SAFETY: see above.
    unsafe {
        with::<P, _>("filter_event", (stream, filter), (), |filter, stream| {
            filter.on_event(stream, event);
        });
    }
}

/// # Safety
///
/// Called by Envoy with what [`filter_new`] gave: `envoy_dynamic_module_on_http_filter_stream_complete`.
pub unsafe fn stream_complete<P: Program>(stream: Ptr, filter: ConstPtr) {
    // SAFETY: see above.
    unsafe {
        with::<P, _>("stream_complete", (stream, filter), (), Filter::on_complete);
    }
}

/// Makes a type the program of this library: exports what Envoy looks for in a module with an HTTP filter.
#[macro_export]
macro_rules! program {
    ($program:ty) => {
        #[allow(unsafe_code, reason = "the names of exports are Envoy's ABI")]
        mod exports {
            use std::ffi::{c_char, c_uint, c_void};

            use $crate::hooks::{self, Buffer, ConstPtr, Header, Ptr};

            use super::*;

            #[unsafe(no_mangle)]
            extern "C" fn envoy_dynamic_module_on_program_init() -> *const c_char {
                hooks::ABI_VERSION.as_ptr()
            }

            $crate::program! { @exports
                config_new: unsafe { hooks::config_new::<$program>(config, name, document) },
                envoy_dynamic_module_on_http_filter_config_new(config: Ptr, name: Buffer, document: Buffer) -> ConstPtr;
                config_destroy: unsafe { hooks::config_destroy::<$program>(config) },
                envoy_dynamic_module_on_http_filter_config_destroy(config: ConstPtr) -> ();
                config_event: unsafe { hooks::config_event::<$program>(handle, config, event) },
                envoy_dynamic_module_on_http_filter_config_scheduled(handle: Ptr, config: ConstPtr, event: u64) -> ();
                config_response: unsafe {
                    hooks::config_response::<$program>(handle, config, result, (headers, header_count), (body, chunk_count))
                },
                envoy_dynamic_module_on_http_filter_config_http_callout_done(
                    handle: Ptr, config: ConstPtr, _callout: u64, result: c_uint,
                    headers: *const Header, header_count: usize, body: *const Buffer, chunk_count: usize
                ) -> ();
                filter_new: unsafe { hooks::filter_new::<$program>(config) },
                envoy_dynamic_module_on_http_filter_new(config: ConstPtr, _stream: Ptr) -> ConstPtr;
                filter_destroy: unsafe { hooks::filter_destroy::<$program>(filter) },
                envoy_dynamic_module_on_http_filter_destroy(filter: ConstPtr) -> ();
                request_headers: unsafe { hooks::request_headers::<$program>(stream, filter) },
                envoy_dynamic_module_on_http_filter_request_headers(stream: Ptr, filter: ConstPtr, _end: bool) -> c_uint;
                response_headers: unsafe { hooks::response_headers::<$program>(stream, filter) },
                envoy_dynamic_module_on_http_filter_response_headers(stream: Ptr, filter: ConstPtr, _end: bool) -> c_uint;
                filter_event: unsafe { hooks::filter_event::<$program>(stream, filter, event) },
                envoy_dynamic_module_on_http_filter_scheduled(stream: Ptr, filter: ConstPtr, event: u64) -> ();
                stream_complete: unsafe { hooks::stream_complete::<$program>(stream, filter) },
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
