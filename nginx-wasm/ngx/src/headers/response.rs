//! The headers of a response.

use std::ptr::null_mut;

use nginx_sys::{ngx_list_t, ngx_str_t, ngx_table_elt_t};

use super::{HeaderError, check_editable, pair, push};
use crate::list::Elements;
use crate::live_request::LiveRequest;
use crate::pool;

const NOT_EDITABLE: &[&[u8]] = &[
    b"connection",
    b"content-length",
    b"keep-alive",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
];
const CONTENT_TYPE: &[u8] = b"content-type";

impl LiveRequest<'_> {
    /// The response's status.
    pub fn response_status(&self) -> u16 {
        // SAFETY: the request is live.
        unsafe { (*self.raw()).headers_out.status }
            .try_into()
            .unwrap_or(0)
    }

    /// Number of headers that the response has so far.
    pub fn response_header_count(&self) -> u32 {
        let mut count = 0;
        self.each_response_header(|_, _| count += 1);
        count
    }

    /// Visits all headers that the response has so far; nginx adds some when it sends them.
    pub fn each_response_header(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        if let Some(value) = self.content_type() {
            visit(CONTENT_TYPE, value);
        }
        // SAFETY: as in `each_request_header`; an element with the hash 0 is removed.
        for element in unsafe { Elements::new(self.response_list()).filter(|e| (**e).hash != 0) } {
            // SAFETY: as above.
            let (name, value) = unsafe { pair(element) };
            visit(name, value);
        }
    }

    /// The first header of this name in the response.
    pub fn response_header(&self, name: &[u8]) -> Option<&[u8]> {
        if name.eq_ignore_ascii_case(CONTENT_TYPE) {
            return self.content_type();
        }
        // SAFETY: as in `request_header`.
        unsafe {
            Elements::new(self.response_list())
                .filter(|e| (**e).hash != 0)
                .map(|element| pair(element))
        }
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
    }

    /// Adds a header to the response and keeps others of the same name.
    ///
    /// # Errors
    ///
    /// See [`HeaderError`].
    pub fn add_response_header(&mut self, name: &[u8], value: &[u8]) -> Result<(), HeaderError> {
        check_editable(name, value, NOT_EDITABLE)?;
        if name.eq_ignore_ascii_case(CONTENT_TYPE) {
            return self.set_content_type(value);
        }
        // SAFETY: the request is live; the new element is of its response's list.
        unsafe {
            let element = push(self.raw(), self.response_list(), name, value)?;
            if let Some(field) = self.response_field(name) {
                *field = element;
            }
        }
        Ok(())
    }

    /// Removes all headers of this name from the response.
    ///
    /// # Errors
    ///
    /// See [`HeaderError`].
    pub fn remove_response_header(&mut self, name: &[u8]) -> Result<(), HeaderError> {
        check_editable(name, b"", NOT_EDITABLE)?;
        if name.eq_ignore_ascii_case(CONTENT_TYPE) {
            return self.set_content_type(b"");
        }
        // SAFETY: the request is live; a hash of 0 is how nginx removes a header of a response.
        unsafe {
            for element in Elements::new(self.response_list()) {
                if pair(element).0.eq_ignore_ascii_case(name) {
                    (*element).hash = 0;
                }
            }
            if let Some(field) = self.response_field(name) {
                *field = null_mut();
            }
        }
        Ok(())
    }

    fn content_type(&self) -> Option<&[u8]> {
        // SAFETY: the request is live for longer than the borrow.
        let value = unsafe { pool::bytes((*self.raw()).headers_out.content_type) };
        (!value.is_empty()).then_some(value)
    }

    fn set_content_type(&mut self, value: &[u8]) -> Result<(), HeaderError> {
        let r = self.raw();
        // SAFETY: the request is live; the copy is in its pool. Values derived from the former one are reset.
        unsafe {
            let out = &raw mut (*r).headers_out;
            (*out).content_type = pool::copy((*r).pool, value)?;
            (*out).content_type_len = value
                .iter()
                .position(|byte| *byte == b';')
                .unwrap_or(value.len());
            (*out).content_type_lowcase = null_mut();
            (*out).charset = ngx_str_t::empty();
        }
        Ok(())
    }

    fn response_list(&self) -> *mut ngx_list_t {
        // SAFETY: as above.
        unsafe { &raw mut (*self.raw()).headers_out.headers }
    }

    /// The field that points to a header of the response, which other filters read.
    fn response_field(&self, name: &[u8]) -> Option<*mut *mut ngx_table_elt_t> {
        // SAFETY: the request is live; these are only addresses.
        unsafe {
            let out = &raw mut (*self.raw()).headers_out;
            Some(match &*name.to_ascii_lowercase() {
                b"server" => &raw mut (*out).server,
                b"date" => &raw mut (*out).date,
                b"content-encoding" => &raw mut (*out).content_encoding,
                b"location" => &raw mut (*out).location,
                b"refresh" => &raw mut (*out).refresh,
                b"last-modified" => &raw mut (*out).last_modified,
                b"content-range" => &raw mut (*out).content_range,
                b"accept-ranges" => &raw mut (*out).accept_ranges,
                b"www-authenticate" => &raw mut (*out).www_authenticate,
                b"expires" => &raw mut (*out).expires,
                b"etag" => &raw mut (*out).etag,
                _ => return None,
            })
        }
    }
}
