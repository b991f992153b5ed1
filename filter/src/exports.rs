//! Exports for hosts, in the place of the SDK's dispatcher.
//!
//! The SDK creates an object for each request, looks it up for each callback, and deletes it; each of those is a call into the
//! VM, which costs Envoy close to a microsecond, more than a pick. Here a context is a number. Nothing has to happen when it
//! begins or ends, so a host that skips those callbacks (in Envoy, by the list of capabilities) makes three calls per request:
//! request headers, response headers, log.
#![allow(unsafe_code, reason = "the names of exports are the proxy-wasm ABI")]

use proxy_wasm::types::Action;

use crate::{request, root};

#[unsafe(no_mangle)]
extern "C" fn proxy_on_vm_start(_root: u32, _configuration_size: usize) -> bool {
    root::on_vm_start();
    true
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_configure(_root: u32, configuration_size: usize) -> bool {
    root::on_configure(configuration_size)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_tick(root: u32) {
    root::on_tick(root);
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_http_call_response(
    root: u32,
    token: u32,
    headers: usize,
    body_size: usize,
    _trailers: usize,
) {
    root::on_http_call_response(root, token, headers, body_size);
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_request_headers(
    context: u32,
    _headers: usize,
    end_of_stream: bool,
) -> Action {
    request::on_request_headers(context, !end_of_stream)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_request_body(_context: u32, size: usize, _end_of_stream: bool) -> Action {
    request::on_request_body(size);
    Action::Continue
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_response_headers(
    context: u32,
    _headers: usize,
    _end_of_stream: bool,
) -> Action {
    request::on_response_headers(context);
    Action::Continue
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_log(context: u32) {
    request::on_log(context);
}

/// Tells of requests that were never logged, where a host has such.
#[unsafe(no_mangle)]
extern "C" fn proxy_on_delete(context: u32) {
    request::on_delete(context);
}

// Hosts call whatever is exported, and the SDK exports everything. It knows none of our contexts, and would trap.

#[unsafe(no_mangle)]
extern "C" fn proxy_on_context_create(_context: u32, _root: u32) {}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_done(_context: u32) -> bool {
    true
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_request_trailers(_context: u32, _trailers: usize) -> Action {
    Action::Continue
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_response_body(_context: u32, _size: usize, _end_of_stream: bool) -> Action {
    Action::Continue
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_response_trailers(_context: u32, _trailers: usize) -> Action {
    Action::Continue
}
