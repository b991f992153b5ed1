//! The phases of a request, each passed on to the filter of this process.

use sluice_ngx::Step;

use crate::directives::Location;
use crate::request::Request;
use crate::{built_in, wasm};

pub(crate) fn on_request(request: &Request, location: &Location) -> Step {
    match location.configuration() {
        None => Step::Continue,
        Some(index) if built_in::is_started() => built_in::on_request(request, index),
        Some(index) => wasm::on_request(request, index),
    }
}

pub(crate) fn on_response(request: &Request) -> Step {
    match built_in::is_started() {
        true => built_in::on_response(request),
        false => wasm::on_response(request),
    }
}

pub(crate) fn on_log(request: &Request) {
    match built_in::is_started() {
        true => built_in::on_log(request),
        false => wasm::on_log(request),
    }
}

pub(crate) fn on_end(request: &Request) {
    match built_in::is_started() {
        true => built_in::on_end(request),
        false => wasm::on_end(request),
    }
}
