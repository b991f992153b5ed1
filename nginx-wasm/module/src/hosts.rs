//! The host table of a worker: which location serves a request, where nginx.conf names no hosts.
//!
//! The controller writes its file before it tells the filter of the routes in it. A worker looks at the file when its filter has been
//! told something, so a path and the backend that it leads to come together.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use sluice_host_table::Hosts;
use sluice_ngx::{Computed, Level, LiveRequest, ReplacedFile, VariableError, log};

/// Variables of a path, which its location passes on.
pub(crate) const ROUTE: &str = "sluice_found_route";
pub(crate) const BACKEND: &str = "sluice_found_backend";
/// The certificate for the name that a client asks for.
pub(crate) const CERTIFICATE: Computed = Computed {
    name: "sluice_found_certificate",
    value: certificate,
};
/// `1` for a request of a connection whose handshake was for another host, one of the table. Where that other one is in nginx.conf, nginx
/// itself sees it.
pub(crate) const MISDIRECTED: Computed = Computed {
    name: "sluice_misdirected",
    value: is_misdirected,
};
/// The certificate for every name that has none, and for clients that ask for no name.
const ANY_CERTIFICATE: &[u8] = b"any";

/// The table, and the file that it was read from.
struct HostFile {
    file: ReplacedFile,
    hosts: Hosts,
    is_read: bool,
}

thread_local! {
    static TABLE: RefCell<Option<HostFile>> = const { RefCell::new(None) };
}

/// Reads the table of this process.
pub(crate) fn start(path: PathBuf) {
    let file = HostFile {
        file: ReplacedFile::new(path),
        hosts: Hosts::default(),
        is_read: false,
    };
    TABLE.with_borrow_mut(|table| *table = Some(file));
    refresh();
}

/// Reads the table again if it has been replaced. One that cannot be read changes nothing.
pub(crate) fn refresh() {
    TABLE.with_borrow_mut(|table| {
        if let Some(table) = table
            && let Err(reason) = table.refresh()
        {
            let path = table.file.path().display();
            log(Level::Error, format!("sluice: {path}: {reason}").as_bytes());
        }
    });
}

impl HostFile {
    fn refresh(&mut self) -> Result<(), String> {
        let content = match self.file.read_if_replaced() {
            Ok(content) => content,
            // Of a worker that only ends its requests.
            Err(error) if self.is_read && error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        if let Some(content) = content {
            self.hosts = Hosts::parse(&content).map_err(|error| error.to_string())?;
            self.is_read = true;
        }
        Ok(())
    }
}

/// The location of a request, whose route and backend are put into their variables.
pub(crate) fn location(request: &mut LiveRequest<'_>) -> Result<Option<Arc<str>>, VariableError> {
    TABLE.with_borrow(|table| {
        let hosts = table.as_ref().map(|table| &table.hosts);
        let Some(found) = hosts.and_then(|hosts| hosts.find(request.host(), request.path())) else {
            return Ok(None);
        };
        for (name, value) in [(ROUTE, &found.route), (BACKEND, &found.backend)] {
            match request.set_variable(name.as_bytes(), value.as_bytes()) {
                // nginx has no place for a variable that no location reads.
                Ok(()) | Err(VariableError::Unknown) => {}
                Err(failed) => return Err(failed),
            }
        }
        Ok(Some(Arc::clone(&found.profile)))
    })
}

fn certificate(connection: &mut LiveRequest<'_>) -> Option<Vec<u8>> {
    let name = asked(connection);
    TABLE.with_borrow(|table| {
        let found = table
            .as_ref()
            .and_then(|table| table.hosts.certificate(&name));
        Some(found.unwrap_or(ANY_CERTIFICATE).to_owned())
    })
}

fn is_misdirected(request: &mut LiveRequest<'_>) -> Option<Vec<u8>> {
    let name = asked(request);
    let is_named = |table: &Option<HostFile>| {
        let table = table.as_ref();
        table.is_some_and(|table| table.hosts.is_named(&name))
    };
    let is_misdirected = name != request.host() && TABLE.with_borrow(is_named);
    is_misdirected.then(|| b"1".to_vec())
}

/// The name that the client asks for in its handshake.
fn asked(connection: &mut LiveRequest<'_>) -> Vec<u8> {
    let name = connection.variable(b"ssl_server_name").unwrap_or_default();
    let name = name.strip_suffix(b".").unwrap_or(name);
    name.to_ascii_lowercase()
}
