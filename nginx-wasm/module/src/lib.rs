//! `libngx_sluice.so`: the filter, and upstream peers of its choice, in a stock nginx.
//!
//! ```text
//!   nginx.conf --directives--> Main { plugin, configurations }     once, before the workers are forked
//!                                 |
//!   worker:   one Vm<Nginx> ------+--- root contexts, ticks, calls to the controller
//!                ^      | effects: variables, headers, replies, resumes
//!   request -> precontent -> [filter picks, into $sluice_endpoint] -> upstream { sluice_peer; keepalive } -> pod
//!           <- header filter, log phase, end
//! ```
//!
//! | directive | where | what |
//! |---|---|---|
//! | `sluice_wasm FILE;` | http | the filter, as `sluice-compile` wrote it |
//! | `sluice_filter CONFIG...;` or `off` | http, server, location | filters requests, with this configuration (arguments are joined: nginx limits one to 4 kB) |
//! | `sluice_peer;` | upstream, before `keepalive` | connects to the candidates in `$sluice_endpoint` |
//! | `sluice_pods FILE;` | upstream of `stream {}` | connects to the pods in a file of the controller's |
//!
//! nginx is behind `sluice-ngxsafe`, the ABI behind `sluice-pwhost`; this crate only joins them, without `unsafe`.
//!
//! Absent: a compiler, bodies (nginx passes them on untouched), shared data, metrics.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod calls;
mod configuration;
mod exchange;
mod instance;
mod nginx;
mod ticks;
mod worker;

use sluice_ngxsafe::{Arguments, Directive, Module, Peers, Request, Set, Step, module};

use configuration::{Location, Main};
use exchange::Exchange;

/// The variable that the filter leaves its candidates in.
const ENDPOINT: &str = "sluice_endpoint";
/// The variable that names the location; the configuration sets it.
const LOCATION: &str = "sluice_location";
/// The variable that the filter leaves the backend in, where the location leaves that open: a canary's.
const BACKEND: &str = "sluice_backend";

/// The variable that says that a request has come back; the configuration may map it.
const RETURNS: &str = "sluice_returns";
const PEERS: Peers = Peers {
    candidates: ENDPOINT,
    once: RETURNS,
};

/// The module.
pub struct Sluice;

module!(
    Sluice,
    c"ngx_http_sluice_module",
    c"ngx_stream_sluice_module"
);

impl Module for Sluice {
    type Main = Main;
    type Location = Location;
    type Request = Exchange;

    const DIRECTIVES: &'static [Directive<Self>] = &[
        Directive {
            name: c"sluice_wasm",
            arguments: Arguments::One,
            set: Set::Main(configuration::wasm),
        },
        Directive {
            name: c"sluice_filter",
            arguments: Arguments::Some,
            set: Set::Location(configuration::filter),
        },
        Directive {
            name: c"sluice_peer",
            arguments: Arguments::None,
            set: Set::Peer(PEERS),
        },
    ];
    const VARIABLES: &'static [&'static str] = &[BACKEND, ENDPOINT, LOCATION, RETURNS];
    const HEADERS: &'static [(&'static str, &'static str)] = &[("sluice_all_cdn_loop", "cdn-loop")];

    fn inherit(outer: &Location, location: &mut Location) {
        location.inherit(outer);
    }

    fn configured(main: &mut Main) -> Result<bool, String> {
        main.finish()
    }

    fn start_worker(main: &Main) {
        worker::start(main);
    }

    fn stop_worker() {
        worker::stop();
    }

    fn wants(location: &Location) -> bool {
        location.root().is_some()
    }

    fn on_request(request: &Request<Self>, location: &Location) -> Step {
        exchange::on_request(request, location)
    }

    fn on_response(request: &Request<Self>) -> Step {
        exchange::on_response(request)
    }

    fn on_log(request: &Request<Self>) {
        exchange::on_log(request);
    }

    fn on_end(request: &Request<Self>) {
        exchange::on_end(request);
    }
}
