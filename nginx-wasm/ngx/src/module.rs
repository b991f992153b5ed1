//! The `Module` trait and its types.

use std::ffi::CStr;
use std::sync::Arc;
use std::time::Duration;

use crate::conf::Conf;
use crate::live_request::LiveRequest;
use crate::request::Request;
use crate::table::Table;

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
    /// Variables that exist without a `set` directive, without a value until one is set.
    const VARIABLES: &'static [&'static str];
    /// Variables with all lines of a request header, joined with `, `: name of the variable and of the header, both in
    /// lower case.
    const HEADERS: &'static [(&'static str, &'static str)];
    /// Variables with headers of an upstream's response.
    const UPSTREAM_HEADERS: UpstreamHeaders;
    /// Variables with 32 random hexadecimal digits, the same ones for all of a request. nginx's own `$request_id` asks OpenSSL
    /// for each, which costs as much as a tenth of a request.
    const RANDOM_IDS: &'static [&'static str];

    /// The bytes of such a variable; `None` if the system has none.
    fn random_id() -> Option<[u8; 16]>;

    /// Variables that are computed when they are read.
    const COMPUTED: &'static [Computed];

    /// Merges the configuration of the enclosing block into a location.
    fn inherit(outer: &Self::Location, location: &mut Self::Location);

    /// The configuration has been read. `false` if the module is not used in it.
    ///
    /// # Errors
    ///
    /// A message for the log; nginx rejects the configuration.
    fn on_configured(main: &mut Self::Main) -> Result<bool, String>;

    /// A worker process starts.
    fn start_worker(main: &Self::Main);

    /// A worker process is about to end.
    fn stop_worker();

    /// True if responses of this location have no `Server` header of nginx's own. Those of upstreams stay.
    fn hides_server(location: &Self::Location) -> bool;

    /// True if the location of a request that nginx has found by its path is another one of the same server: [`Module::find_location`]
    /// says which.
    fn finds_location(location: &Self::Location) -> bool;

    /// The named location that takes the place of the one that nginx found. It is as if nginx had found it by its path.
    ///
    /// # Errors
    ///
    /// The status of the response, where there is none.
    fn find_location(request: &mut LiveRequest<'_>) -> Result<Arc<str>, u16>;

    /// True if [`Module::on_request`] is called for requests of this location.
    fn is_enabled(location: &Self::Location) -> bool;

    /// A request before its content phase: access is granted, nothing is sent yet.
    fn on_request(request: &Request<Self::Request>, location: &Self::Location) -> Step;

    /// The response headers of a request that continued after [`Module::on_request`] are about to be sent.
    fn on_response(request: &Request<Self::Request>) -> Step;

    /// The request is about to be logged. Once for each [`Module::on_request`].
    fn on_log(request: &Request<Self::Request>);

    /// The request has ended or was redirected internally. Once for each [`Module::on_request`], after `on_log`.
    fn on_end(request: &Request<Self::Request>);
}

/// Beginnings of the names of two kinds of variables.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamHeaders {
    /// `PREFIXn_NAME` has all lines of header NAME of the upstream's response, joined with `, `.
    pub prefix: &'static str,
    /// Name of the variables that empty those of the same number, unless they are empty themselves.
    pub flag: &'static str,
}

/// A variable that is computed.
#[derive(Clone, Copy, Debug)]
pub struct Computed {
    /// Its name, without the dollar sign.
    pub name: &'static str,
    /// Writes its value into an empty buffer; `false`: it has none.
    pub write: fn(&mut LiveRequest<'_>, &mut Vec<u8>) -> bool,
}

/// Next step of nginx after a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Continue, or apply the action that was recorded in the request.
    Continue,
    /// Wait until an action is recorded in the request; 504 after this time. Only for `on_request`.
    Pause(Duration),
    /// Respond with this status and nginx's own page.
    Fail(u16),
}

/// A directive.
pub struct Directive<M: Module> {
    /// Name.
    pub name: &'static CStr,
    /// Number of arguments.
    pub arguments: Arguments,
    /// Context and effect.
    pub set: Setter<M>,
}

/// Number of arguments of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// None.
    None,
    /// One.
    One,
    /// Two.
    Two,
    /// One or more.
    OneOrMore,
}

/// Context and effect of a directive. Errors do not name the directive; the log line does.
pub enum Setter<M: Module> {
    /// In `http {}`.
    Main(MainSetter<M>),
    /// In `http {}`, `server {}` and `location {}`.
    Location(LocationSetter<M>),
    /// In `upstream {}`: the source of its peers (see `peer`).
    Peer(PeerVariables),
}

/// Names of the variables that an upstream's peers come from.
#[derive(Clone, Copy, Debug)]
pub struct PeerVariables {
    /// The candidates.
    pub candidates: &'static str,
    /// `1` limits the request to one try.
    pub single_try: &'static str,
}

/// Effect of a directive in `http {}`.
pub type MainSetter<M> = fn(&Conf<'_>, &mut <M as Module>::Main) -> Result<(), String>;
/// Effect of a directive in a location.
pub type LocationSetter<M> =
    fn(&Conf<'_>, &mut <M as Module>::Main, &mut <M as Module>::Location) -> Result<(), String>;

/// A module with the tables of [`module!`](crate::module!).
pub trait Registered: Module {
    /// The table of the module.
    fn table() -> &'static Table;
}
