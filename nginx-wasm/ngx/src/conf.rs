//! The configuration while nginx reads it.

use std::ffi::{OsStr, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr::NonNull;

use nginx_sys::{
    NGX_LOG_EMERG, NGX_OK, ngx_conf_full_name, ngx_conf_log_error, ngx_conf_t,
    ngx_http_core_main_conf_t, ngx_http_core_module, ngx_http_get_variable_index, ngx_int_t,
    ngx_str_t, ngx_uint_t,
};

use crate::pool;

/// The directive that nginx is reading.
pub struct Conf<'a> {
    raw: NonNull<ngx_conf_t>,
    directive: PhantomData<&'a ()>,
}

/// A variable that requests have at a place of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableIndex(pub(crate) ngx_uint_t);

impl Conf<'_> {
    /// # Safety
    ///
    /// nginx has just called a directive with this, and `'a` ends before that returns.
    pub(crate) unsafe fn new(cf: *mut ngx_conf_t) -> Self {
        // SAFETY: nginx's pointers are not null.
        let raw = unsafe { NonNull::new_unchecked(cf) };
        Conf {
            raw,
            directive: PhantomData,
        }
    }

    /// The directive's arguments.
    pub fn arguments(&self) -> impl Iterator<Item = &[u8]> {
        // SAFETY: nginx fills `args` with the words of the directive, its name first, before it calls `set`; they are
        // in the configuration's pool, which outlives `self`.
        let words = unsafe { (*(*self.raw.as_ptr()).args).as_slice::<ngx_str_t>() };
        // SAFETY: as above.
        words
            .iter()
            .skip(1)
            .map(|word| unsafe { pool::bytes(*word) })
    }

    /// The place of a variable, by its name without the dollar sign. nginx rejects the configuration if nobody defines it.
    ///
    /// # Errors
    ///
    /// The name is empty, or the memory of the configuration is exhausted.
    pub fn variable(&self, name: &[u8]) -> Result<VariableIndex, String> {
        let mut name = ngx_str_t {
            len: name.len(),
            data: name.as_ptr().cast_mut(),
        };
        // SAFETY: `cf` is that of a directive in `http {}`, and nginx copies the name.
        let index = unsafe { ngx_http_get_variable_index(self.raw.as_ptr(), &mut name) };
        let index = ngx_uint_t::try_from(index);
        index
            .map(VariableIndex)
            .map_err(|_| "expected a variable".to_owned())
    }

    /// Resolves a file name relative to the folder of the configuration, as `include` does.
    ///
    /// # Errors
    ///
    /// The memory of the configuration is exhausted.
    pub fn path(&self, name: &[u8]) -> Result<PathBuf, String> {
        // SAFETY: `ngx_conf_full_name` wants a NUL at the end of the name, and writes a name of its own into the
        // string that it is given, which is ours.
        unsafe {
            let cf = self.raw.as_ptr();
            let with_nul: Vec<u8> = name.iter().copied().chain([0]).collect();
            let mut full =
                pool::copy((*cf).pool, &with_nul).map_err(|_| "out of memory".to_owned())?;
            full.len -= 1;
            if ngx_conf_full_name((*cf).cycle, &mut full, 1) != NGX_OK as ngx_int_t {
                return Err("out of memory".to_owned());
            }
            Ok(PathBuf::from(OsStr::from_bytes(pool::bytes(full))))
        }
    }
}

/// The core module's main configuration, from those of all modules.
///
/// # Safety
///
/// The array is of a request, or of the context of `http {}`.
pub(crate) unsafe fn core_main(all: *mut *mut c_void) -> *mut ngx_http_core_main_conf_t {
    // SAFETY: by contract the core module's index is within it.
    unsafe { (*all.add(ngx_http_core_module.ctx_index)).cast() }
}

/// Logs the reason for a configuration error, with file and line.
///
/// # Safety
///
/// `cf` is live.
pub(crate) unsafe fn log_error(cf: *mut ngx_conf_t, reason: &str) {
    // SAFETY: `%*s` takes a length and a pointer.
    unsafe {
        ngx_conf_log_error(
            NGX_LOG_EMERG as ngx_uint_t,
            cf,
            0,
            c"%*s".as_ptr(),
            reason.len(),
            reason.as_ptr(),
        );
    }
}
