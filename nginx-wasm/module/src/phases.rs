//! The phases of a request, each passed on to the filter of this process.

use std::cell::Cell;

use sluice_ngx::Step;

use crate::directives::{Location, Main};
use crate::request::{FAILED, Kept, Request};
use crate::{built_in, wasm};

/// Form of the filter in this process.
#[derive(Clone, Copy)]
enum Form {
    BuiltIn,
    Wasm,
}

thread_local! {
    static FORM: Cell<Option<Form>> = const { Cell::new(None) };
}

/// Starts the filter in this process.
pub(crate) fn start(main: &Main) {
    let form = match main.wasm() {
        Some(filter) => {
            wasm::start(filter);
            Form::Wasm
        }
        None => {
            built_in::start(main.configurations());
            Form::BuiltIn
        }
    };
    FORM.set(Some(form));
}

/// Stops the filter in this process and closes its connections.
pub(crate) fn stop() {
    FORM.set(None);
    wasm::stop();
    built_in::stop();
}

pub(crate) fn on_request(request: &Request, location: &Location) -> Step {
    let Some(index) = location.configuration() else {
        return Step::Continue;
    };
    match FORM.get() {
        Some(Form::BuiltIn) => built_in::on_request(request, index),
        Some(Form::Wasm) => wasm::on_request(request, index),
        None => FAILED,
    }
}

pub(crate) fn on_response(request: &Request) -> Step {
    match &*request.data().borrow() {
        Kept::Nothing => Step::Continue,
        Kept::Context(context) => wasm::on_response(request, context),
        Kept::Pending(index, pending) => built_in::on_response(request, *index, pending),
    }
}

pub(crate) fn on_log(request: &Request) {
    if let Kept::Context(context) = &*request.data().borrow() {
        return wasm::on_log(context);
    }
    if let Kept::Pending(index, pending) = request.data().take() {
        built_in::on_log(request, index, pending);
    }
}

pub(crate) fn on_end(request: &Request) {
    match request.data().take() {
        Kept::Nothing => {}
        Kept::Context(context) => wasm::on_end(context),
        Kept::Pending(index, pending) => built_in::on_end(index, pending),
    }
}
