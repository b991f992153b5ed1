//! nginx's table of a module.

use std::cell::UnsafeCell;
use std::ffi::c_void;

use nginx_sys::ngx_module_t;

/// nginx's table of one module, into which nginx writes the module's indexes when it loads it.
pub struct Table {
    nginx: UnsafeCell<ngx_module_t>,
    /// A pool's cleanups are told apart by the addresses of their functions, and a generic function may have several:
    /// this one address is used throughout.
    end_of_request: EndOfRequest,
}

/// Cleanup of a request's pool.
pub(crate) type EndOfRequest = unsafe extern "C" fn(*mut c_void);

// SAFETY: nginx's thread is the only one that reads or writes its half (rule 1); the other is constant.
unsafe impl Sync for Table {}

impl Table {
    pub(crate) const fn from_parts(table: ngx_module_t, end_of_request: EndOfRequest) -> Self {
        Self {
            nginx: UnsafeCell::new(table),
            end_of_request,
        }
    }

    /// Index of the module's configurations and contexts among those of all HTTP modules.
    pub(crate) fn ctx_index(&'static self) -> usize {
        // SAFETY: nginx wrote it when it loaded the module, before it called any function of it.
        unsafe { (*self.nginx.get()).ctx_index }
    }

    pub(crate) fn end_of_request(&'static self) -> EndOfRequest {
        self.end_of_request
    }

    pub(crate) const fn as_ptr(&'static self) -> *mut ngx_module_t {
        self.nginx.get()
    }
}
