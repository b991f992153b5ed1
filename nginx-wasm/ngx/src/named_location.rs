//! Named locations as targets of requests: what nginx does when it has found a location by a path.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ptr::NonNull;

use nginx_sys::{
    NGX_DECLINED, NGX_HTTP_INTERNAL_SERVER_ERROR, NGX_HTTP_REQUEST_ENTITY_TOO_LARGE,
    ngx_http_core_loc_conf_t, ngx_http_core_module, ngx_http_core_srv_conf_t,
    ngx_http_discard_request_body, ngx_http_request_t, ngx_http_update_location_config, ngx_int_t,
};

use crate::live_request::LiveRequest;
use crate::log::Level;
use crate::pool;

/// Locations by name.
type ByName = HashMap<Box<[u8]>, NonNull<ngx_http_core_loc_conf_t>>;

thread_local! {
    /// Those of servers that have been asked for: a process has one configuration, whose servers stay where they are.
    static KNOWN: RefCell<HashMap<NonNull<ngx_http_core_srv_conf_t>, ByName>> = RefCell::default();
}

/// Makes a named location of its server the one of a request, and returns what the rewrite phase goes on with.
///
/// # Safety
///
/// The request is live and in its rewrite phase, before any directive of its location has run.
pub(crate) unsafe fn enter(r: NonNull<ngx_http_request_t>, name: &str) -> ngx_int_t {
    // SAFETY: the request is live, so its server and that one's locations are.
    unsafe {
        let request = r.as_ptr();
        let Some(location) = find(r, name) else {
            let message = format!("sluice: there is no location {name} in nginx.conf");
            LiveRequest::new(r).log(Level::Error, message.as_bytes());
            return NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t;
        };
        let location = location.as_ref();
        (*request).loc_conf = location.loc_conf;
        ngx_http_update_location_config(request);
        let (length, most) = (
            (*request).headers_in.content_length_n,
            location.client_max_body_size,
        );
        let is_too_large = length != -1 && most != 0 && most < length;
        if is_too_large && (*request).discard_body() == 0 {
            (*request).set_expect_tested(1);
            ngx_http_discard_request_body(request);
            return NGX_HTTP_REQUEST_ENTITY_TOO_LARGE as ngx_int_t;
        }
    }
    NGX_DECLINED as ngx_int_t
}

/// # Safety
///
/// The request is live.
unsafe fn find(
    r: NonNull<ngx_http_request_t>,
    name: &str,
) -> Option<NonNull<ngx_http_core_loc_conf_t>> {
    // SAFETY: the core module has a configuration of each server, which lives as long as the process.
    let server = unsafe { *(*r.as_ptr()).srv_conf.add(ngx_http_core_module.ctx_index) };
    let server = NonNull::new(server.cast::<ngx_http_core_srv_conf_t>())?;
    KNOWN.with_borrow_mut(|known| {
        // SAFETY: as above.
        let locations = known
            .entry(server)
            .or_insert_with(|| unsafe { all(server) });
        locations.get(name.as_bytes()).copied()
    })
}

/// # Safety
///
/// It is a server of the configuration of this process.
unsafe fn all(server: NonNull<ngx_http_core_srv_conf_t>) -> ByName {
    let mut locations = ByName::new();
    // SAFETY: a list that a null pointer ends, or none, which the configuration owns.
    unsafe {
        let mut next = server.as_ref().named_locations;
        while let Some(location) = next.as_ref().copied().and_then(NonNull::new) {
            locations.insert(pool::bytes(location.as_ref().name).into(), location);
            next = next.add(1);
        }
    }
    locations
}
