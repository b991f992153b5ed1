//! nginx's configuration callbacks: creating, merging and setting the configurations of a module.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use nginx_sys::{ngx_command_t, ngx_conf_t, ngx_http_conf_ctx_t};

use crate::conf::{self, Conf};
use crate::module::{Directive, Registered, Setter};
use crate::{peer, pool};

/// `create_*_conf`: a default value, owned by the configuration's pool.
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
        );
    }
    null_mut()
}

/// `ngx_command_t::set`.
///
/// # Safety
///
/// By nginx for a command that `Commands::new::<M>` made, with the configuration that the command's `conf` names.
pub(crate) unsafe extern "C" fn set<M: Registered>(
    cf: *mut ngx_conf_t,
    command: *mut ngx_command_t,
    target: *mut c_void,
) -> *mut c_char {
    // SAFETY: `Commands::new` put the directive there.
    let directive = unsafe { &*(*command).post.cast::<Directive<M>>() };
    // SAFETY: nginx has just called this for a directive.
    let directive_conf = unsafe { Conf::new(cf) };
    // SAFETY: `target` was made by `create` for the context that `Commands::new` chose for this directive; the main
    // configuration is another object. There is no other reference to either.
    let done = unsafe {
        match directive.set {
            Setter::Main(set) => set(&directive_conf, &mut *target.cast()),
            Setter::Location(set) => set(&directive_conf, &mut *main::<M>(cf), &mut *target.cast()),
            Setter::Peer(peers) => peer::configure::<M>(cf, &mut *target.cast(), peers),
        }
    };
    match done {
        Ok(()) => null_mut(),
        Err(reason) => {
            let name = directive.name.to_string_lossy();
            // SAFETY: `cf` is live.
            unsafe { conf::log_error(cf, &format!("\"{name}\": {reason}")) };
            // NGX_CONF_ERROR, which is a pointer in C.
            usize::MAX as *mut c_char
        }
    }
}

/// The main configuration of a module.
///
/// # Safety
///
/// `cf` is inside `http {}`; nginx creates its main configurations before it reads the block.
pub(crate) unsafe fn main<M: Registered>(cf: *mut ngx_conf_t) -> *mut M::Main {
    // SAFETY: inside `http {}` the context is this struct, and our index is within its arrays.
    unsafe {
        let context: *mut ngx_http_conf_ctx_t = (*cf).ctx.cast();
        (*(*context).main_conf.add(M::table().ctx_index())).cast()
    }
}
