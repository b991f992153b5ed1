//! L4 upstreams: `sluice_pods FILE;` in an `upstream {}` of `stream {}`.
//!
//! A separate nginx module in the same library. nginx's stream module may be a dynamic module too, or absent, so nothing
//! here links to its symbols. Without a `stream {}` nginx calls nothing of this.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use nginx_sys::{
    NGX_BUSY, NGX_CONF_TAKE1, NGX_ERROR, NGX_OK, NGX_STREAM_MODULE, NGX_STREAM_UPS_CONF,
    ngx_command_t, ngx_conf_t, ngx_int_t, ngx_module_t, ngx_peer_connection_t, ngx_pool_t,
    ngx_str_t, ngx_stream_conf_ctx_t, ngx_stream_module_t, ngx_stream_session_t,
    ngx_stream_upstream_srv_conf_t, ngx_uint_t,
};

use crate::conf::{self, Conf};
use crate::endpoint_file::{EndpointFile, Tries};
use crate::log::{self, Level};
use crate::{address, pool};

/// Name of nginx's own module for upstreams.
const UPSTREAM_MODULE: &CStr = c"ngx_stream_upstream_module";
const DIRECTIVE: &CStr = c"sluice_pods";

/// nginx's table of this module.
pub struct StreamTable(UnsafeCell<ngx_module_t>);

// SAFETY: nginx's thread is the only one that reads or writes it (rule 1).
unsafe impl Sync for StreamTable {}

struct Constant<T>(T);

// SAFETY: what is in it is never written, and points to constants only.
unsafe impl<T> Sync for Constant<T> {}

static CONTEXT: Constant<ngx_stream_module_t> = Constant(ngx_stream_module_t {
    preconfiguration: None,
    postconfiguration: None,
    create_main_conf: None,
    init_main_conf: None,
    create_srv_conf: None,
    merge_srv_conf: None,
});

static COMMANDS: Constant<[ngx_command_t; 2]> = Constant([
    ngx_command_t {
        name: ngx_str_t {
            len: DIRECTIVE.count_bytes(),
            data: DIRECTIVE.as_ptr().cast_mut().cast(),
        },
        type_: (NGX_STREAM_UPS_CONF | NGX_CONF_TAKE1) as ngx_uint_t,
        set: Some(configure),
        conf: 0,
        offset: 0,
        post: null_mut(),
    },
    ngx_command_t::empty(),
]);

static TABLE: StreamTable = StreamTable(UnsafeCell::new({
    let mut table = ngx_module_t::default();
    // nginx takes these as `*mut` and only reads them.
    table.ctx = (&raw const CONTEXT.0).cast_mut().cast();
    table.commands = (&raw const COMMANDS.0).cast_mut().cast();
    table.type_ = NGX_STREAM_MODULE as ngx_uint_t;
    table
}));

/// The table of this module, for the library's list of modules.
#[doc(hidden)]
pub const fn table() -> *mut ngx_module_t {
    TABLE.0.get()
}

/// `sluice_pods FILE;`
unsafe extern "C" fn configure(
    cf: *mut ngx_conf_t,
    _command: *mut ngx_command_t,
    _target: *mut c_void,
) -> *mut c_char {
    // SAFETY: nginx calls this with a live `cf` in an upstream block of `stream {}`.
    match unsafe { set(cf) } {
        Ok(()) => null_mut(),
        Err(reason) => {
            let reason = format!("\"{}\": {reason}", DIRECTIVE.to_string_lossy());
            // SAFETY: `cf` is live.
            unsafe { conf::log_error(cf, &reason) };
            // NGX_CONF_ERROR, which is a pointer in C.
            usize::MAX as *mut c_char
        }
    }
}

