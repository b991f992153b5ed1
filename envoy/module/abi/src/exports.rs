//! The exports of a module, by the names of the ABI.

/// Makes a type the module of this library: exports what Envoy looks for in a module with an HTTP filter and an extension of the bootstrap.
#[macro_export]
macro_rules! module {
    ($module:ty) => {
        #[allow(unsafe_code, reason = "the names of exports are Envoy's ABI")]
        mod exports {
            use std::ffi::{c_char, c_uint, c_void};

            use $crate::extension_hooks::{self, Completion};
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
                filter_new: unsafe { hooks::filter_new::<$module>(config) },
                envoy_dynamic_module_on_http_filter_new(config: ConstPtr, _stream: Ptr) -> ConstPtr;
                filter_destroy: unsafe { hooks::filter_destroy::<$module>(filter) },
                envoy_dynamic_module_on_http_filter_destroy(filter: ConstPtr) -> ();
                request_headers: unsafe { hooks::request_headers::<$module>(stream, filter, end) },
                envoy_dynamic_module_on_http_filter_request_headers(stream: Ptr, filter: ConstPtr, end: bool) -> c_uint;
                request_body: unsafe { hooks::request_body::<$module>(stream, filter) },
                envoy_dynamic_module_on_http_filter_request_body(stream: Ptr, filter: ConstPtr, _end: bool) -> c_uint;
                response_headers: unsafe { hooks::response_headers::<$module>(stream, filter) },
                envoy_dynamic_module_on_http_filter_response_headers(stream: Ptr, filter: ConstPtr, _end: bool) -> c_uint;
                filter_event: unsafe { hooks::filter_event::<$module>(stream, filter, event) },
                envoy_dynamic_module_on_http_filter_scheduled(stream: Ptr, filter: ConstPtr, event: u64) -> ();
                stream_complete: unsafe { hooks::stream_complete::<$module>(stream, filter) },
                envoy_dynamic_module_on_http_filter_stream_complete(stream: Ptr, filter: ConstPtr) -> ();
                // Bodies of responses, trailers and watermarks pass, and no stream makes calls or has a configuration of its own;
                // Envoy looks for these all the same. Zero is `Continue`.
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

            $crate::module! { @exports
                extension_new: unsafe { extension_hooks::config_new::<$module>(extension, name, document) },
                envoy_dynamic_module_on_bootstrap_extension_config_new(extension: Ptr, name: Buffer, document: Buffer) -> ConstPtr;
                extension_destroy: unsafe { extension_hooks::config_destroy::<$module>(made) },
                envoy_dynamic_module_on_bootstrap_extension_config_destroy(made: ConstPtr) -> ();
                timer_fired: unsafe { extension_hooks::timer_fired::<$module>(extension, made) },
                envoy_dynamic_module_on_bootstrap_extension_timer_fired(extension: Ptr, made: ConstPtr, _timer: Ptr) -> ();
                response: unsafe {
                    extension_hooks::response::<$module>(extension, made, result, (headers, header_count), (body, chunk_count))
                },
                envoy_dynamic_module_on_bootstrap_extension_http_callout_done(
                    extension: Ptr, made: ConstPtr, _callout: u64, result: c_uint,
                    headers: *const Header, header_count: usize, body: *const Buffer, chunk_count: usize
                ) -> ();
                // Nothing has to be done before the end.
                shutdown: completion(context),
                envoy_dynamic_module_on_bootstrap_extension_shutdown(
                    _extension: Ptr, _instance: ConstPtr, completion: Completion, context: Ptr
                ) -> ();
                // Its configuration is all that there is of it; Envoy takes a null pointer for a failure.
                instance_new: std::ptr::dangling(),
                envoy_dynamic_module_on_bootstrap_extension_new(_made: ConstPtr, _extension: Ptr) -> ConstPtr;
                instance_destroy: (),
                envoy_dynamic_module_on_bootstrap_extension_destroy(_instance: ConstPtr) -> ();
                server_initialized: (),
                envoy_dynamic_module_on_bootstrap_extension_server_initialized(_extension: Ptr, _instance: ConstPtr) -> ();
                worker_initialized: (),
                envoy_dynamic_module_on_bootstrap_extension_worker_thread_initialized(_extension: Ptr, _instance: ConstPtr) -> ();
                drain_started: (),
                envoy_dynamic_module_on_bootstrap_extension_drain_started(_extension: Ptr, _instance: ConstPtr) -> ();
                extension_event: (),
                envoy_dynamic_module_on_bootstrap_extension_config_scheduled(_extension: Ptr, _made: ConstPtr, _event: u64) -> ();
                file_changed: (),
                envoy_dynamic_module_on_bootstrap_extension_file_changed(
                    _extension: Ptr, _made: ConstPtr, _path: Buffer, _events: u32
                ) -> ();
                // No handler of the admin interface is registered.
                admin_request: 404,
                envoy_dynamic_module_on_bootstrap_extension_admin_request(
                    _extension: Ptr, _made: ConstPtr, _method: Buffer, _path: Buffer, _body: Buffer
                ) -> u32;
                cluster_changed: (),
                envoy_dynamic_module_on_bootstrap_extension_cluster_add_or_update(
                    _extension: Ptr, _made: ConstPtr, _name: Buffer
                ) -> ();
                cluster_removed: (),
                envoy_dynamic_module_on_bootstrap_extension_cluster_removal(
                    _extension: Ptr, _made: ConstPtr, _name: Buffer
                ) -> ();
                listener_changed: (),
                envoy_dynamic_module_on_bootstrap_extension_listener_add_or_update(
                    _extension: Ptr, _made: ConstPtr, _name: Buffer
                ) -> ();
                listener_removed: (),
                envoy_dynamic_module_on_bootstrap_extension_listener_removal(
                    _extension: Ptr, _made: ConstPtr, _name: Buffer
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
