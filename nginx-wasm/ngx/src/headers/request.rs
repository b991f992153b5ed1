//! The headers of a request.

use nginx_sys::{
    NGX_HTTP_HEAD, ngx_hash_find, ngx_http_header_t, ngx_http_request_t, ngx_list_t,
    ngx_table_elt_t,
};

use super::{HeaderError, check_editable, known, pair, push};
use crate::conf;
use crate::list::{self, Elements};
use crate::live_request::LiveRequest;
use crate::pool;

/// Names in lower case. `host` has selected the server; the others frame the message or are hop-by-hop.
const NOT_EDITABLE: &[&[u8]] = &[
    b"connection",
    b"content-length",
    b"expect",
    b"host",
    b"keep-alive",
    b"te",
    b"transfer-encoding",
    b"upgrade",
];

impl LiveRequest<'_> {
    /// Visits all headers of the request, with names as the client wrote them.
    pub fn each_request_header(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        // SAFETY: the request is live (`LiveRequest::new`), and `visit` cannot change it: it is borrowed.
        for element in unsafe { Elements::new(self.request_list()) } {
            // SAFETY: as above.
            let (name, value) = unsafe { pair(element) };
            visit(name, value);
        }
    }

    /// Number of headers of the request.
    pub fn request_header_count(&self) -> u32 {
        // SAFETY: as in `each_request_header`.
        unsafe { Elements::new(self.request_list()) }
            .count()
            .try_into()
            .unwrap_or(u32::MAX)
    }

    /// True if a body follows.
    pub fn has_body(&self) -> bool {
        // SAFETY: the request is live.
        unsafe {
            let headers = &raw const (*self.raw()).headers_in;
            (*headers).content_length_n > 0 || (*headers).chunked() != 0
        }
    }

    /// True for a HEAD request.
    pub fn is_head(&self) -> bool {
        // SAFETY: the request is live.
        unsafe { (*self.raw()).method == NGX_HTTP_HEAD as usize }
    }

    /// The first header of this name in the request.
    pub fn request_header(&self, name: &[u8]) -> Option<&[u8]> {
        // SAFETY: the request is live for longer than the borrow of `self`, and so are its headers' bytes.
        unsafe { Elements::new(self.request_list()).map(|element| pair(element)) }
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// The request line: method, scheme, and target as the client wrote it.
    pub fn request_line(&self) -> [&[u8]; 3] {
        let r = self.raw();
        // SAFETY: the request is live; nginx has read its line before any phase. A request over TLS has `ssl`.
        unsafe {
            let is_tls = !(*(*r).connection).ssl.is_null();
            let scheme: &[u8] = if is_tls { b"https" } else { b"http" };
            [
                pool::bytes((*r).method_name),
                scheme,
                pool::bytes((*r).unparsed_uri),
            ]
        }
    }

    /// Adds a header to the request and keeps others of the same name.
    ///
    /// # Errors
    ///
    /// See [`HeaderError`].
    pub fn add_request_header(&mut self, name: &[u8], value: &[u8]) -> Result<(), HeaderError> {
        check_editable(name, value, NOT_EDITABLE)?;
        let r = self.raw();
        // SAFETY: the request is live; the new element is of its list.
        unsafe {
            let element = push(r, self.request_list(), name, value)?;
            if let Some(field) = request_field(r, element) {
                known::add(r, field, element)?;
            }
        }
        Ok(())
    }

    /// Removes all headers of this name from the request.
    ///
    /// # Errors
    ///
    /// See [`HeaderError`].
    pub fn remove_request_header(&mut self, name: &[u8]) -> Result<(), HeaderError> {
        check_editable(name, b"", NOT_EDITABLE)?;
        let (r, list) = (self.raw(), self.request_list());
        // SAFETY: the request is live. A removed element stays in memory, and nothing points to it any more. The search
        // starts again after each removal, which changes the list.
        unsafe {
            let find =
                || Elements::new(list).find(|element| pair(*element).0.eq_ignore_ascii_case(name));
            while let Some(element) = find() {
                if let Some(field) = request_field(r, element) {
                    known::remove(field, element);
                }
                list::remove(list, element)?;
            }
        }
        Ok(())
    }

    fn request_list(&self) -> *mut ngx_list_t {
        // SAFETY: the request is live; this is only an address.
        unsafe { &raw mut (*self.raw()).headers_in.headers }
    }
}

/// The field of `headers_in` for a header that nginx knows; its type depends on the header and on the version.
///
/// # Safety
///
/// The request is live, and the element one of its headers, with its hash and its name in lower case.
unsafe fn request_field(
    r: *mut ngx_http_request_t,
    element: *mut ngx_table_elt_t,
) -> Option<known::Field> {
    // SAFETY: by contract; the core module's hash gives a header's description, whose offset is one of `headers_in`.
    unsafe {
        let core = conf::core_main((*r).main_conf);
        let (hash, name, length) = ((*element).hash, (*element).lowcase_key, (*element).key.len);
        let header: *mut ngx_http_header_t =
            ngx_hash_find(&raw mut (*core).headers_in_hash, hash, name, length).cast();
        let offset = header.as_ref()?.offset;
        let address = (&raw mut (*r).headers_in).byte_add(offset);
        // The list itself is the first field, so 0 stands for none.
        (offset != 0)
            .then(|| known::Field::at(address.cast(), std::slice::from_raw_parts(name, length)))
    }
}
