//! Filters that do one thing, for what the shipped one does not do yet.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

/// A filter; by default it does nothing.
#[derive(Default)]
pub(crate) struct Guest {
    pauses: bool,
    data: String,
    on_request: String,
    on_response: String,
}

/// An edit of headers.
pub(crate) enum Edit<'a> {
    Add(&'a str, &'a str),
    Replace(&'a str, &'a str),
    Remove(&'a str),
}

const REQUEST: u8 = 0;
const RESPONSE: u8 = 2;

impl Guest {
    /// Pauses every request, and never resumes one.
    #[must_use]
    pub(crate) fn pauses(mut self) -> Guest {
        self.pauses = true;
        self
    }

    /// Edits the headers of every request.
    #[must_use]
    pub(crate) fn on_request(mut self, edits: &[Edit<'_>]) -> Guest {
        self.on_request = edits.iter().map(|edit| self.call(REQUEST, edit)).collect();
        self
    }

    /// Edits the headers of every response.
    #[must_use]
    pub(crate) fn on_response(mut self, edits: &[Edit<'_>]) -> Guest {
        self.on_response = edits.iter().map(|edit| self.call(RESPONSE, edit)).collect();
        self
    }

    /// Writes it into a folder as the module takes it.
    pub(crate) fn compile(self, folder: &Path) -> Result<PathBuf> {
        let wasm = wat::parse_str(self.text())?;
        let native = sluice_wasm_host::compile(&wasm).and_then(|module| module.serialize());
        let file = folder.join("guest.cwasm");
        fs::write(
            &file,
            native.map_err(|error| anyhow!("compile the guest: {error:#}"))?,
        )?;
        Ok(file)
    }

    fn call(&mut self, map: u8, edit: &Edit<'_>) -> String {
        let (function, texts) = match edit {
            Edit::Add(name, value) => ("add", vec![name, value]),
            Edit::Replace(name, value) => ("replace", vec![name, value]),
            Edit::Remove(name) => ("remove", vec![name]),
        };
        let mut call = format!("(drop (call ${function} (i32.const {map})");
        for text in texts {
            call.push_str(&format!(
                " (i32.const {}) (i32.const {})",
                self.data.len(),
                text.len()
            ));
            self.data.push_str(text);
        }
        call + "))\n"
    }

    fn text(&self) -> String {
        let (action, data) = (u8::from(self.pauses), &self.data);
        let (on_request, on_response) = (&self.on_request, &self.on_response);
        format!(
            r#"(module
            (import "env" "proxy_add_header_map_value"
                (func $add (param i32 i32 i32 i32 i32) (result i32)))
            (import "env" "proxy_replace_header_map_value"
                (func $replace (param i32 i32 i32 i32 i32) (result i32)))
            (import "env" "proxy_remove_header_map_value"
                (func $remove (param i32 i32 i32) (result i32)))
            (memory (export "memory") 1)
            (data (i32.const 0) "{data}")
            (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
                {on_request} (i32.const {action}))
            (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
                {on_response} (i32.const 0)))"#
        )
    }
}
