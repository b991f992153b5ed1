//! The tables by which nginx finds a module, and the macro that exports them.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use nginx_sys::{
    NGX_CONF_1MORE, NGX_CONF_NOARGS, NGX_CONF_TAKE1, NGX_CONF_TAKE2, NGX_HTTP_LOC_CONF,
    NGX_HTTP_LOC_CONF_OFFSET, NGX_HTTP_MAIN_CONF, NGX_HTTP_MAIN_CONF_OFFSET, NGX_HTTP_MODULE,
    NGX_HTTP_SRV_CONF, NGX_HTTP_SRV_CONF_OFFSET, NGX_HTTP_UPS_CONF, ngx_command_t,
    ngx_http_module_t, ngx_module_t, ngx_str_t, ngx_uint_t,
};

use crate::module::{Arguments, Directive, Registered, Setter};
use crate::peer::Upstream;
use crate::table::Table;
use crate::{directives, phases, stream, variables, worker};

impl Table {
    /// The table of a module with these directives.
    pub const fn new<M: Registered, const N: usize>(
        context: &'static HttpContext,
        commands: &'static Commands<N>,
    ) -> Self {
        let mut table = ngx_module_t::default();
        // nginx takes these as `*mut` and only reads them.
        table.ctx = (&raw const context.0).cast_mut().cast();
        table.commands = (&raw const commands.0).cast_mut().cast();
        table.type_ = NGX_HTTP_MODULE as ngx_uint_t;
        table.init_process = Some(worker::init_process::<M>);
        table.exit_process = Some(worker::exit_process::<M>);
        Self::from_parts(table, phases::end_of_request::<M>)
    }
}

/// nginx's table of configuration functions.
#[repr(transparent)]
pub struct HttpContext(ngx_http_module_t);

// SAFETY: it holds functions only.
unsafe impl Sync for HttpContext {}

impl HttpContext {
    /// The configuration functions of a module.
    pub const fn new<M: Registered>() -> Self {
        Self(ngx_http_module_t {
            preconfiguration: Some(variables::add::<M>),
            postconfiguration: Some(phases::postconfiguration::<M>),
            create_main_conf: Some(directives::create::<M::Main>),
            init_main_conf: None,
            create_srv_conf: Some(directives::create::<Upstream>),
            merge_srv_conf: None,
            create_loc_conf: Some(directives::create::<M::Location>),
            merge_loc_conf: Some(directives::merge_location::<M>),
        })
    }
}

/// nginx's table of directives, terminated by an empty one.
#[repr(transparent)]
pub struct Commands<const N: usize>([ngx_command_t; N]);

// SAFETY: it is never written after its initialization, and it points to constants only.
unsafe impl<const N: usize> Sync for Commands<N> {}

impl<const N: usize> Commands<N> {
    /// The directives of a module; `N` is one more than it has.
    pub const fn new<M: Registered>() -> Self {
        assert!(N == M::DIRECTIVES.len() + 1);
        let mut commands = [const { ngx_command_t::empty() }; N];
        let mut n = 0;
        while n < M::DIRECTIVES.len() {
            commands[n] = command::<M>(&M::DIRECTIVES[n]);
            n += 1;
        }
        Self(commands)
    }
}

const fn command<M: Registered>(directive: &'static Directive<M>) -> ngx_command_t {
    let (place, conf) = match directive.set {
        Setter::Main(_) => (NGX_HTTP_MAIN_CONF, NGX_HTTP_MAIN_CONF_OFFSET),
        Setter::Location(_) => (
            NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF,
            NGX_HTTP_LOC_CONF_OFFSET,
        ),
        Setter::Peer(_) => (NGX_HTTP_UPS_CONF, NGX_HTTP_SRV_CONF_OFFSET),
    };
    let arguments = match directive.arguments {
        Arguments::None => NGX_CONF_NOARGS,
        Arguments::One => NGX_CONF_TAKE1,
        Arguments::Two => NGX_CONF_TAKE2,
        Arguments::OneOrMore => NGX_CONF_1MORE,
    };
    let name = directive.name;
    ngx_command_t {
        name: ngx_str_t {
            len: name.count_bytes(),
            data: name.as_ptr().cast_mut().cast(),
        },
        type_: (place | arguments) as ngx_uint_t,
        set: Some(directives::set::<M>),
        conf,
        offset: 0,
        post: (&raw const *directive).cast_mut().cast::<c_void>(),
    }
}

/// A constant array of pointers, which nginx reads from the library.
#[repr(transparent)]
pub struct Pointers<T: 'static, const N: usize>([*mut T; N]);

// SAFETY: it is never written; only nginx follows the pointers, on its one thread.
unsafe impl<T, const N: usize> Sync for Pointers<T, N> {}

impl Pointers<ngx_module_t, 3> {
    /// The modules of a library: one for HTTP and one for `stream {}`.
    pub const fn to_tables(table: &'static Table) -> Self {
        Self([table.as_ptr(), stream::table(), null_mut()])
    }
}

impl Pointers<c_char, 3> {
    /// The names of the modules.
    pub const fn to_names(http: &'static CStr, stream: &'static CStr) -> Self {
        Self([
            http.as_ptr().cast_mut(),
            stream.as_ptr().cast_mut(),
            null_mut(),
        ])
    }
}

/// Exports the symbols by which nginx finds the modules of a library, one for HTTP and one for `stream {}`:
/// `module!(Sluice, c"ngx_http_sluice_module", c"ngx_stream_sluice_module")`.
#[macro_export]
macro_rules! module {
    ($module:ty, $http:expr, $stream:expr) => {
        static CONTEXT: $crate::HttpContext = $crate::HttpContext::new::<$module>();
        static COMMANDS: $crate::Commands<{ <$module as $crate::Module>::DIRECTIVES.len() + 1 }> =
            $crate::Commands::new::<$module>();
        static TABLE: $crate::Table = $crate::Table::new::<$module, _>(&CONTEXT, &COMMANDS);

        impl $crate::Registered for $module {
            fn table() -> &'static $crate::Table {
                &TABLE
            }
        }

        /// The modules of this library.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals)]
        pub static ngx_modules: $crate::Pointers<$crate::nginx_sys::ngx_module_t, 3> =
            $crate::Pointers::to_tables(&TABLE);
        /// The names of the modules.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals)]
        pub static ngx_module_names: $crate::Pointers<::std::ffi::c_char, 3> =
            $crate::Pointers::to_names($http, $stream);
    };
}
