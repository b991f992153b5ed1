//! Variables whose values the module computes.

use std::ptr::NonNull;

use nginx_sys::{NGX_ERROR, NGX_OK, ngx_http_request_t, ngx_http_variable_value_t, ngx_int_t};

use crate::live_request::LiveRequest;
use crate::module::Computed;
use crate::pool;

/// # Safety
///
/// By nginx, with the address of a constant [`Computed`].
pub(super) unsafe extern "C" fn value(
    r: *mut ngx_http_request_t,
    value: *mut ngx_http_variable_value_t,
    data: usize,
) -> ngx_int_t {
    // SAFETY: nginx passes a live request and the value to be filled; the rest is by contract.
    unsafe {
        let computed = &*std::ptr::with_exposed_provenance::<Computed>(data);
        let bytes = NonNull::new(r).and_then(|r| (computed.value)(&mut LiveRequest::new(r)));
        let Some(bytes) = bytes else {
            (*value).set_not_found(1);
            return NGX_OK as ngx_int_t;
        };
        let (Ok(copy), Ok(length)) = (pool::copy((*r).pool, &bytes), u32::try_from(bytes.len()))
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
}
