//! Bytes that cross the ABI.

use std::ptr::null;

/// Bytes of Envoy's.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct EnvoyBuffer {
    data: *const u8,
    len: usize,
}

/// Bytes of the module's.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ModuleBuffer {
    data: *const u8,
    len: usize,
}

/// A header of the module's.
#[repr(C)]
pub struct ModuleHeader {
    name: ModuleBuffer,
    value: ModuleBuffer,
}

/// A header of Envoy's.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct EnvoyHeader {
    pub name: EnvoyBuffer,
    pub value: EnvoyBuffer,
}

impl EnvoyBuffer {
    pub const NOTHING: EnvoyBuffer = EnvoyBuffer {
        data: null(),
        len: 0,
    };

    /// The bytes, as long as Envoy shows them.
    ///
    /// # Safety
    ///
    /// Envoy has filled this, and nothing of what it is from has changed since.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.data.is_null() {
            return &[];
        }
        // SAFETY: Envoy says that so many bytes are there, and the caller that they still are.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

impl ModuleBuffer {
    pub const NOTHING: ModuleBuffer = ModuleBuffer {
        data: null(),
        len: 0,
    };
}

impl From<&[u8]> for ModuleBuffer {
    fn from(bytes: &[u8]) -> Self {
        ModuleBuffer {
            data: bytes.as_ptr(),
            len: bytes.len(),
        }
    }
}

impl From<&str> for ModuleBuffer {
    fn from(text: &str) -> Self {
        text.as_bytes().into()
    }
}

impl From<(&str, &str)> for ModuleHeader {
    fn from((name, value): (&str, &str)) -> Self {
        ModuleHeader {
            name: name.into(),
            value: value.into(),
        }
    }
}
