//! Variables of a module: those with values that the module sets, with all lines of a header, and random ones.

mod computed;
#[cfg(not(nginx_linked_headers))]
mod http_name;
mod random_id;

use std::ptr::NonNull;

use nginx_sys::{
    NGX_ERROR, NGX_HTTP_VAR_CHANGEABLE, NGX_HTTP_VAR_PREFIX, NGX_OK, ngx_conf_t,
    ngx_http_add_variable, ngx_http_get_variable_pt, ngx_http_request_t, ngx_http_variable_value_t,
    ngx_int_t, ngx_list_t, ngx_str_t, ngx_uint_t,
};

use crate::list::Elements;
use crate::live_request::LiveRequest;
use crate::module::{Registered, UpstreamHeaders};
use crate::pool;

/// Name of a variable and of its header.
type Header = (&'static str, &'static str);

/// `preconfiguration`.
///
/// # Safety
///
/// By nginx, with a live `cf`.
pub(crate) unsafe extern "C" fn add<M: Registered>(cf: *mut ngx_conf_t) -> ngx_int_t {
    let given = M::VARIABLES
        .iter()
        .map(|name| (*name, no_value as unsafe extern "C" fn(_, _, _) -> _, 0));
    let headers = M::HEADERS.iter().map(|header| {
        let all_lines: unsafe extern "C" fn(_, _, _) -> _ = all_lines;
        (
            header.0,
            all_lines,
            (&raw const *header).expose_provenance(),
        )
    });
    let random = M::RANDOM_IDS.iter().map(|name| {
        (
            *name,
            random_id::value::<M> as unsafe extern "C" fn(_, _, _) -> _,
            0,
        )
    });
    let upstream: unsafe extern "C" fn(_, _, _) -> _ = upstream_lines::<M>;
    let flags = NGX_HTTP_VAR_CHANGEABLE as ngx_uint_t;
    // SAFETY: `cf` is live, what `all_lines` and `computed::value` get is a constant, and nginx passes others to a variable that is a prefix.
    let is_added = |(name, get, data)| unsafe { add_one(cf, name, Some(get), data, flags) };
    let prefix = flags | NGX_HTTP_VAR_PREFIX as ngx_uint_t;
    // SAFETY: as above.
    let is_prefix_added =
        unsafe { add_one(cf, M::UPSTREAM_HEADERS.prefix, Some(upstream), 0, prefix) };
    let computed = M::COMPUTED.iter().map(|variable| {
        let value: unsafe extern "C" fn(_, _, _) -> _ = computed::value;
        (
            variable.name,
            value,
            (&raw const *variable).expose_provenance(),
        )
    });
    if is_prefix_added
        && given
            .chain(headers)
            .chain(random)
            .chain(computed)
            .all(is_added)
    {
        #[cfg(not(nginx_linked_headers))]
        // SAFETY: nginx calls this once the core module has its variables.
        unsafe {
            http_name::replace(cf);
        }
        NGX_OK as ngx_int_t
    } else {
        NGX_ERROR as ngx_int_t
    }
}

/// # Safety
///
/// `cf` is live, and `get` may be called with this data.
unsafe fn add_one(
    cf: *mut ngx_conf_t,
    name: &'static str,
    get: ngx_http_get_variable_pt,
    data: usize,
    flags: ngx_uint_t,
) -> bool {
    let mut name = ngx_str_t {
        len: name.len(),
        data: name.as_ptr().cast_mut(),
    };
    // SAFETY: `cf` is live by contract, the name is constant (nginx copies it and does not write to it), and what is
    // returned is null or a variable of this configuration.
    unsafe {
        let variable = ngx_http_add_variable(cf, &mut name, flags);
        if variable.is_null() {
            return false;
        }
        (*variable).get_handler = get;
        (*variable).data = data;
    }
    true
}

unsafe extern "C" fn no_value(
    _r: *mut ngx_http_request_t,
    value: *mut ngx_http_variable_value_t,
    _data: usize,
) -> ngx_int_t {
    // SAFETY: nginx passes the value to be filled.
    unsafe { (*value).set_not_found(1) };
    NGX_OK as ngx_int_t
}

