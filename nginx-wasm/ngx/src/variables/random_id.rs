//! Variables with random digits.

use nginx_sys::{NGX_ERROR, NGX_OK, ngx_http_request_t, ngx_http_variable_value_t, ngx_int_t};

use crate::module::Module;
use crate::pool;

pub(super) unsafe extern "C" fn value<M: Module>(
    r: *mut ngx_http_request_t,
    value: *mut ngx_http_variable_value_t,
    _data: usize,
) -> ngx_int_t {
    let Some(bytes) = M::random_id() else {
        return NGX_ERROR as ngx_int_t;
    };
    let digits = hexadecimal(bytes);
    // SAFETY: nginx passes a live request and the value to be filled.
    unsafe {
        match pool::copy((*r).pool, &digits) {
            Ok(copy) => (*value).data = copy.data,
            Err(pool::OutOfMemory) => return NGX_ERROR as ngx_int_t,
        }
        (*value).set_len(digits.len() as u32);
        (*value).set_valid(1);
        (*value).set_not_found(0);
        (*value).set_no_cacheable(0);
    }
    NGX_OK as ngx_int_t
}

fn hexadecimal(bytes: [u8; 16]) -> [u8; 32] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut digits = [0; 32];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        let [high, low] = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
        pair.copy_from_slice(&[high, low]);
    }
    digits
}
