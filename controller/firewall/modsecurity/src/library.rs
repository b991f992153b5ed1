//! The library and its functions.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use libloading::Symbol;

/// File name of the library: the part of its version that stands for its interface.
pub const NAME: &str = "libmodsecurity.so.3";

/// A value of the library's own.
pub(crate) type Raw = *mut c_void;
type Callback = unsafe extern "C" fn(*mut c_void, *const c_void);
/// Name and value of a header.
pub(crate) type AddHeader = unsafe extern "C" fn(Raw, *const u8, usize, *const u8, usize) -> c_int;

/// `ModSecurityIntervention`
#[repr(C)]
pub(crate) struct RawIntervention {
    pub(crate) status: c_int,
    pub(crate) pause: c_int,
    pub(crate) url: *mut c_char,
    pub(crate) log: *mut c_char,
    pub(crate) disruptive: c_int,
}

/// Declares functions of the library, and how they are found in it.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Functions by their names in C.
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            fn find(library: &libloading::Library) -> Result<Self, libloading::Error> {
                // SAFETY: these are the types of the functions in the headers of libmodsecurity 3.0. The pointers are kept with
                // the library, which is never unloaded before them.
                unsafe {
                    $(let $name: Symbol<'_, unsafe extern "C" fn($($argument),*) $(-> $result)?> =
                        library.get(concat!(stringify!($name), "\0").as_bytes())?;)*
                    Ok(Functions { $($name: *$name,)* })
                }
            }
        }
    };
}

functions! {
    msc_init: fn() -> Raw;
    msc_who_am_i: fn(Raw) -> *const c_char;
    msc_set_log_cb: fn(Raw, Callback);
    msc_create_rules_set: fn() -> Raw;
    msc_rules_add: fn(Raw, *const c_char, *mut *const c_char) -> c_int;
    msc_rules_merge: fn(Raw, Raw, *mut *const c_char) -> c_int;
    msc_rules_cleanup: fn(Raw) -> c_int;
    msc_new_transaction: fn(Raw, Raw, *mut c_void) -> Raw;
    msc_new_transaction_with_id: fn(Raw, Raw, *const c_char, *mut c_void) -> Raw;
    msc_process_connection: fn(Raw, *const c_char, c_int, *const c_char, c_int) -> c_int;
    msc_process_uri: fn(Raw, *const c_char, *const c_char, *const c_char) -> c_int;
    msc_add_n_request_header: fn(Raw, *const u8, usize, *const u8, usize) -> c_int;
    msc_process_request_headers: fn(Raw) -> c_int;
    msc_append_request_body: fn(Raw, *const u8, usize) -> c_int;
    msc_process_request_body: fn(Raw) -> c_int;
    msc_add_n_response_header: fn(Raw, *const u8, usize, *const u8, usize) -> c_int;
    msc_process_response_headers: fn(Raw, c_int, *const c_char) -> c_int;
    msc_append_response_body: fn(Raw, *const u8, usize) -> c_int;
    msc_process_response_body: fn(Raw) -> c_int;
    msc_update_status_code: fn(Raw, c_int) -> c_int;
    msc_intervention: fn(Raw, *mut RawIntervention) -> c_int;
    msc_process_logging: fn(Raw) -> c_int;
    msc_transaction_cleanup: fn(Raw);
}

/// The loaded library.
pub struct Library {
    pub(crate) functions: Functions,
    /// Keeps the functions where they are.
    _loaded: libloading::Library,
}

impl Library {
    /// Loads the library from a file, or from where libraries are installed if there is only a name.
    ///
    /// # Errors
    ///
    /// It is not installed, or is not a libmodsecurity 3.0.
    pub fn load(file: &Path) -> Result<Arc<Self>, String> {
        // SAFETY: its initialisers are those of C++ libraries, which have no conditions.
        let loaded =
            unsafe { libloading::Library::new(file) }.map_err(|error| error.to_string())?;
        let functions = Functions::find(&loaded).map_err(|error| error.to_string())?;
        Ok(Arc::new(Library {
            functions,
            _loaded: loaded,
        }))
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAME)
    }
}

/// An engine, with what its requests have in common. It lives as long as the process: its end would end what the engines of
/// other threads use (libxml2, curl).
#[derive(Debug)]
pub struct Engine {
    pub(crate) library: Arc<Library>,
    pub(crate) raw: NonNull<c_void>,
}

// SAFETY: the library asks for no certain thread.
unsafe impl Send for Engine {}
// SAFETY: threads may have transactions of one engine at the same time (the library's example `multithread`).
unsafe impl Sync for Engine {}

impl Engine {
    /// `None`: there is no memory for it.
    #[must_use]
    pub fn new(library: &Arc<Library>) -> Option<Self> {
        // SAFETY: it has no conditions, but for threads that do the same, and the callers have one.
        let raw = NonNull::new(unsafe { (library.functions.msc_init)() })?;
        // SAFETY: the engine is alive. Without a callback it would write into the standard error itself.
        unsafe { (library.functions.msc_set_log_cb)(raw.as_ptr(), ignored) };
        Some(Engine {
            library: Arc::clone(library),
            raw,
        })
    }

    /// Name and version.
    #[must_use]
    pub fn version(&self) -> String {
        // SAFETY: the engine is alive, and owns the text.
        let text =
            unsafe { CStr::from_ptr((self.library.functions.msc_who_am_i)(self.raw.as_ptr())) };
        text.to_string_lossy().into_owned()
    }
}

/// Drops what rules log: rejections have it in their [`Intervention`](crate::Intervention), all of it is in the audit log.
unsafe extern "C" fn ignored(_: *mut c_void, _: *const c_void) {}
