//! Allocation in nginx's pools.

use std::ffi::c_void;
use std::ptr;

use nginx_sys::{ngx_pnalloc, ngx_pool_cleanup_add, ngx_pool_t, ngx_str_t};

/// The allocation failed; nginx fails the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

/// Copies bytes into a pool.
///
/// # Safety
///
/// `pool` is live.
pub(crate) unsafe fn copy(pool: *mut ngx_pool_t, bytes: &[u8]) -> Result<ngx_str_t, OutOfMemory> {
    // SAFETY: the pool is live by contract; the copy has the length that was allocated, and a fresh allocation
    // overlaps nothing. A length of 0 becomes 1, because an empty string needs a pointer that is not null.
    unsafe {
        let data: *mut u8 = ngx_pnalloc(pool, bytes.len().max(1)).cast();
        if data.is_null() {
            return Err(OutOfMemory);
        }
        ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len());
        Ok(ngx_str_t {
            len: bytes.len(),
            data,
        })
    }
}

/// The bytes of a string of nginx.
///
/// # Safety
///
/// The string's pointer and length belong together, and its memory lives as long as `'a`.
pub(crate) unsafe fn bytes<'a>(string: ngx_str_t) -> &'a [u8] {
    if string.len == 0 || string.data.is_null() {
        return &[];
    }
    // SAFETY: by contract.
    unsafe { std::slice::from_raw_parts(string.data, string.len) }
}

/// Moves a value into a pool, which drops it when the pool is destroyed.
///
/// # Safety
///
/// `pool` is live, and nobody uses the pointer after the pool.
pub(crate) unsafe fn own<T>(pool: *mut ngx_pool_t, value: T) -> Result<*mut T, OutOfMemory> {
    let pointer = Box::into_raw(Box::new(value));
    // SAFETY: the pool is live by contract; the pointer came from a `Box` of this type, which `drop_box` takes back
    // once: here when there is no cleanup, else by the pool.
    unsafe {
        if on_destroy(pool, drop_box::<T>, pointer.cast()).is_err() {
            drop_box::<T>(pointer.cast());
            return Err(OutOfMemory);
        }
    }
    Ok(pointer)
}

/// Registers a function to be called when a pool is destroyed.
///
/// # Safety
///
/// `pool` is live, and `handler` may be called with `data` then.
pub(crate) unsafe fn on_destroy(
    pool: *mut ngx_pool_t,
    handler: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
) -> Result<(), OutOfMemory> {
    // SAFETY: the pool is live by contract, and what nginx returns is null or a cleanup of this pool.
    unsafe {
        let cleanup = ngx_pool_cleanup_add(pool, 0);
        if cleanup.is_null() {
            return Err(OutOfMemory);
        }
        (*cleanup).handler = Some(handler);
        (*cleanup).data = data;
    }
    Ok(())
}

unsafe extern "C" fn drop_box<T>(data: *mut c_void) {
    // SAFETY: `own` made it of a `Box<T>` and gives it to nobody else.
    drop(unsafe { Box::from_raw(data.cast::<T>()) });
}
