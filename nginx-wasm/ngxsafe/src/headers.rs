//! The headers of a request and of its response.
//!
//! nginx keeps some headers twice: in the list, and in fields that point into it or were made of it. Edits keep the
//! pointers right. Headers that nginx has acted upon already, such as those that say where the body ends, cannot be
//! edited: nginx and whoever is behind it must not read a message differently.

use std::ptr::null_mut;

use nginx_sys::{
    NGX_HTTP_HEAD, ngx_hash_find, ngx_hash_strlow, ngx_http_header_t, ngx_http_request_t, ngx_list_push,
    ngx_list_t, ngx_pnalloc, ngx_str_t, ngx_table_elt_t,
};

use crate::config;
use crate::list::{self, Elements};
use crate::pool::{self, OutOfMemory};
use crate::view::View;

/// Why a header was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// nginx has acted upon it already, or writes it itself.
    NotEditable,
    /// A name or a value that cannot be sent.
    Malformed,
    /// The request's pool is exhausted.
    OutOfMemory,
}

impl From<OutOfMemory> for Refused {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

/// In lower case. `host` has chosen the server, the others frame the message or are of one connection only.
const NOT_EDITABLE_IN: &[&[u8]] = &[
    b"connection",
    b"content-length",
    b"expect",
    b"host",
    b"keep-alive",
    b"te",
    b"transfer-encoding",
    b"upgrade",
];
const NOT_EDITABLE_OUT: &[&[u8]] =
    &[b"connection", b"content-length", b"keep-alive", b"trailer", b"transfer-encoding", b"upgrade"];
const CONTENT_TYPE: &[u8] = b"content-type";

impl View<'_> {
    /// All headers of the request, with their names as the client wrote them.
    pub fn each_request_header(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        // SAFETY: the request is live (`View::new`), and `visit` cannot change it: it is borrowed.
        for element in unsafe { Elements::of(self.request_list()) } {
            // SAFETY: as above.
            let (name, value) = unsafe { pair(element) };
            visit(name, value);
        }
    }

    /// How many headers the request has.
    pub fn request_header_count(&self) -> u32 {
        // SAFETY: as in `each_request_header`.
        unsafe { Elements::of(self.request_list()) }.count().try_into().unwrap_or(u32::MAX)
    }

    /// Whether a body follows.
    pub fn has_body(&self) -> bool {
        // SAFETY: the request is live.
        unsafe {
            let headers = &raw const (*self.raw()).headers_in;
            (*headers).content_length_n > 0 || (*headers).chunked() != 0
        }
    }

    /// Whether the request asks for the head of the response only.
    pub fn is_head(&self) -> bool {
        // SAFETY: the request is live.
        unsafe { (*self.raw()).method == NGX_HTTP_HEAD as usize }
    }

