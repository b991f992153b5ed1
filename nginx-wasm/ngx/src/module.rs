//! The `Module` trait and its types.

use std::ffi::CStr;
use std::time::Duration;

use crate::conf::Conf;
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
    fn on_request(request: &Request<Self::Request>, location: &Self::Location) -> Step;

    /// The response's headers are about to be sent, of a request that went through [`Module::on_request`].
    fn on_response(request: &Request<Self::Request>) -> Step;

    /// The request is over and about to be logged. Once for each [`Module::on_request`].
    fn on_log(request: &Request<Self::Request>);

    /// The request has ended, or starts again elsewhere. Once for each [`Module::on_request`], after `on_log`.
    fn on_end(request: &Request<Self::Request>);
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
