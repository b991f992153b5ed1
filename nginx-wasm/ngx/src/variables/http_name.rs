//! `$http_NAME` with all lines of its header. Before version 1.23 nginx has the first alone; later, and so in ingress-nginx, all of them.

use nginx_sys::{
    ngx_conf_t, ngx_hash_key_t, ngx_http_conf_ctx_t, ngx_http_request_t, ngx_http_variable_t,
    ngx_http_variable_value_t, ngx_int_t, ngx_str_t,
};

use super::{Header, all_lines, is_named, join};
use crate::{conf, pool};

const PREFIX: &[u8] = b"http_";
/// Variables of their own, for speed.
const KNOWN: &[Header] = &[
    ("http_user_agent", "user-agent"),
    ("http_referer", "referer"),
    ("http_via", "via"),
];

/// # Safety
///
/// `cf` is that of `http {}`, whose core module has added its variables; nobody has an index of one yet.
pub(super) unsafe fn replace(cf: *mut ngx_conf_t) {
    // SAFETY: by contract these arrays of the core module are live, and hold what it says.
    unsafe {
        let context = (*cf).ctx.cast::<ngx_http_conf_ctx_t>();
        let core = conf::core_main((*context).main_conf);
        let prefixes = (*core).prefix_variables;
        for n in 0..prefixes.nelts {
            let variable = prefixes.elts.cast::<ngx_http_variable_t>().add(n);
            if pool::bytes((*variable).name) == PREFIX {
                (*variable).get_handler = Some(of_name);
            }
        }
        let keys = (*(*core).variables_keys).keys;
        for n in 0..keys.nelts {
            let key = keys.elts.cast::<ngx_hash_key_t>().add(n);
            let name = pool::bytes((*key).key);
            let mut known = KNOWN.iter();
            if let Some(header) = known.find(|(variable, _)| variable.as_bytes() == name) {
                let variable = (*key).value.cast::<ngx_http_variable_t>();
                (*variable).get_handler = Some(all_lines);
                (*variable).data = (&raw const *header).expose_provenance();
            }
        }
    }
}

/// nginx passes the name of the variable, in lower case.
unsafe extern "C" fn of_name(
    r: *mut ngx_http_request_t,
    value: *mut ngx_http_variable_value_t,
    data: usize,
) -> ngx_int_t {
    // SAFETY: nginx passes a live request, the value to be filled, and the name that begins with the prefix.
    unsafe {
        let name = pool::bytes(*std::ptr::with_exposed_provenance::<ngx_str_t>(data));
        let name = name.get(PREFIX.len()..).unwrap_or_default();
        join(r, &raw const (*r).headers_in.headers, value, |line| {
            is_named(line, name)
        })
    }
}
