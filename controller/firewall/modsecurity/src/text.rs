//! Texts of the library.

use std::ffi::{CStr, CString, c_char, c_void};

unsafe extern "C" {
    fn free(memory: *mut c_void);
}

/// A text for the library, up to the first zero.
pub(crate) fn c_text(text: &[u8]) -> CString {
    let end = text
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(text.len());
    CString::new(text.get(..end).unwrap_or_default()).unwrap_or_default()
}

/// A text that the library gives away.
///
/// # Safety
///
/// It is null, or from `malloc`, ends with a zero, and nobody uses it any more.
pub(crate) unsafe fn taken(text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller promises it.
    let copy = unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned();
    // SAFETY: the caller promises it, and the copy is made.
    unsafe { free(text.cast()) };
    Some(copy)
}
