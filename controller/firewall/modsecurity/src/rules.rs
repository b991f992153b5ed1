//! Parsed rules.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{NonNull, null};
use std::sync::Arc;

use crate::library::{Library, Raw};
use crate::text::{c_text, taken};

/// A set of rules. Rules that it takes from another set are shared with that.
#[derive(Debug)]
pub struct Rules {
    library: Arc<Library>,
    pub(crate) raw: NonNull<c_void>,
}

// SAFETY: the library asks for no certain thread, and transactions only read rules.
unsafe impl Send for Rules {}
// SAFETY: what changes them takes `&mut self`.
unsafe impl Sync for Rules {}

impl Rules {
    /// No rules. `None`: there is no memory for it.
    #[must_use]
    pub fn new(library: &Arc<Library>) -> Option<Self> {
        // SAFETY: it has no conditions.
        let raw = NonNull::new(unsafe { (library.functions.msc_create_rules_set)() })?;
        Some(Rules {
            library: Arc::clone(library),
            raw,
        })
    }

    /// Adds rules behind those that are there. Settings that are there stay.
    ///
    /// # Errors
    ///
    /// What the library says of the first line that it does not take.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let text = c_text(text.as_bytes());
        let add = self.library.functions.msc_rules_add;
        // SAFETY: the rules are alive, the text ends with a zero, and is copied.
        let call = |raw: Raw, error: *mut *const c_char| unsafe { add(raw, text.as_ptr(), error) };
        self.changed(call)
    }

    /// Adds the rules of another set behind those that are there. Settings that are there stay.
    ///
    /// # Errors
    ///
    /// An id is in both.
    pub fn merge(&mut self, other: &Rules) -> Result<(), String> {
        let merge = self.library.functions.msc_rules_merge;
        // SAFETY: both are alive, and are not the same: one of them is borrowed for itself.
        let call =
            |raw: Raw, error: *mut *const c_char| unsafe { merge(raw, other.raw.as_ptr(), error) };
        self.changed(call)
    }

    fn changed(&mut self, call: impl Fn(Raw, *mut *const c_char) -> c_int) -> Result<(), String> {
        let mut error: *const c_char = null();
        if call(self.raw.as_ptr(), &raw mut error) >= 0 {
            return Ok(());
        }
        // SAFETY: the library has copied it for us (`strdup`).
        let said = unsafe { taken(error.cast_mut()) };
        Err(said.unwrap_or_else(|| "no reason given".to_owned()))
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        // SAFETY: transactions keep the rules alive that they use.
        unsafe { (self.library.functions.msc_rules_cleanup)(self.raw.as_ptr()) };
    }
}
