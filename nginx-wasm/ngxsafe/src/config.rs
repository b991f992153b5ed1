//! The reading of nginx's configuration.

use std::ffi::{OsStr, c_char, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr::{NonNull, null_mut};

use nginx_sys::{
    NGX_LOG_EMERG, NGX_OK, ngx_command_t, ngx_conf_full_name, ngx_conf_log_error, ngx_conf_t,
    ngx_http_conf_ctx_t, ngx_http_core_main_conf_t, ngx_http_core_module, ngx_int_t, ngx_str_t,
    ngx_uint_t,
};

use crate::module::{Directive, Registered, Set};
use crate::{peer, pool};

/// A directive under reading.
pub struct Conf<'a> {
    raw: NonNull<ngx_conf_t>,
    directive: PhantomData<&'a ()>,
}

impl Conf<'_> {
    /// # Safety
    ///
    /// nginx has just called a directive with this, and `'a` ends before that returns.
    pub(crate) unsafe fn new(cf: *mut ngx_conf_t) -> Self {
        // SAFETY: nginx's pointers are not null.
        Conf {
            raw: unsafe { NonNull::new_unchecked(cf) },
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

    /// A file as the configuration names it: relative to the configuration's folder, as for `include`.
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

/// `create_*_conf`: a default value, which the configuration's pool owns.
///
/// # Safety
///
/// By nginx, with a live `cf`.
pub(crate) unsafe extern "C" fn create<T: Default>(cf: *mut ngx_conf_t) -> *mut c_void {
    // SAFETY: `cf` is live, and so is its pool, which the configuration does not outlive.
    unsafe { pool::own((*cf).pool, T::default()).map_or(null_mut(), <*mut T>::cast) }
}

/// `merge_loc_conf`.
///
/// # Safety
///
/// By nginx, with two values that `create::<M::Location>` made.
pub(crate) unsafe extern "C" fn merge_location<M: Registered>(
    _cf: *mut ngx_conf_t,
    outer: *mut c_void,
    location: *mut c_void,
) -> *mut c_char {
    // SAFETY: by contract; nginx never merges a location with itself.
    unsafe {
        M::inherit(
            &*outer.cast::<M::Location>(),
            &mut *location.cast::<M::Location>(),
        )
    };
    null_mut()
}

/// `ngx_command_t::set`.
///
/// # Safety
///
/// By nginx for a command that `Commands::of::<M>` made, with the configuration that the command's `conf` names.
pub(crate) unsafe extern "C" fn set<M: Registered>(
    cf: *mut ngx_conf_t,
    command: *mut ngx_command_t,
    target: *mut c_void,
) -> *mut c_char {
    // SAFETY: `Commands::of` put the directive there.
    let directive = unsafe { &*(*command).post.cast::<Directive<M>>() };
    // SAFETY: this is such a call.
    let conf = unsafe { Conf::new(cf) };
    // SAFETY: `target` is what `create` made for the kind of place that `Commands::of` asked for; the main
    // configuration is another object. Nobody else has a reference to either.
    let done = unsafe {
        match directive.set {
            Set::Main(set) => set(&conf, &mut *target.cast()),
            Set::Location(set) => set(&conf, &mut *main::<M>(cf), &mut *target.cast()),
            Set::Peer(peers) => peer::configure::<M>(cf, &mut *target.cast(), peers),
        }
    };
    match done {
        Ok(()) => null_mut(),
        Err(reason) => {
            let name = directive.name.to_string_lossy();
            // SAFETY: `cf` is live.
            unsafe { refuse(cf, &format!("\"{name}\": {reason}")) };
            // NGX_CONF_ERROR, which is a pointer in C.
            usize::MAX as *mut c_char
        }
    }
}

/// The main configuration of a module.
///
/// # Safety
///
/// `cf` is inside of `http {}`, whose main configurations are made before anything in it is read.
pub(crate) unsafe fn main<M: Registered>(cf: *mut ngx_conf_t) -> *mut M::Main {
    // SAFETY: inside of `http {}` the context is this struct, and our index is within its arrays.
    unsafe {
        let context: *mut ngx_http_conf_ctx_t = (*cf).ctx.cast();
        (*(*context).main_conf.add(M::table().ctx_index())).cast()
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

/// Says why the configuration is refused, with file and line.
///
/// # Safety
///
/// `cf` is live.
pub(crate) unsafe fn refuse(cf: *mut ngx_conf_t, reason: &str) {
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
