//! The `Module` trait, and the tables that nginx finds a module by.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;
use std::time::Duration;

use nginx_sys::{
    NGX_CONF_1MORE, NGX_CONF_NOARGS, NGX_CONF_TAKE1, NGX_HTTP_LOC_CONF, NGX_HTTP_LOC_CONF_OFFSET,
    NGX_HTTP_MAIN_CONF, NGX_HTTP_MAIN_CONF_OFFSET, NGX_HTTP_MODULE, NGX_HTTP_SRV_CONF,
    NGX_HTTP_SRV_CONF_OFFSET, NGX_HTTP_UPS_CONF, ngx_command_t, ngx_http_module_t, ngx_module_t,
    ngx_str_t, ngx_uint_t,
};

use crate::{Conf, Request, config, phases, request, stream, variables, worker};

/// An HTTP module of nginx. All functions are called on nginx's one thread, and never inside one another.
pub trait Module: Sized + 'static {
    /// Configuration of `http {}`.
    type Main: Default;
    /// Configuration of a location.
    type Location: Default;
    /// Per-request state.
    type Request: Default;

    /// The directives.
    const DIRECTIVES: &'static [Directive<Self>];
    /// Variables that exist without a `set`, and that have no value until they are given one.
    const VARIABLES: &'static [&'static str];
    /// Variables with all lines of a header of requests, joined with `, `: its name and the header's in lower case. nginx's
    /// own `$http_NAME` has the first line alone before version 1.23.
    const HEADERS: &'static [(&'static str, &'static str)];

    /// Fills what a location does not say from what surrounds it.
    fn inherit(outer: &Self::Location, location: &mut Self::Location);

    /// The configuration is read. `false`: there is nothing to do for this module in it.
    ///
    /// # Errors
    ///
    /// A text for the log; nginx refuses the configuration.
    fn configured(main: &mut Self::Main) -> Result<bool, String>;

    /// A worker process starts.
    fn start_worker(main: &Self::Main);

    /// A worker process is about to end.
    fn stop_worker();

    /// True if this location wants [`Module::on_request`].
    fn wants(location: &Self::Location) -> bool;

    /// A request is about to be served: access is granted, nothing is sent yet.
    fn on_request(request: &Request<Self>, location: &Self::Location) -> Step;

    /// The response's headers are about to be sent, of a request that went through [`Module::on_request`].
    fn on_response(request: &Request<Self>) -> Step;

    /// The request is over and about to be logged. Once for each [`Module::on_request`].
    fn on_log(request: &Request<Self>);

    /// The request has ended, or starts again elsewhere. Once for each [`Module::on_request`], after `on_log`.
    fn on_end(request: &Request<Self>);
}

/// Next step of nginx after a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Goes on, or does what was recorded in the request.
    Continue,
    /// Waits until something is recorded in the request; 504 when that takes longer than this. Only a request can.
    Pause(Duration),
    /// Answers with this status and nginx's own page.
    Fail(u16),
}

/// A directive.
pub struct Directive<M: Module> {
    /// Its name.
    pub name: &'static CStr,
    /// Number of arguments.
    pub arguments: Arguments,
    /// Its effect.
    pub set: Set<M>,
}

/// Number of arguments of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// None.
    None,
    /// One.
    One,
    /// One or more.
    Some,
}

/// Context and effect of a directive. An error is a text without the directive's name, which the log has.
pub enum Set<M: Module> {
    /// In `http {}`.
    Main(SetMain<M>),
    /// In `http {}`, `server {}` and `location {}`.
    Location(SetLocation<M>),
    /// In `upstream {}`: where its peers come from (see `peer`).
    Peer(Peers),
}

/// Sources of an upstream's peers: names of variables.
#[derive(Clone, Copy, Debug)]
pub struct Peers {
    /// The candidates.
    pub candidates: &'static str,
    /// `1`: the request gets one try.
    pub once: &'static str,
}