unsafe fn set(cf: *mut ngx_conf_t) -> Result<(), String> {
    // SAFETY: by contract; nginx ends its list of modules with null. In an upstream block the context has the
    // configuration of the upstream module at its index. The endpoints are in the configuration's pool, as the upstream is.
    unsafe {
        let conf = Conf::new(cf);
        let file = conf.path(conf.arguments().next().unwrap_or_default())?;
        let mut modules = (*(*cf).cycle).modules;
        while !(*modules).is_null() && CStr::from_ptr((**modules).name) != UPSTREAM_MODULE {
            modules = modules.add(1);
        }
        let upstreams = (*modules)
            .as_ref()
            .ok_or("needs the upstream module of nginx's stream module")?;
        let context: *mut ngx_stream_conf_ctx_t = (*cf).ctx.cast();
        let upstream: *mut ngx_stream_upstream_srv_conf_t =
            (*(*context).srv_conf.add(upstreams.ctx_index)).cast();
        if (*upstream).peer.init_upstream.is_some() {
            return Err("is duplicate, or beside another balancer".to_owned());
        }
        let endpoints = pool::own((*cf).pool, EndpointFile::new(file))
            .map_err(|_| "out of memory".to_owned())?;
        (*upstream).peer.data = endpoints.cast();
        (*upstream).peer.init_upstream = Some(init_upstream);
    }
    Ok(())
}

unsafe extern "C" fn init_upstream(
    _cf: *mut ngx_conf_t,
    upstream: *mut ngx_stream_upstream_srv_conf_t,
) -> ngx_int_t {
    // SAFETY: nginx calls this with the upstream that `set` wrote it into.
    unsafe { (*upstream).peer.init = Some(init_peer) };
    NGX_OK as ngx_int_t
}

/// The peers of one connection, allocated in its pool.
struct Peer {
    pool: *mut ngx_pool_t,
    tries: Tries,
}

unsafe extern "C" fn init_peer(
    session: *mut ngx_stream_session_t,
    upstream: *mut ngx_stream_upstream_srv_conf_t,
) -> ngx_int_t {
    // SAFETY: nginx calls this with a live session that has an upstream, which is one of those that `set` has given
    // its endpoints. nginx does not call into this module while the reference to them lives.
    unsafe {
        let client = (*session).connection;
        let (tries, read) = (*(*upstream).peer.data.cast::<EndpointFile>()).tries();
        if let Err(error) = read {
            let message = format!("sluice_pods: {error}; keeping the previous endpoints");
            log::write((*client).log, Level::Error, message.as_bytes());
        }
        let count = tries.len();
        let Ok(peer) = pool::own(
            (*client).pool,
            Peer {
                pool: (*client).pool,
                tries,
            },
        ) else {
            return NGX_ERROR as ngx_int_t;
        };
        let connection = &raw mut (*(*session).upstream).peer;
        (*connection).data = peer.cast();
        (*connection).get = Some(get);
        (*connection).free = Some(free);
        (*connection).tries = count;
    }
    NGX_OK as ngx_int_t
}

/// Selects the next endpoint.
unsafe extern "C" fn get(connection: *mut ngx_peer_connection_t, data: *mut c_void) -> ngx_int_t {
    // SAFETY: `data` is the peer that `init_peer` made, which lives as long as the client's connection, and nobody else
    // has a reference to it while nginx calls this.
    unsafe {
        let peer = &mut *data.cast::<Peer>();
        while let Some(endpoint) = peer.tries.next() {
            // The endpoints may have changed when a log reads the name.
            let Ok(text) = pool::copy(peer.pool, endpoint.as_bytes()) else {
                return NGX_ERROR as ngx_int_t;
            };
            if let Some((address, name)) = address::parse_peer(peer.pool, pool::bytes(text)) {
                (*connection).sockaddr = address.sockaddr;
                (*connection).socklen = address.socklen;
                (*connection).name = name;
                (*connection).set_cached(0);
                (*connection).connection = null_mut();
                return NGX_OK as ngx_int_t;
            }
            let message = format!("sluice_pods: expected ip:port, got \"{endpoint}\"; skipped");
            log::write((*connection).log, Level::Error, message.as_bytes());
        }
    }
    NGX_BUSY as ngx_int_t
}

unsafe extern "C" fn free(
    connection: *mut ngx_peer_connection_t,
    _data: *mut c_void,
    _state: ngx_uint_t,
) {
    // SAFETY: as in `get`.
    unsafe { (*connection).tries = (*connection).tries.saturating_sub(1) };
}
