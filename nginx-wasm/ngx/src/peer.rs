//! Peers of an upstream: the ordered candidates in a variable, one for each try.
//!
//! `sluice_peer` precedes `keepalive`, which then pools connections by address as for any upstream, including addresses
//! that were unknown when the configuration was read. Without candidates nginx balances over the servers of the upstream
//! block.
//!
//! Absent: TLS session reuse between requests (pooled connections save more).

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use nginx_sys::{
    NGX_BUSY, NGX_ERROR, NGX_OK, ngx_conf_t, ngx_http_conf_ctx_t, ngx_http_get_indexed_variable,
    ngx_http_get_variable_index, ngx_http_request_t, ngx_http_upstream_init_peer_pt,
    ngx_http_upstream_init_pt, ngx_http_upstream_init_round_robin, ngx_http_upstream_module,
    ngx_http_upstream_srv_conf_t, ngx_int_t, ngx_palloc, ngx_peer_connection_t, ngx_str_t,
    ngx_uint_t,
};

use crate::address;
use crate::candidates::Candidates;
use crate::log::{self, Level};
use crate::module::{PeerVariables, Registered};

/// Configuration of an upstream.
#[derive(Default)]
pub(crate) struct Upstream {
    candidates: ngx_int_t,
    single_try: ngx_int_t,
    /// The wrapped balancer: another directive's, or round robin.
    init: ngx_http_upstream_init_pt,
    init_peer: ngx_http_upstream_init_peer_pt,
}

/// The peers of one request, allocated in its pool.
struct Peer {
    request: *mut ngx_http_request_t,
    candidates: Candidates,
    list: NonNull<[u8]>,
}

/// `sluice_peer`.
///
/// # Safety
///
/// While nginx reads an `upstream {}`.
pub(crate) unsafe fn configure<M: Registered>(
    cf: *mut ngx_conf_t,
    upstream: &mut Upstream,
    peers: PeerVariables,
) -> Result<(), String> {
    if upstream.init.is_some() {
        return Err("is duplicate".to_owned());
    }
    // SAFETY: `cf` is live by contract and in an upstream block, whose context has the upstream module's configuration
    // at its index. nginx does not write to the names.
    unsafe {
        let index = |name: &'static str| {
            let mut name = ngx_str_t {
                len: name.len(),
                data: name.as_ptr().cast_mut(),
            };
            let index = ngx_http_get_variable_index(cf, &mut name);
            (index != NGX_ERROR as ngx_int_t)
                .then_some(index)
                .ok_or("out of memory")
        };
        upstream.candidates = index(peers.candidates)?;
        upstream.single_try = index(peers.single_try)?;
        let context: *mut ngx_http_conf_ctx_t = (*cf).ctx.cast();
        let index = ngx_http_upstream_module.ctx_index;
        let conf: *mut ngx_http_upstream_srv_conf_t = (*(*context).srv_conf.add(index)).cast();
        upstream.init = (*conf)
            .peer
            .init_upstream
            .or(Some(ngx_http_upstream_init_round_robin));
        (*conf).peer.init_upstream = Some(init_upstream::<M>);
    }
    Ok(())
}

unsafe fn upstream<M: Registered>(conf: *mut ngx_http_upstream_srv_conf_t) -> *mut Upstream {
    // SAFETY: every upstream has one configuration of each module, ours made by `create::<Upstream>`.
    unsafe { (*(*conf).srv_conf.add(M::table().ctx_index())).cast() }
}

unsafe extern "C" fn init_upstream<M: Registered>(
    cf: *mut ngx_conf_t,
    conf: *mut ngx_http_upstream_srv_conf_t,
) -> ngx_int_t {
    // SAFETY: `configure` has set `init`, and the function of another balancer may be called as nginx would call it.
    unsafe {
        let upstream = upstream::<M>(conf);
        let Some(init) = (*upstream).init else {
            return NGX_ERROR as ngx_int_t;
        };
        if init(cf, conf) != NGX_OK as ngx_int_t {
            return NGX_ERROR as ngx_int_t;
        }
        (*upstream).init_peer = (*conf).peer.init;
        (*conf).peer.init = Some(init_peer::<M>);
    }
    NGX_OK as ngx_int_t
}

