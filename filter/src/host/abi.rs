//! The functions of the proxy-wasm ABI that are called directly.

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    pub(super) fn proxy_get_property(
        path: *const u8,
        path_len: usize,
        value: *mut *mut u8,
        value_len: *mut usize,
    ) -> u32;
    pub(super) fn proxy_set_property(
        path: *const u8,
        path_len: usize,
        value: *const u8,
        value_len: usize,
    ) -> u32;
    pub(super) fn proxy_replace_header_map_value(
        map: u32,
        key: *const u8,
        key_len: usize,
        value: *const u8,
        value_len: usize,
    ) -> u32;
    pub(super) fn proxy_remove_header_map_value(map: u32, key: *const u8, key_len: usize) -> u32;
    pub(super) fn proxy_get_header_map_pairs(
        map: u32,
        value: *mut *mut u8,
        value_len: *mut usize,
    ) -> u32;
    pub(super) fn proxy_add_header_map_value(
        map: u32,
        key: *const u8,
        key_len: usize,
        value: *const u8,
        value_len: usize,
    ) -> u32;
    pub(super) fn proxy_send_local_response(
        status: u32,
        details: *const u8,
        details_len: usize,
        body: *const u8,
        body_len: usize,
        headers: *const u8,
        headers_len: usize,
        grpc_status: i32,
    ) -> u32;
    pub(super) fn proxy_http_call(
        upstream: *const u8,
        upstream_len: usize,
        headers: *const u8,
        headers_len: usize,
        body: *const u8,
        body_len: usize,
        trailers: *const u8,
        trailers_len: usize,
        timeout_millis: u32,
        token: *mut u32,
    ) -> u32;
    pub(super) fn proxy_get_current_time_nanoseconds(time: *mut u64) -> u32;
    pub(super) fn proxy_set_tick_period_milliseconds(period: u32) -> u32;
    pub(super) fn proxy_set_effective_context(context: u32) -> u32;
    pub(super) fn proxy_continue_stream(stream: u32) -> u32;
    pub(super) fn proxy_get_buffer_bytes(
        buffer: u32,
        start: usize,
        max_len: usize,
        value: *mut *mut u8,
        value_len: *mut usize,
    ) -> u32;
    pub(super) fn proxy_set_buffer_bytes(
        buffer: u32,
        start: usize,
        len: usize,
        value: *const u8,
        value_len: usize,
    ) -> u32;
    pub(super) fn proxy_get_shared_data(
        key: *const u8,
        key_len: usize,
        value: *mut *mut u8,
        value_len: *mut usize,
        cas: *mut u32,
    ) -> u32;
    pub(super) fn proxy_set_shared_data(
        key: *const u8,
        key_len: usize,
        value: *const u8,
        value_len: usize,
        cas: u32,
    ) -> u32;
    pub(super) fn proxy_log(level: u32, message: *const u8, message_len: usize) -> u32;
    pub(super) fn proxy_define_metric(
        kind: u32,
        name: *const u8,
        name_len: usize,
        id: *mut u32,
    ) -> u32;
    pub(super) fn proxy_increment_metric(id: u32, offset: i64) -> u32;
    pub(super) fn proxy_get_header_map_value(
        map: u32,
        key: *const u8,
        key_len: usize,
        value: *mut *mut u8,
        value_len: *mut usize,
    ) -> u32;
}
