//! `libngx_sluice.so`: the filter and the upstream peers that it picks, in a stock nginx.
//!
//! ```text
//!   nginx.conf --directives--> Main { wasm, configurations }     once, before the workers are forked
//!                                 |
//!   worker:   built_in, or wasm --+--- timers, calls to the controller
//!                ^      | effects: variables, headers, replies, resumes
//!   request -> precontent -> [filter picks, into $sluice_endpoint] -> upstream { sluice_peer; keepalive } -> pod
//!           <- header filter, log phase, end
//! ```
//!
//! | directive | context | effect |
//! |---|---|---|
//! | `sluice_filter CONFIG...;` or `off` | http, server, location | filters requests, with this configuration (arguments are joined: nginx limits one to 4 kB) |
//! | `sluice_wasm FILE;` | http | filters them by this wasm, as `sluice-compile` wrote it, in the place of the filter in this module |
//! | `sluice_server_header off;` or `on` | http, server, location | without nginx's own `Server` header; that of a pod is sent |
//! | `sluice_hosts FILE;` | location, once | locations of requests come from a table of the controller |
//! | `sluice_request_header NAME $VARIABLE;` | http | a header of `$sluice_request_headers` |
//! | `sluice_peer;` | upstream, before `keepalive` | connects to the candidates in `$sluice_endpoint` |
//! | `sluice_pods FILE;` | upstream of `stream {}` | connects to the endpoints in a file of the controller |
//!
//! Joins `sluice-ngx` (nginx), `sluice-filter-worker` (the filter) and `sluice-wasm-host` (the proxy-wasm ABI), without `unsafe`.
//!
//! Absent: a compiler, bodies (nginx passes them on untouched), shared data, metrics.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod authority;
mod built_in;
mod clock;
mod directives;
mod hosts;
mod phases;
mod properties;
mod random;
mod request;
mod request_headers;
mod upstream_names;
mod wasm;

use std::sync::Arc;

use sluice_filter_config::host_contract;
use sluice_host_table::variables;
use sluice_ngx::{
    Arguments, Computed, Directive, LiveRequest, Module, PeerVariables, Setter, Step,
    UpstreamHeaders, module,
};

use directives::{Location, Main};
use request::{Request, RequestState};

/// Variables that the filter and the configuration share.
const ENDPOINT: &str = host_contract::ENDPOINT.name;
const ROUTE: &str = host_contract::ROUTE.name;
const BACKEND: &str = host_contract::BACKEND.name;
/// `1` for a request that came back to this proxy; the configuration may map it.
const RETURNS: &str = "sluice_returns";
const PEERS: PeerVariables = PeerVariables {
    candidates: ENDPOINT,
    single_try: RETURNS,
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
    type Request = RequestState;

    const DIRECTIVES: &'static [Directive<Self>] = &[
        Directive {
            name: c"sluice_wasm",
            arguments: Arguments::One,
            set: Setter::Main(directives::wasm_file),
        },
        Directive {
            name: c"sluice_filter",
            arguments: Arguments::OneOrMore,
            set: Setter::Location(directives::filter),
        },
        Directive {
            name: c"sluice_server_header",
            arguments: Arguments::One,
            set: Setter::Location(directives::server_header),
        },
        Directive {
            name: c"sluice_hosts",
            arguments: Arguments::One,
            set: Setter::Location(directives::hosts),
        },
        Directive {
            name: c"sluice_request_header",
            arguments: Arguments::Two,
            set: Setter::Main(directives::request_header),
        },
        Directive {
            name: c"sluice_peer",
            arguments: Arguments::None,
            set: Setter::Peer(PEERS),
        },
    ];
    const VARIABLES: &'static [&'static str] = &[
        BACKEND,
        ENDPOINT,
        ROUTE,
        RETURNS,
        variables::ROUTE,
        variables::BACKEND,
    ];
    const COMPUTED: &'static [Computed] = &[
        authority::COMPUTED,
        hosts::CERTIFICATE,
        hosts::MISDIRECTED,
        hosts::NAME,
        request_headers::COMPUTED,
        upstream_names::ALTERNATIVE,
        upstream_names::UPSTREAM,
    ];
    const HEADERS: &'static [(&'static str, &'static str)] = &[
        ("sluice_all_cdn_loop", "cdn-loop"),
        ("sluice_all_traceparent", "traceparent"),
        ("sluice_all_tracestate", "tracestate"),
    ];
    const UPSTREAM_HEADERS: UpstreamHeaders = UpstreamHeaders {
        prefix: "sluice_pod_",
        flag: "sluice_hides_",
    };
    const RANDOM_IDS: &'static [&'static str] = &["sluice_random_id"];

    fn random_id() -> Option<[u8; 16]> {
        random::id()
    }

    fn inherit(outer: &Location, location: &mut Location) {
        location.inherit(outer);
    }

    fn on_configured(main: &mut Main) -> Result<bool, String> {
        main.check_filter()
    }

    fn start_worker(main: &Main) {
        request_headers::start(main.request_headers().to_vec());
        if let Some(file) = main.hosts() {
            hosts::start(file.to_owned());
        }
        random::start();
        phases::start(main);
    }

    fn stop_worker() {
        phases::stop();
        hosts::stop();
    }

    fn hides_server(location: &Location) -> bool {
        location.hides_server()
    }

    fn finds_location(location: &Location) -> bool {
        location.has_hosts()
    }

    fn find_location(request: &mut LiveRequest<'_>) -> Result<Arc<str>, u16> {
        hosts::location(request)
    }

    fn is_enabled(location: &Location) -> bool {
        location.configuration().is_some()
    }

    fn on_request(request: &Request, location: &Location) -> Step {
        phases::on_request(request, location)
    }

    fn on_response(request: &Request) -> Step {
        phases::on_response(request)
    }

    fn on_log(request: &Request) {
        phases::on_log(request);
    }

    fn on_end(request: &Request) {
        phases::on_end(request);
    }
}
