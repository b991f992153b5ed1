//! The functions that Envoy calls for an extension of its bootstrap, all in the main thread. [`module!`](crate::module!) gives them the names of
//! the ABI.

use std::ffi::c_uint;
use std::ptr::null;

use crate::hooks::{Buffer, ConstPtr, Header, Ptr, guarded};
use crate::{Extension, Module, Process, Response};

const SUCCESS: c_uint = 0;

/// Called when the module is ready to end.
pub type Completion = extern "C" fn(Ptr);

/// `envoy_dynamic_module_on_bootstrap_extension_config_new`
///
/// # Safety
///
/// Called by Envoy: all of it is there until this returns.
pub unsafe fn config_new<M: Module>(extension: Ptr, name: Buffer, document: Buffer) -> ConstPtr {
    guarded::<M, _>("extension_new", null(), || {
        // SAFETY: Envoy's, until the hook returns; none of it is kept.
        let (name, document) = unsafe { (name.bytes(), document.bytes()) };
        // SAFETY: as above.
        let process = unsafe { Process::new(extension) };
        let name = String::from_utf8_lossy(name);
        process.signal_init_complete();
        M::extend(&process, &name, document).map_or(null(), |made| {
            Box::into_raw(Box::new(made)).cast_const().cast()
        })
    })
}

/// `envoy_dynamic_module_on_bootstrap_extension_config_destroy`
///
/// # Safety
///
/// Called by Envoy, once, with what [`config_new`] gave.
pub unsafe fn config_destroy<M: Module>(made: ConstPtr) {
    guarded::<M, _>("extension_destroy", (), || {
        if !made.is_null() {
            // SAFETY: made by `Box::into_raw` of this type in `config_new`, and given back once.
            drop(unsafe { Box::from_raw(made.cast_mut().cast::<M::Extension>()) });
        }
    });
}

/// `envoy_dynamic_module_on_bootstrap_extension_timer_fired`
///
/// # Safety
///
/// Called by Envoy with what [`config_new`] gave.
pub unsafe fn timer_fired<M: Module>(extension: Ptr, made: ConstPtr) {
    guarded::<M, _>("timer_fired", (), || {
        // SAFETY: of this type, and alive until the main thread ends; hooks share it.
        let made = unsafe { &*made.cast::<M::Extension>() };
        // SAFETY: of this hook.
        let process = unsafe { Process::new(extension) };
        made.on_timer(&process);
    });
}

/// `envoy_dynamic_module_on_bootstrap_extension_http_callout_done`
///
/// # Safety
///
/// Called by Envoy with what [`config_new`] gave; the arrays have as many elements as it says, until this returns.
pub unsafe fn response<M: Module>(
    extension: Ptr,
    made: ConstPtr,
    result: c_uint,
    headers: (*const Header, usize),
    body: (*const Buffer, usize),
) {
    guarded::<M, _>("response", (), || {
        // SAFETY: of this type, and alive until the main thread ends; hooks share it.
        let made = unsafe { &*made.cast::<M::Extension>() };
        // SAFETY: of this hook.
        let process = unsafe { Process::new(extension) };
        // SAFETY: as the caller says; neither is kept.
        let (headers, body) = unsafe { (slice(headers), slice(body)) };
        let response = (result == SUCCESS).then(|| Response::new(headers, body));
        made.on_response(&process, response.as_ref());
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
