//! The directives and the configuration that they write.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use sluice_filter_config::host_contract::BACKEND;
use sluice_ngx::Conf;

use crate::request_headers::RequestHeader;
use crate::{built_in, wasm};

/// Configuration of `http {}`.
#[derive(Default)]
pub struct Main {
    wasm_file: Option<PathBuf>,
    wasm: Option<wasm::Filter>,
    /// Plugin configurations, one filter each; locations with equal ones share it.
    configurations: Vec<Rc<[u8]>>,
    hosts: Option<PathBuf>,
    request_headers: Vec<RequestHeader>,
}

/// Configuration of a `location {}`.
#[derive(Default)]
pub struct Location {
    filtering: Filtering,
    server_header: Option<bool>,
    /// Its requests are for the locations that the host table says. Not inherited.
    has_hosts: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Filtering {
    #[default]
    Inherited,
    Off,
    /// On, with the plugin configuration at this index.
    On(usize),
}

/// `sluice_wasm FILE;`
pub(crate) fn wasm_file(conf: &Conf<'_>, main: &mut Main) -> Result<(), String> {
    if main.wasm_file.is_some() {
        return Err("is duplicate".to_owned());
    }
    let name = conf.arguments().next().unwrap_or_default();
    main.wasm_file = Some(conf.path(name)?);
    Ok(())
}

/// `sluice_filter CONFIG...;`, `sluice_filter off;`
pub(crate) fn filter(
    conf: &Conf<'_>,
    main: &mut Main,
    location: &mut Location,
) -> Result<(), String> {
    if location.filtering != Filtering::Inherited {
        return Err("is duplicate".to_owned());
    }
    let text: Vec<u8> = conf.arguments().flatten().copied().collect();
    location.filtering = if text == b"off" {
        Filtering::Off
    } else {
        // The access log has it, also where no directive names it: a variable without a place cannot be set.
        conf.variable(BACKEND.name.as_bytes())?;
        Filtering::On(main.index_of(&text))
    };
    Ok(())
}

/// `sluice_server_header on;`, `sluice_server_header off;`
pub(crate) fn server_header(
    conf: &Conf<'_>,
    _: &mut Main,
    location: &mut Location,
) -> Result<(), String> {
    if location.server_header.is_some() {
        return Err("is duplicate".to_owned());
    }
    location.server_header = match conf.arguments().next().unwrap_or_default() {
        b"on" => Some(true),
        b"off" => Some(false),
        _ => return Err("expected on or off".to_owned()),
    };
    Ok(())
}

/// `sluice_hosts FILE;`
pub(crate) fn hosts(
    conf: &Conf<'_>,
    main: &mut Main,
    location: &mut Location,
) -> Result<(), String> {
    if main.hosts.is_some() {
        return Err("is duplicate".to_owned());
    }
    let name = conf.arguments().next().unwrap_or_default();
    main.hosts = Some(conf.path(name)?);
    location.has_hosts = true;
    Ok(())
}

/// `sluice_request_header NAME $VARIABLE;`
pub(crate) fn request_header(conf: &Conf<'_>, main: &mut Main) -> Result<(), String> {
    main.request_headers
        .push(RequestHeader::of_directive(conf)?);
    Ok(())
}

impl Main {
    fn index_of(&mut self, text: &[u8]) -> usize {
        let known = self
            .configurations
            .iter()
            .position(|known| **known == *text);
        known.unwrap_or_else(|| {
            self.configurations.push(text.into());
            self.configurations.len() - 1
        })
    }

    /// Starts the filter on trial, so that one that does not work fails `nginx -t` and not the workers. `false`: no location is filtered.
    ///
    /// # Errors
    ///
    /// The wasm cannot be loaded or does not start, or the filter rejects a configuration.
    pub(crate) fn check_filter(&mut self) -> Result<bool, String> {
        match &self.wasm_file {
            Some(file) => self.wasm = Some(wasm::Filter::load(file, &self.configurations)?),
            None => self
                .configurations
                .iter()
                .try_for_each(|configuration| built_in::check(configuration))?,
        }
        Ok(!self.configurations.is_empty())
    }

    /// Headers of requests to pods.
    pub(crate) fn request_headers(&self) -> &[RequestHeader] {
        &self.request_headers
    }

    /// The file of the host table, if there is one.
    pub(crate) fn hosts(&self) -> Option<&Path> {
        self.hosts.as_deref()
    }

    /// The wasm that each worker starts; `None` if the filter of this module serves, or no location is filtered.
    pub(crate) fn wasm(&self) -> Option<&wasm::Filter> {
        self.wasm
            .as_ref()
            .filter(|_| !self.configurations.is_empty())
    }

    /// Configurations of the filter, in the order of their indices.
    pub(crate) fn configurations(&self) -> &[Rc<[u8]>] {
        &self.configurations
    }
}

impl Location {
    pub(crate) fn inherit(&mut self, outer: &Location) {
        if self.filtering == Filtering::Inherited {
            self.filtering = outer.filtering;
        }
        self.server_header = self.server_header.or(outer.server_header);
    }

    pub(crate) fn has_hosts(&self) -> bool {
        self.has_hosts
    }

    pub(crate) fn hides_server(&self) -> bool {
        self.server_header == Some(false)
    }

    /// Index of the plugin configuration; `None` if requests are not filtered here.
    pub(crate) fn configuration(&self) -> Option<usize> {
        match self.filtering {
            Filtering::On(index) => Some(index),
            Filtering::Inherited | Filtering::Off => None,
        }
    }
}
