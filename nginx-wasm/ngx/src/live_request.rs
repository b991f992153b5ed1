//! Access to a live request.

use std::marker::PhantomData;
use std::ptr::NonNull;

use nginx_sys::{
    NGX_HTTP_VAR_CHANGEABLE, NGX_HTTP_VAR_INDEXED, ngx_hash_find, ngx_hash_strlow,
    ngx_http_get_flushed_variable, ngx_http_get_variable, ngx_http_request_t, ngx_http_variable_t,
    ngx_http_variable_value_t, ngx_str_t, ngx_uint_t,
};

use crate::conf::{self, VariableIndex};
use crate::log::{self, Level};
use crate::pool;

/// A live request. Borrowed values end with the next change.
pub struct LiveRequest<'a> {
    r: NonNull<ngx_http_request_t>,
    request: PhantomData<&'a mut ()>,
}

/// Failure to set a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableError {
    /// The variable does not exist, or the configuration does not use it.
    Unknown,
    /// The variable cannot be changed.
    ReadOnly,
    /// The request's pool is exhausted.
    OutOfMemory,
}

/// Length limit of a variable's name.
const MAX_NAME: usize = 128;

impl LiveRequest<'_> {
    /// # Safety
    ///
    /// The request is live as long as this.
    pub(crate) unsafe fn new(r: NonNull<ngx_http_request_t>) -> Self {
        Self {
            r,
            request: PhantomData,
        }
    }

    pub(crate) fn raw(&self) -> *mut ngx_http_request_t {
        self.r.as_ptr()
    }

    /// The host that the client asks for: in lower case, without a port; empty if it asks for none.
    pub fn host(&self) -> &[u8] {
        // SAFETY: the request is live (`new`), and the host is in its pool or in its connection's.
        unsafe { pool::bytes((*self.r.as_ptr()).headers_in.server) }
    }

    /// The `Host` header as the client wrote it; empty if there is none.
    pub fn host_header(&self) -> &[u8] {
        // SAFETY: the request is live (`new`); the header is null or in its pool or in its connection's.
        unsafe {
            let header = (*self.r.as_ptr()).headers_in.host.as_ref();
            header.map_or(&[], |header| pool::bytes(header.value))
        }
    }

    /// The path, decoded and normalised.
    pub fn path(&self) -> &[u8] {
        // SAFETY: the request is live (`new`), and the path is in its pool.
        unsafe { pool::bytes((*self.r.as_ptr()).uri) }
    }

    /// Value of a variable, as for `$name` in the configuration.
    pub fn variable(&mut self, name: &[u8]) -> Option<&[u8]> {
        let mut buffer = [0; MAX_NAME];
        let (mut name, key) = lower_case(name, &mut buffer)?;
        // SAFETY: the request is live (`new`). The value's bytes are in its pool or constant; they are valid until
        // the request ends, and so for the borrow of `self`.
        unsafe {
            let value = ngx_http_get_variable(self.r.as_ptr(), &mut name, key);
            let value = value
                .as_ref()
                .filter(|value| value.not_found() == 0 && value.valid() != 0)?;
            Some(value.as_bytes())
        }
    }

    /// Value of a variable that the configuration has looked up.
    pub fn variable_at(&mut self, index: VariableIndex) -> Option<&[u8]> {
        // SAFETY: as in `variable`; nginx knows which indices its request has, and returns null for others.
        unsafe {
            let value = ngx_http_get_flushed_variable(self.r.as_ptr(), index.0);
            let value = value
                .as_ref()
                .filter(|value| value.not_found() == 0 && value.valid() != 0)?;
            Some(value.as_bytes())
        }
    }

    /// Sets a variable, as `set` in the configuration does.
    ///
    /// # Errors
    ///
    /// See [`VariableError`].
    pub fn set_variable(&mut self, name: &[u8], value: &[u8]) -> Result<(), VariableError> {
        let mut buffer = [0; MAX_NAME];
        let (name, key) = lower_case(name, &mut buffer).ok_or(VariableError::Unknown)?;
        let r = self.r.as_ptr();
        // SAFETY: the request is live (`new`); the core module's main configuration has the hash of all variables,
        // and a variable with the flag `INDEXED` an index within the request's. The value is a copy in the
        // request's pool, of a length that fits nginx's 28 bits.
        unsafe {
            let core = conf::core_main((*r).main_conf);
            let found = ngx_hash_find(&raw mut (*core).variables_hash, key, name.data, name.len);
            let variable = found
                .cast::<ngx_http_variable_t>()
                .as_ref()
                .ok_or(VariableError::Unknown)?;
            if variable.flags & NGX_HTTP_VAR_CHANGEABLE as ngx_uint_t == 0 {
                return Err(VariableError::ReadOnly);
            }
            let is_indexed = variable.flags & NGX_HTTP_VAR_INDEXED as ngx_uint_t != 0;
            if variable.set_handler.is_none() && !is_indexed {
                return Err(VariableError::Unknown);
            }
            let copy = pool::copy((*r).pool, value).map_err(|_| VariableError::OutOfMemory)?;
            let mut value: ngx_http_variable_value_t = std::mem::zeroed();
            value.set_len(
                u32::try_from(copy.len)
                    .ok()
                    .filter(|len| *len < 1 << 28)
                    .ok_or(VariableError::OutOfMemory)?,
            );
            value.set_valid(1);
            value.data = copy.data;
            match variable.set_handler {
                Some(set) => set(r, &mut value, variable.data),
                None => *(*r).variables.add(variable.index) = value,
            }
        }
        Ok(())
    }

    /// Writes a line to the request's log, which adds the client and the request line.
    pub fn log(&self, level: Level, message: &[u8]) {
        // SAFETY: the request is live (`new`), and so are its connection and that one's log.
        unsafe { log::write((*(*self.r.as_ptr()).connection).log, level, message) };
    }
}

fn lower_case(name: &[u8], buffer: &mut [u8; MAX_NAME]) -> Option<(ngx_str_t, ngx_uint_t)> {
    let lower = buffer.get_mut(..name.len())?;
    // SAFETY: both have the same length; the source is only read.
    let key = unsafe { ngx_hash_strlow(lower.as_mut_ptr(), name.as_ptr().cast_mut(), name.len()) };
    Some((
        ngx_str_t {
            len: name.len(),
            data: lower.as_mut_ptr(),
        },
        key,
    ))
}
