//! The headers of a request and of its response.
//!
//! nginx keeps some headers twice: in the list, and in fields that point into it or were derived from it. Edits keep the
//! pointers valid. Headers that nginx has already acted on, such as those that frame the body, cannot be edited: nginx and
//! the upstream must not parse a message differently.

#[cfg_attr(nginx_linked_headers, path = "known_linked.rs")]
#[cfg_attr(not(nginx_linked_headers), path = "known_arrays.rs")]
mod known;
mod request;
mod response;

use nginx_sys::{
    ngx_hash_strlow, ngx_http_request_t, ngx_list_push, ngx_list_t, ngx_pnalloc, ngx_table_elt_t,
};

use crate::pool::{self, OutOfMemory};

/// Failure to change a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// nginx has already acted on the header, or writes it itself.
    NotEditable,
    /// The name or value cannot be sent.
    Malformed,
    /// The request's pool is exhausted.
    OutOfMemory,
}

impl From<OutOfMemory> for HeaderError {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

/// Checks that a header may be edited, that its name is a token and that its value has no line end.
fn check_editable(name: &[u8], value: &[u8], not_editable: &[&[u8]]) -> Result<(), HeaderError> {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    if name.first() == Some(&b':')
        || not_editable
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    {
        Err(HeaderError::NotEditable)
    } else if name.is_empty()
        || !name.iter().all(is_token)
        || value.iter().any(|byte| b"\r\n\0".contains(byte))
    {
        Err(HeaderError::Malformed)
    } else {
        Ok(())
    }
}

/// # Safety
///
/// The element is live for `'a`.
unsafe fn pair<'a>(element: *mut ngx_table_elt_t) -> (&'a [u8], &'a [u8]) {
    // SAFETY: by contract; nginx's headers are strings of the request's memory.
    unsafe { (pool::bytes((*element).key), pool::bytes((*element).value)) }
}

/// # Safety
///
/// The request is live and the list belongs to it.
unsafe fn push(
    r: *mut ngx_http_request_t,
    list: *mut ngx_list_t,
    name: &[u8],
    value: &[u8],
) -> Result<*mut ngx_table_elt_t, OutOfMemory> {
    // SAFETY: by contract. Everything is allocated before the element is made, so that none is left half filled; it is
    // then zeroed (later versions have one more field) and filled.
    unsafe {
        let (name, value) = (pool::copy((*r).pool, name)?, pool::copy((*r).pool, value)?);
        let lower: *mut u8 = ngx_pnalloc((*r).pool, name.len.max(1)).cast();
        if lower.is_null() {
            return Err(OutOfMemory);
        }
        let element: *mut ngx_table_elt_t = ngx_list_push(list).cast();
        if element.is_null() {
            return Err(OutOfMemory);
        }
        element.write(std::mem::zeroed());
        (*element).hash = ngx_hash_strlow(lower, name.data, name.len);
        (*element).key = name;
        (*element).value = value;
        (*element).lowcase_key = lower;
        Ok(element)
    }
}