unsafe extern "C" fn init_peer<M: Registered>(
    r: *mut ngx_http_request_t,
    conf: *mut ngx_http_upstream_srv_conf_t,
) -> ngx_int_t {
    // SAFETY: nginx calls this with a live request that has an upstream. The variable's bytes are in the request's
    // pool or constant, and so outlive the peer, which is in the same pool; they are never written again.
    unsafe {
        let upstream = upstream::<M>(conf);
        let single_try = ngx_http_get_indexed_variable(r, (*upstream).single_try.cast_unsigned());
        let single_try = !single_try.is_null()
            && (*single_try).not_found() == 0
            && (*single_try).as_bytes() == b"1";
        let value = ngx_http_get_indexed_variable(r, (*upstream).candidates.cast_unsigned());
        if value.is_null() {
            return NGX_ERROR as ngx_int_t;
        }
        if (*value).not_found() != 0 || (*value).len() == 0 {
            let Some(init_peer) = (*upstream).init_peer else {
                return NGX_ERROR as ngx_int_t;
            };
            return init_peer(r, conf);
        }
        let list = NonNull::from((*value).as_bytes());
        let peer: *mut Peer = ngx_palloc((*r).pool, size_of::<Peer>()).cast();
        if peer.is_null() {
            return NGX_ERROR as ngx_int_t;
        }
        peer.write(Peer {
            request: r,
            candidates: Candidates::default(),
            list,
        });
        let connection = &raw mut (*(*r).upstream).peer;
        (*connection).data = peer.cast();
        (*connection).get = Some(get);
        (*connection).free = Some(free);
        // nginx itself tries no more often than this, where it has a limit: 0 is none.
        let most = (*(*(*r).upstream).conf).next_upstream_tries;
        (*connection).tries = if single_try {
            1
        } else {
            most.max(Candidates::count(list.as_ref()))
        };
        // Required: nginx calls them for every TLS upstream.
        (*connection).set_session = Some(set_session);
        (*connection).save_session = Some(save_session);
    }
    NGX_OK as ngx_int_t
}

/// The next candidate that is an address.
unsafe extern "C" fn get(connection: *mut ngx_peer_connection_t, data: *mut c_void) -> ngx_int_t {
    // SAFETY: `data` is the peer that `init_peer` made, the request lives as long as its upstream, and nobody else
    // has a reference to the peer while nginx calls this.
    unsafe {
        let peer = &mut *data.cast::<Peer>();
        let tries = (*connection).tries;
        while let Some(candidate) = peer.candidates.next(peer.list.as_ref(), tries) {
            match address::parse_peer((*peer.request).pool, candidate) {
                Some((address, name)) => {
                    (*connection).sockaddr = address.sockaddr;
                    (*connection).socklen = address.socklen;
                    (*connection).name = name;
                    (*connection).set_cached(0);
                    (*connection).connection = null_mut();
                    return NGX_OK as ngx_int_t;
                }
                None => {
                    let text = String::from_utf8_lossy(candidate);
                    let message = format!(
                        "sluice_peer: expected candidates ip:port, got \"{text}\"; skipped"
                    );
                    log::write((*connection).log, Level::Error, message.as_bytes());
                }
            }
        }
    }
    NGX_BUSY as ngx_int_t
}

unsafe extern "C" fn free(
    connection: *mut ngx_peer_connection_t,
    data: *mut c_void,
    _state: ngx_uint_t,
) {
    // SAFETY: as in `get`.
    unsafe {
        (*connection).tries = (*connection).tries.saturating_sub(1);
        (*data.cast::<Peer>()).candidates.tried((*connection).tries);
    }
}

unsafe extern "C" fn set_session(
    _connection: *mut ngx_peer_connection_t,
    _data: *mut c_void,
) -> ngx_int_t {
    NGX_OK as ngx_int_t
}

unsafe extern "C" fn save_session(_connection: *mut ngx_peer_connection_t, _data: *mut c_void) {}