/// Effect of a directive of `http {}`.
pub type SetMain<M> = fn(&Conf<'_>, &mut <M as Module>::Main) -> Result<(), String>;
/// Effect of a directive of a location.
pub type SetLocation<M> =
    fn(&Conf<'_>, &mut <M as Module>::Main, &mut <M as Module>::Location) -> Result<(), String>;

/// A module that [`module!`](crate::module!) has made tables for.
pub trait Registered: Module {
    /// Its table.
    fn table() -> &'static Table;
}

/// nginx's table of one module. nginx writes its indexes into it when it loads the module.
pub struct Table {
    nginx: UnsafeCell<ngx_module_t>,
    /// Kept here because a pool's cleanups are told from one another by their functions' addresses, and a generic
    /// function may have several.
    end_of_request: EndOfRequest,
}

pub(crate) type EndOfRequest = unsafe extern "C" fn(*mut c_void);

// SAFETY: nginx's thread is the only one that reads or writes its half (rule 1); the other is constant.
unsafe impl Sync for Table {}

impl Table {
    /// The table of a module with these directives.
    pub const fn of<M: Registered, const N: usize>(
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
        Self {
            nginx: UnsafeCell::new(table),
            end_of_request: request::finished::<M>,
        }
    }

    /// The index of the module's configurations and contexts among those of all HTTP modules.
    pub(crate) fn ctx_index(&'static self) -> usize {
        // SAFETY: nginx wrote it when it loaded the module, before it called any function of it.
        unsafe { (*self.nginx.get()).ctx_index }
    }

    pub(crate) fn end_of_request(&'static self) -> EndOfRequest {
        self.end_of_request
    }

    pub(crate) const fn as_ptr(&'static self) -> *mut ngx_module_t {
        self.nginx.get()
    }
}

/// nginx's table of configuration functions.
#[repr(transparent)]
pub struct HttpContext(ngx_http_module_t);

// SAFETY: it holds functions only.
unsafe impl Sync for HttpContext {}

impl HttpContext {
    /// The functions of a module.
    pub const fn of<M: Registered>() -> Self {
        Self(ngx_http_module_t {
            preconfiguration: Some(variables::add::<M>),
            postconfiguration: Some(phases::postconfiguration::<M>),
            create_main_conf: Some(config::create::<M::Main>),
            init_main_conf: None,
            create_srv_conf: Some(config::create::<crate::peer::Upstream>),
            merge_srv_conf: None,
            create_loc_conf: Some(config::create::<M::Location>),
            merge_loc_conf: Some(config::merge_location::<M>),
        })
    }
}

/// nginx's table of directives, which ends with an empty one.
#[repr(transparent)]
pub struct Commands<const N: usize>([ngx_command_t; N]);

// SAFETY: nobody writes it after its initialisation, and it points to constants only.
unsafe impl<const N: usize> Sync for Commands<N> {}

impl<const N: usize> Commands<N> {
    /// The directives of a module; `N` is one more than it has.
    pub const fn of<M: Registered>() -> Self {
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
        Set::Main(_) => (NGX_HTTP_MAIN_CONF, NGX_HTTP_MAIN_CONF_OFFSET),
        Set::Location(_) => (
            NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF,
            NGX_HTTP_LOC_CONF_OFFSET,
        ),
        Set::Peer(_) => (NGX_HTTP_UPS_CONF, NGX_HTTP_SRV_CONF_OFFSET),
    };
    let arguments = match directive.arguments {
        Arguments::None => NGX_CONF_NOARGS,
        Arguments::One => NGX_CONF_TAKE1,
        Arguments::Some => NGX_CONF_1MORE,
    };
    let name = directive.name;
    ngx_command_t {
        name: ngx_str_t {
            len: name.count_bytes(),
            data: name.as_ptr().cast_mut().cast(),
        },
        type_: (place | arguments) as ngx_uint_t,
        set: Some(config::set::<M>),
        conf,
        offset: 0,
        post: (&raw const *directive).cast_mut().cast::<c_void>(),
    }
}

/// A constant array of pointers, as nginx looks for in a library.
#[repr(transparent)]
pub struct Pointers<T: 'static, const N: usize>([*mut T; N]);

// SAFETY: nobody writes it; what the pointers lead to is nginx's business.
unsafe impl<T, const N: usize> Sync for Pointers<T, N> {}

impl Pointers<ngx_module_t, 3> {
    /// The modules of a library: one for HTTP, and the one for connections without.
    pub const fn to_tables(table: &'static Table) -> Self {
        Self([table.as_ptr(), stream::table(), null_mut()])
    }
}

impl Pointers<c_char, 3> {
    /// Their names.
    pub const fn to_names(http: &'static CStr, stream: &'static CStr) -> Self {
        Self([
            http.as_ptr().cast_mut(),
            stream.as_ptr().cast_mut(),
            null_mut(),
        ])
    }
}

/// Makes the symbols by which nginx finds the modules of a library, the one for HTTP and the one for connections without:
/// `module!(Sluice, c"ngx_http_sluice_module", c"ngx_stream_sluice_module")`.
#[macro_export]
macro_rules! module {
    ($module:ty, $http:expr, $stream:expr) => {
        static CONTEXT: $crate::HttpContext = $crate::HttpContext::of::<$module>();
        static COMMANDS: $crate::Commands<{ <$module as $crate::Module>::DIRECTIVES.len() + 1 }> =
            $crate::Commands::of::<$module>();
        static TABLE: $crate::Table = $crate::Table::of::<$module, _>(&CONTEXT, &COMMANDS);

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
        /// Their names.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals)]
        pub static ngx_module_names: $crate::Pointers<::std::ffi::c_char, 3> =
            $crate::Pointers::to_names($http, $stream);
    };
}
