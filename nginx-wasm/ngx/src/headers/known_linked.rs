//! Known request headers since nginx 1.23: those of one name are linked.

use nginx_sys::{ngx_http_request_t, ngx_table_elt_t};

use crate::pool::OutOfMemory;

pub(crate) struct Field(*mut *mut ngx_table_elt_t);

impl Field {
    pub(crate) fn at(address: *mut std::ffi::c_void, _name: &[u8]) -> Self {
        Self(address.cast())
    }
}

/// # Safety
///
/// The field and the elements that it leads to are live.
pub(crate) unsafe fn add(
    _r: *mut ngx_http_request_t,
    field: Field,
    element: *mut ngx_table_elt_t,
) -> Result<(), OutOfMemory> {
    let mut end = field.0;
    // SAFETY: by contract; the links end with null.
    unsafe {
        while !(*end).is_null() {
            end = &raw mut (**end).next;
        }
        *end = element;
    }
    Ok(())
}

/// # Safety
///
/// As of `add`.
pub(crate) unsafe fn remove(field: Field, element: *mut ngx_table_elt_t) {
    let mut link = field.0;
    // SAFETY: by contract.
    unsafe {
        while !(*link).is_null() {
            if *link == element {
                *link = (*element).next;
                return;
            }
            link = &raw mut (**link).next;
        }
    }
}
