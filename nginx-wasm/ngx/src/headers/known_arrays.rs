//! Known request headers before nginx 1.23: one pointer each, except two that are arrays of pointers.

use nginx_sys::{
    ngx_array_create, ngx_array_push, ngx_array_t, ngx_http_request_t, ngx_table_elt_t,
};

use crate::pool::OutOfMemory;

pub(crate) enum Field {
    One(*mut *mut ngx_table_elt_t),
    Many(*mut ngx_array_t),
}

impl Field {
    pub(crate) fn at(address: *mut std::ffi::c_void, name: &[u8]) -> Self {
        match name {
            b"cookie" | b"x-forwarded-for" => Self::Many(address.cast()),
            _ => Self::One(address.cast()),
        }
    }
}

/// # Safety
///
/// The request is live and the field belongs to it.
pub(crate) unsafe fn add(
    r: *mut ngx_http_request_t,
    field: Field,
    element: *mut ngx_table_elt_t,
) -> Result<(), OutOfMemory> {
    // SAFETY: by contract. An array that was never used is zeroed; nginx makes it in the same way.
    unsafe {
        match field {
            Field::One(field) if (*field).is_null() => *field = element,
            // nginx reads the first one.
            Field::One(_) => {}
            Field::Many(array) => {
                if (*array).nalloc == 0 {
                    let size = size_of::<*mut ngx_table_elt_t>();
                    let made = ngx_array_create((*r).pool, 1, size)
                        .as_ref()
                        .ok_or(OutOfMemory)?;
                    array.write(*made);
                }
                let slot: *mut *mut ngx_table_elt_t = ngx_array_push(array).cast();
                if slot.is_null() {
                    return Err(OutOfMemory);
                }
                *slot = element;
            }
        }
    }
    Ok(())
}

/// # Safety
///
/// As of `add`.
pub(crate) unsafe fn remove(field: Field, element: *mut ngx_table_elt_t) {
    // SAFETY: by contract; an array has `nelts` elements.
    unsafe {
        match field {
            Field::One(field) if *field == element => *field = std::ptr::null_mut(),
            Field::One(_) => {}
            Field::Many(array) => {
                let elements = (*array).as_slice_mut::<*mut ngx_table_elt_t>();
                let mut kept = 0;
                for n in 0..elements.len() {
                    if elements[n] != element {
                        elements[kept] = elements[n];
                        kept += 1;
                    }
                }
                (*array).nelts = kept;
            }
        }
    }
}
