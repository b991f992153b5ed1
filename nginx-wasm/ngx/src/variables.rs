//! Variables of a module: those with values that the module sets, with all lines of a header, and random ones.

use nginx_sys::{
    NGX_ERROR, NGX_HTTP_VAR_CHANGEABLE, NGX_OK, ngx_conf_t, ngx_http_add_variable,
    ngx_http_get_variable_pt, ngx_http_request_t, ngx_http_variable_value_t, ngx_int_t, ngx_str_t,
    ngx_uint_t,
};

use crate::list::Elements;
use crate::module::{Module, Registered};
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
            random_id::<M> as unsafe extern "C" fn(_, _, _) -> _,
            0,
        )
    });
    // SAFETY: `cf` is live, and what `all_lines` gets is a constant.
    let is_added = |(name, get, data)| unsafe { add_one(cf, name, Some(get), data) };
    if given.chain(headers).chain(random).all(is_added) {
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
) -> bool {
    let mut name = ngx_str_t {
        len: name.len(),
        data: name.as_ptr().cast_mut(),
    };
    // SAFETY: `cf` is live by contract, the name is constant (nginx copies it and does not write to it), and what is
    // returned is null or a variable of this configuration.
    unsafe {
        let variable = ngx_http_add_variable(cf, &mut name, NGX_HTTP_VAR_CHANGEABLE as ngx_uint_t);
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
    // SAFETY: nginx passes a live request and the value to be filled, and `add` has put a constant there. Lines are not
    // changed while nginx looks at a variable, and a single one lives as long as its request.
    unsafe {
        let (_, name) = &*std::ptr::with_exposed_provenance::<Header>(data);
        let is_wanted = |line: &[u8]| line.eq_ignore_ascii_case(name.as_bytes());
        let mut lines = Elements::new(&raw const (*r).headers_in.headers)
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
        (*value).data = all.data;
    }
    NGX_OK as ngx_int_t
}

unsafe extern "C" fn random_id<M: Module>(
    r: *mut ngx_http_request_t,
    value: *mut ngx_http_variable_value_t,
    _data: usize,
) -> ngx_int_t {
    let Some(bytes) = M::random_id() else {
        return NGX_ERROR as ngx_int_t;
    };
    let digits = hexadecimal(bytes);
    // SAFETY: nginx passes a live request and the value to be filled.
    unsafe {
        match pool::copy((*r).pool, &digits) {
            Ok(copy) => (*value).data = copy.data,
            Err(pool::OutOfMemory) => return NGX_ERROR as ngx_int_t,
        }
        (*value).set_len(digits.len() as u32);
        (*value).set_valid(1);
    }
    NGX_OK as ngx_int_t
}

fn hexadecimal(bytes: [u8; 16]) -> [u8; 32] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut digits = [0; 32];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        let [high, low] = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
        pair.copy_from_slice(&[high, low]);
    }
    digits
}
