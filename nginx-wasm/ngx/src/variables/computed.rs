//! Variables whose values the module computes.

use std::cell::RefCell;
use std::ptr::NonNull;

use nginx_sys::{NGX_ERROR, NGX_OK, ngx_http_request_t, ngx_http_variable_value_t, ngx_int_t};

use crate::live_request::LiveRequest;
use crate::module::Computed;
use crate::pool;

/// A larger buffer is given back.
const LARGEST_KEPT: usize = 16 << 10;

thread_local! {
    /// A value may be read while another is written.
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Calls with an empty buffer, which is kept for the next value.
fn with_buffer<R>(write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    let mut buffer = BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_default();
    let result = write(&mut buffer);
    if buffer.capacity() <= LARGEST_KEPT {
        buffer.clear();
        BUFFERS.with_borrow_mut(|buffers| buffers.push(buffer));
    }
    result
}

/// # Safety
///
/// By nginx, with the address of a constant [`Computed`].
pub(super) unsafe extern "C" fn value(
    r: *mut ngx_http_request_t,
    value: *mut ngx_http_variable_value_t,
    data: usize,
) -> ngx_int_t {
    // SAFETY: by contract.
    let computed = unsafe { &*std::ptr::with_exposed_provenance::<Computed>(data) };
    with_buffer(|buffer| {
        // SAFETY: nginx passes a live request and the value to be filled.
        unsafe {
            let has_value =
                NonNull::new(r).is_some_and(|r| (computed.write)(&mut LiveRequest::new(r), buffer));
            if !has_value {
                (*value).set_not_found(1);
                return NGX_OK as ngx_int_t;
            }
            let (Ok(copy), Ok(length)) =
                (pool::copy((*r).pool, buffer), u32::try_from(buffer.len()))
            else {
                return NGX_ERROR as ngx_int_t;
            };
            (*value).data = copy.data;
            (*value).set_len(length);
            (*value).set_valid(1);
            (*value).set_not_found(0);
            (*value).set_no_cacheable(0);
        }
        NGX_OK as ngx_int_t
    })
}
