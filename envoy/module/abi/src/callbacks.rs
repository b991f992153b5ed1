//! Functions of Envoy's, as it exports them.

use std::ffi::{c_uint, c_void};

use crate::buffer::{EnvoyBuffer, EnvoyHeader, ModuleBuffer, ModuleHeader};
use crate::timing::Timing;

/// An object of Envoy's.
pub(crate) type EnvoyPtr = *mut c_void;

macro_rules! callbacks {
    ($($short:ident = $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)?;)*) => {
        unsafe extern "C" {
            $(pub(crate) fn $name($($arg: $type),*) $(-> $out)?;)*
        }
        $(pub(crate) use $name as $short;)*
    };
}

callbacks! {
    write_log = envoy_dynamic_module_callback_log(level: c_uint, message: ModuleBuffer);
    get_header = envoy_dynamic_module_callback_http_get_header(
        filter: EnvoyPtr,
        map: c_uint,
        name: ModuleBuffer,
        value: *mut EnvoyBuffer,
        index: usize,
        count: *mut usize,
    ) -> bool;
    get_headers_size = envoy_dynamic_module_callback_http_get_headers_size(
        filter: EnvoyPtr,
        map: c_uint,
    ) -> usize;
    get_headers = envoy_dynamic_module_callback_http_get_headers(
        filter: EnvoyPtr,
        map: c_uint,
        headers: *mut EnvoyHeader,
    ) -> bool;
    set_header = envoy_dynamic_module_callback_http_set_header(
        filter: EnvoyPtr,
        map: c_uint,
        name: ModuleBuffer,
        value: ModuleBuffer,
    ) -> bool;
    add_header = envoy_dynamic_module_callback_http_add_header(
        filter: EnvoyPtr,
        map: c_uint,
        name: ModuleBuffer,
        value: ModuleBuffer,
    ) -> bool;
    send_response = envoy_dynamic_module_callback_http_send_response(
        filter: EnvoyPtr,
        status: u32,
        headers: *const ModuleHeader,
        count: usize,
        body: ModuleBuffer,
        details: ModuleBuffer,
    );
    drain_body = envoy_dynamic_module_callback_http_drain_body(
        filter: EnvoyPtr,
        body: c_uint,
        count: usize,
    ) -> bool;
    clear_route_cache = envoy_dynamic_module_callback_http_clear_route_cache(filter: EnvoyPtr);
    continue_decoding = envoy_dynamic_module_callback_http_filter_continue_decoding(filter: EnvoyPtr);
    get_text = envoy_dynamic_module_callback_http_filter_get_attribute_string(
        filter: EnvoyPtr,
        attribute: c_uint,
        value: *mut EnvoyBuffer,
    ) -> bool;
    get_number = envoy_dynamic_module_callback_http_filter_get_attribute_int(
        filter: EnvoyPtr,
        attribute: c_uint,
        value: *mut u64,
    ) -> bool;
    get_timing = envoy_dynamic_module_callback_http_get_timing_info(
        filter: EnvoyPtr,
        timing: *mut Timing,
    );
    set_filter_state = envoy_dynamic_module_callback_http_set_filter_state_bytes(
        filter: EnvoyPtr,
        key: ModuleBuffer,
        value: ModuleBuffer,
    ) -> bool;
    get_filter_state = envoy_dynamic_module_callback_http_get_filter_state_bytes(
        filter: EnvoyPtr,
        key: ModuleBuffer,
        value: *mut EnvoyBuffer,
    ) -> bool;
    new_scheduler = envoy_dynamic_module_callback_http_filter_scheduler_new(filter: EnvoyPtr) -> EnvoyPtr;
    commit = envoy_dynamic_module_callback_http_filter_scheduler_commit(scheduler: EnvoyPtr, event: u64);
    delete_scheduler = envoy_dynamic_module_callback_http_filter_scheduler_delete(scheduler: EnvoyPtr);
    define_counter = envoy_dynamic_module_callback_http_filter_config_define_counter(
        config: EnvoyPtr,
        name: ModuleBuffer,
        labels: *const ModuleBuffer,
        label_count: usize,
        counter: *mut usize,
    ) -> c_uint;
    call = envoy_dynamic_module_callback_bootstrap_extension_http_callout(
        extension: EnvoyPtr,
        callout: *mut u64,
        cluster: ModuleBuffer,
        headers: *const ModuleHeader,
        count: usize,
        body: ModuleBuffer,
        timeout_millis: u64,
    ) -> c_uint;
    new_timer = envoy_dynamic_module_callback_bootstrap_extension_timer_new(extension: EnvoyPtr) -> EnvoyPtr;
    start_timer = envoy_dynamic_module_callback_bootstrap_extension_timer_enable(timer: EnvoyPtr, millis: u64);
    delete_timer = envoy_dynamic_module_callback_bootstrap_extension_timer_delete(timer: EnvoyPtr);
    signal_init_complete = envoy_dynamic_module_callback_bootstrap_extension_config_signal_init_complete(extension: EnvoyPtr);
    increment_counter = envoy_dynamic_module_callback_http_filter_increment_counter(
        filter: EnvoyPtr,
        counter: usize,
        labels: *const ModuleBuffer,
        label_count: usize,
        by: u64,
    ) -> c_uint;
}