unsafe extern "C" fn all_lines(
    r: *mut ngx_http_request_t,
    value: *mut ngx_http_variable_value_t,
    data: usize,
) -> ngx_int_t {
    // SAFETY: nginx passes a live request and the value to be filled, and `add` has put a constant there.
    unsafe {
        let (_, name) = &*std::ptr::with_exposed_provenance::<Header>(data);
        let is_wanted = |line: &[u8]| line.eq_ignore_ascii_case(name.as_bytes());
        join(r, &raw const (*r).headers_in.headers, value, is_wanted)
    }
}

/// nginx passes the name of the variable, in lower case.
unsafe extern "C" fn upstream_lines<M: Registered>(
    r: *mut ngx_http_request_t,
    value: *mut ngx_http_variable_value_t,
    data: usize,
) -> ngx_int_t {
    let UpstreamHeaders { prefix, flag } = M::UPSTREAM_HEADERS;
    // SAFETY: nginx passes a live request, the value to be filled, and the name that begins with the prefix.
    unsafe {
        let name = pool::bytes(*std::ptr::with_exposed_provenance::<ngx_str_t>(data));
        let name = name.get(prefix.len()..).unwrap_or_default();
        let end = name.iter().position(|byte| *byte == b'_');
        let (number, name) = name.split_at(end.unwrap_or_default());
        let name = name.get(1..).unwrap_or_default();
        let flag = [flag.as_bytes(), number].concat();
        let upstream = (*r).upstream;
        let is_hidden = NonNull::new(r).is_some_and(|r| {
            let mut request = LiveRequest::new(r);
            request.variable(&flag).is_some_and(|flag| !flag.is_empty())
        });
        if is_hidden || upstream.is_null() {
            (*value).set_not_found(1);
            return NGX_OK as ngx_int_t;
        }
        let lines = &raw const (*upstream).headers_in.headers;
        join(r, lines, value, |line| is_header(line, name))
    }
}

/// The name of a variable for a header of letters, digits and hyphens, in lower case with `_` for `-`.
fn is_header(header: &[u8], name: &[u8]) -> bool {
    let of_variable = name.iter().map(|byte| match byte {
        b'_' => b'-',
        byte => *byte,
    });
    header.iter().map(u8::to_ascii_lowercase).eq(of_variable)
}

/// The same as nginx compares it: a header with `_` has the same name.
#[cfg(not(nginx_linked_headers))]
fn is_named(header: &[u8], name: &[u8]) -> bool {
    let as_variable = |byte: &u8| match byte {
        b'-' => b'_',
        byte => byte.to_ascii_lowercase(),
    };
    header.iter().map(as_variable).eq(name.iter().copied())
}

/// All lines of a header in one value.
///
/// # Safety
///
/// The request and its list of headers are live, and the value is to be filled.
unsafe fn join(
    r: *mut ngx_http_request_t,
    list: *const ngx_list_t,
    value: *mut ngx_http_variable_value_t,
    is_wanted: impl Fn(&[u8]) -> bool,
) -> ngx_int_t {
    // SAFETY: by contract. Lines are not changed while nginx looks at a variable, and a single one lives as long as its request.
    unsafe {
        let mut lines = Elements::new(list)
            .filter(|line| (**line).hash != 0 && is_wanted(pool::bytes((**line).key)))
            .map(|line| (*line).value);
        let Some(mut all) = lines.next() else {
            (*value).set_not_found(1);
            return NGX_OK as ngx_int_t;
        };
        let mut more = lines.peekable();
        if more.peek().is_some() {
            let joined = std::iter::once(all)
                .chain(more)
                .map(|line| pool::bytes(line))
                .collect::<Vec<_>>();
            match pool::copy((*r).pool, &joined.join(&b", "[..])) {
                Ok(copy) => all = copy,
                Err(pool::OutOfMemory) => return NGX_ERROR as ngx_int_t,
            }
        }
        // nginx reads no header that does not fit these 28 bits.
        (*value).set_len(u32::try_from(all.len).unwrap_or_default());
        (*value).set_valid(1);
        (*value).set_not_found(0);
        (*value).set_no_cacheable(0);
        (*value).data = all.data;
    }
    NGX_OK as ngx_int_t
}
