//! Local replies: responses of the module itself.

use std::ptr::{NonNull, null_mut};

use nginx_sys::{
    NGX_ERROR, NGX_HTTP_INTERNAL_SERVER_ERROR, NGX_OK, ngx_buf_t, ngx_chain_t,
    ngx_http_discard_request_body, ngx_http_finalize_request, ngx_http_output_filter,
    ngx_http_request_t, ngx_http_send_header, ngx_int_t, ngx_pcalloc,
};

use crate::{LiveRequest, pool};

/// A local reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status; an invalid one becomes 500.
    pub status: u16,
    /// Headers in addition to nginx's own.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Sends a reply and ends the request. An error without headers and body gets the page of nginx.
///
/// # Safety
///
/// `r` is live and nothing is sent yet. It may have ended when this returns.
pub(crate) unsafe fn send(r: *mut ngx_http_request_t, reply: &Reply) {
    // SAFETY: by contract; it is not used after `finalize`.
    unsafe {
        let is_error = matches!(reply.status, 300..=599);
        let is_page = is_error && reply.body.is_empty() && reply.headers.is_empty();
        let code = match is_page {
            // nginx makes the page, or replaces it (`error_page`).
            true => reply.status as ngx_int_t,
            false => try_send(r, reply),
        };
        ngx_http_finalize_request(r, code);
    }
}

unsafe fn try_send(r: *mut ngx_http_request_t, reply: &Reply) -> ngx_int_t {
    // SAFETY: `r` is live by contract.
    unsafe {
        let discarded = ngx_http_discard_request_body(r);
        if discarded != NGX_OK as ngx_int_t {
            return discarded;
        }
        let Some(live) = NonNull::new(r) else {
            return NGX_ERROR as ngx_int_t;
        };
        let out = &raw mut (*r).headers_out;
        (*out).status = match reply.status {
            status @ 200..=599 => status.into(),
            _ => NGX_HTTP_INTERNAL_SERVER_ERROR as usize,
        };
        (*out).content_length_n = reply.body.len().try_into().unwrap_or(-1);
        let mut live = LiveRequest::new(live);
        for (name, value) in &reply.headers {
            // Headers that cannot be set are nginx's own.
            let _ = live.add_response_header(name, value);
        }
        let code = ngx_http_send_header(r);
        if code == NGX_ERROR as ngx_int_t || code > NGX_OK as ngx_int_t || (*r).header_only() != 0 {
            return code;
        }
        send_body(r, &reply.body)
    }
}

unsafe fn send_body(r: *mut ngx_http_request_t, body: &[u8]) -> ngx_int_t {
    // SAFETY: `r` is live by contract; a zeroed buffer is what nginx's own `ngx_calloc_buf` gives, and the body is a
    // copy in the same pool.
    unsafe {
        let Ok(copy) = pool::copy((*r).pool, body) else {
            return NGX_ERROR as ngx_int_t;
        };
        let buffer: *mut ngx_buf_t = ngx_pcalloc((*r).pool, size_of::<ngx_buf_t>()).cast();
        if buffer.is_null() {
            return NGX_ERROR as ngx_int_t;
        }
        if !body.is_empty() {
            (*buffer).pos = copy.data;
            (*buffer).last = copy.data.add(copy.len);
            (*buffer).set_memory(1);
        }
        (*buffer).set_last_buf(1);
        (*buffer).set_last_in_chain(1);
        let mut chain = ngx_chain_t {
            buf: buffer,
            next: null_mut(),
        };
        ngx_http_output_filter(r, &mut chain)
    }
}