    /// The first header of this name in the request.
    pub fn request_header(&self, name: &[u8]) -> Option<&[u8]> {
        // SAFETY: the request is live for longer than the borrow of `self`, and so are its headers' bytes.
        unsafe { Elements::of(self.request_list()).map(|element| pair(element)) }
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// The request's line: method, scheme, and target as the client wrote it.
    pub fn request_line(&self) -> [&[u8]; 3] {
        let r = self.raw();
        // SAFETY: the request is live; nginx has read its line before any phase. A request over TLS has `ssl`.
        unsafe {
            let is_tls = !(*(*r).connection).ssl.is_null();
            let scheme: &[u8] = if is_tls { b"https" } else { b"http" };
            [pool::bytes((*r).method_name), scheme, pool::bytes((*r).unparsed_uri)]
        }
    }

    /// Adds a header to the request, beside others of this name.
    ///
    /// # Errors
    ///
    /// See [`Refused`].
    pub fn add_request_header(&mut self, name: &[u8], value: &[u8]) -> Result<(), Refused> {
        editable(name, value, NOT_EDITABLE_IN)?;
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
    /// See [`Refused`].
    pub fn remove_request_header(&mut self, name: &[u8]) -> Result<(), Refused> {
        editable(name, b"", NOT_EDITABLE_IN)?;
        let (r, list) = (self.raw(), self.request_list());
        // SAFETY: the request is live. A removed element stays in memory, and nothing points to it any more. The search
        // starts again after each removal, which changes the list.
        unsafe {
            let find = || Elements::of(list).find(|element| pair(*element).0.eq_ignore_ascii_case(name));
            while let Some(element) = find() {
                if let Some(field) = request_field(r, element) {
                    known::remove(field, element);
                }
                list::remove(list, element)?;
            }
        }
        Ok(())
    }

    /// The response's status.
    pub fn response_status(&self) -> u16 {
        // SAFETY: the request is live.
        unsafe { (*self.raw()).headers_out.status }.try_into().unwrap_or(0)
    }

    /// How many headers the response has by now.
    pub fn response_header_count(&self) -> u32 {
        let mut count = 0;
        self.each_response_header(|_, _| count += 1);
        count
    }

    /// All headers of the response that are known by now; nginx adds some when it sends them.
    pub fn each_response_header(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        if let Some(value) = self.content_type() {
            visit(CONTENT_TYPE, value);
        }
        // SAFETY: as in `each_request_header`; an element with the hash 0 is removed.
        for element in unsafe { Elements::of(self.response_list()).filter(|e| (**e).hash != 0) } {
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
        unsafe { Elements::of(self.response_list()).filter(|e| (**e).hash != 0).map(|element| pair(element)) }
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Adds a header to the response, beside others of this name.
    ///
    /// # Errors
    ///
    /// See [`Refused`].
    pub fn add_response_header(&mut self, name: &[u8], value: &[u8]) -> Result<(), Refused> {
        editable(name, value, NOT_EDITABLE_OUT)?;
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
    /// See [`Refused`].
    pub fn remove_response_header(&mut self, name: &[u8]) -> Result<(), Refused> {
        editable(name, b"", NOT_EDITABLE_OUT)?;
        if name.eq_ignore_ascii_case(CONTENT_TYPE) {
            return self.set_content_type(b"");
        }
        // SAFETY: the request is live; a hash of 0 is how nginx removes a header of a response.
        unsafe {
            for element in Elements::of(self.response_list()) {
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

    fn set_content_type(&mut self, value: &[u8]) -> Result<(), Refused> {
        let r = self.raw();
        // SAFETY: the request is live; the copy is in its pool. What nginx made of the former value is reset.
        unsafe {
            let out = &raw mut (*r).headers_out;
            (*out).content_type = pool::copy((*r).pool, value)?;
            (*out).content_type_len = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
            (*out).content_type_lowcase = null_mut();
            (*out).charset = ngx_str_t::empty();
        }
        Ok(())
    }

    fn request_list(&self) -> *mut ngx_list_t {
        // SAFETY: the request is live; this is only an address.
        unsafe { &raw mut (*self.raw()).headers_in.headers }
    }

    fn response_list(&self) -> *mut ngx_list_t {
        // SAFETY: as above.
        unsafe { &raw mut (*self.raw()).headers_out.headers }
    }

    /// The field that points to a header of the response: other filters look there.
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

/// A name must be a token, and a value must not end its line.
fn editable(name: &[u8], value: &[u8], not_editable: &[&[u8]]) -> Result<(), Refused> {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    if name.first() == Some(&b':') || not_editable.iter().any(|known| name.eq_ignore_ascii_case(known)) {
        Err(Refused::NotEditable)
    } else if name.is_empty()
        || !name.iter().all(is_token)
        || value.iter().any(|byte| b"\r\n\0".contains(byte))
    {
        Err(Refused::Malformed)
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
/// The request is live and the list is its.
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

/// The field of `headers_in` for a header that nginx knows; its type depends on the header and on the version.
///
/// # Safety
///
/// The request is live, and the element one of its headers, with its hash and its name in lower case.
unsafe fn request_field(r: *mut ngx_http_request_t, element: *mut ngx_table_elt_t) -> Option<known::Field> {
    // SAFETY: by contract; the core module's hash gives a header's description, whose offset is one of `headers_in`.
    unsafe {
        let core = config::core_main((*r).main_conf);
        let (hash, name, length) = ((*element).hash, (*element).lowcase_key, (*element).key.len);
        let header: *mut ngx_http_header_t =
            ngx_hash_find(&raw mut (*core).headers_in_hash, hash, name, length).cast();
        let offset = header.as_ref()?.offset;
        let address = (&raw mut (*r).headers_in).byte_add(offset);
        // The list itself is the first field, so 0 stands for none.
        (offset != 0).then(|| known::Field::at(address.cast(), std::slice::from_raw_parts(name, length)))
    }
}

/// Known headers where those of one name are linked.
#[cfg(nginx_linked_headers)]
mod known {
    use nginx_sys::{ngx_http_request_t, ngx_table_elt_t};

    use crate::pool::OutOfMemory;

    pub(super) struct Field(*mut *mut ngx_table_elt_t);

    impl Field {
        pub(super) fn at(address: *mut std::ffi::c_void, _name: &[u8]) -> Self {
            Self(address.cast())
        }
    }

    /// # Safety
    ///
    /// The field and the elements that it leads to are live.
    pub(super) unsafe fn add(
        _r: *mut ngx_http_request_t,
        field: Field,
        element: *mut ngx_table_elt_t,
    ) -> Result<(), OutOfMemory> {
        let mut end = field.0;
        // SAFETY: by contract; the links end with null.
        unsafe {
            while !(*end).is_null() {
                end = &raw mut (**end).next;
            }
            *end = element;
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As of `add`.
    pub(super) unsafe fn remove(field: Field, element: *mut ngx_table_elt_t) {
        let mut link = field.0;
        // SAFETY: by contract.
        unsafe {
            while !(*link).is_null() {
                if *link == element {
                    *link = (*element).next;
                    return;
                }
                link = &raw mut (**link).next;
            }
        }
    }
}

/// Known headers before 1.23: one pointer each, but for two that are arrays of pointers.
#[cfg(not(nginx_linked_headers))]
mod known {
    use nginx_sys::{ngx_array_create, ngx_array_push, ngx_array_t, ngx_http_request_t, ngx_table_elt_t};

    use crate::pool::OutOfMemory;

    pub(super) enum Field {
        One(*mut *mut ngx_table_elt_t),
        Many(*mut ngx_array_t),
    }

    impl Field {
        pub(super) fn at(address: *mut std::ffi::c_void, name: &[u8]) -> Self {
            match name {
                b"cookie" | b"x-forwarded-for" => Self::Many(address.cast()),
                _ => Self::One(address.cast()),
            }
        }
    }

    /// # Safety
    ///
    /// The request is live and the field is its.
    pub(super) unsafe fn add(
        r: *mut ngx_http_request_t,
        field: Field,
        element: *mut ngx_table_elt_t,
    ) -> Result<(), OutOfMemory> {
        // SAFETY: by contract. An array that was never used is zeroed; nginx makes it in the same way.
        unsafe {
            match field {
                Field::One(field) if (*field).is_null() => *field = element,
                // The first of them is the one that nginx looks at.
                Field::One(_) => {}
                Field::Many(array) => {
                    if (*array).nalloc == 0 {
                        let size = size_of::<*mut ngx_table_elt_t>();
                        let made = ngx_array_create((*r).pool, 1, size).as_ref().ok_or(OutOfMemory)?;
                        array.write(*made);
                    }
                    let slot: *mut *mut ngx_table_elt_t = ngx_array_push(array).cast();
                    if slot.is_null() {
                        return Err(OutOfMemory);
                    }
                    *slot = element;
                }
            }
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As of `add`.
    pub(super) unsafe fn remove(field: Field, element: *mut ngx_table_elt_t) {
        // SAFETY: by contract; an array has `nelts` elements.
        unsafe {
            match field {
                Field::One(field) if *field == element => *field = std::ptr::null_mut(),
                Field::One(_) => {}
                Field::Many(array) => {
                    let elements = (*array).as_slice_mut::<*mut ngx_table_elt_t>();
                    let mut kept = 0;
                    for n in 0..elements.len() {
                        if elements[n] != element {
                            elements[kept] = elements[n];
                            kept += 1;
                        }
                    }
                    (*array).nelts = kept;
                }
            }
        }
    }
}
