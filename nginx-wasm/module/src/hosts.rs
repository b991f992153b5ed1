//! The host table of a worker: which location serves a request, where nginx.conf names no hosts.
//!
//! The controller writes its files before it tells the filter of the routes in it, and says which table these go with. A worker looks at
//! the index when its filter has been told something, and leaves one that is ahead of the filter for the next time: so a path and the
//! backend that it leads to come together. It reads the shards that are new to it.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sluice_filter_config::HOST_TABLE_HEADER;
use sluice_host_table::{Closed, Hosts, Index, NOWHERE, SHARDS, content_name, variables};
use sluice_ngx::{
    CallResponse, Computed, Level, LiveRequest, ReplacedFile, Timer, VariableError, log,
};

pub(crate) const CERTIFICATE: Computed = Computed {
    name: variables::CERTIFICATE,
    write: |request, value| written(certificate(request), value),
};
pub(crate) const MISDIRECTED: Computed = Computed {
    name: variables::MISDIRECTED,
    write: |request, value| written(is_misdirected(request), value),
};
pub(crate) const NAME: Computed = Computed {
    name: variables::NAME,
    write: |request, value| written(name(request), value),
};

/// How often an index is read until its shards are there: those of an old index may have been removed meanwhile.
const ATTEMPTS: u8 = 3;

/// Longest wait for the filter; then the index is taken anyway. A new path may answer 503 for a moment, but no table stays stale.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The table, and the index that it was read by.
struct TableFile {
    file: ReplacedFile,
    /// The name of the table.
    name: String,
    hosts: Hosts,
    nowhere: Arc<str>,
    is_read: bool,
    /// Name of the content of the index that goes with the filter's tables; `None`: nobody has said so.
    announced: Option<String>,
    /// The index is ahead of that, and waits.
    is_waiting: bool,
    wait_timer: Timer,
}

thread_local! {
    static TABLE: RefCell<Option<TableFile>> = const { RefCell::new(None) };
}

/// Reads the table of this process.
pub(crate) fn start(path: PathBuf) {
    let name = path.file_stem().unwrap_or_default();
    let file = TableFile {
        name: name.to_string_lossy().into_owned(),
        file: ReplacedFile::new(path),
        hosts: Hosts::default(),
        nowhere: NOWHERE.into(),
        is_read: false,
        announced: None,
        is_waiting: false,
        wait_timer: Timer::new(stop_waiting),
    };
    TABLE.with_borrow_mut(|table| *table = Some(file));
    refresh();
}

/// Notes which index goes with the tables in this response of the controller, before the filter takes them.
pub(crate) fn note_announced(response: &Result<CallResponse, &'static str>) {
    let Ok(CallResponse {
        status: 200,
        headers,
        ..
    }) = response
    else {
        return;
    };
    let named = headers
        .iter()
        .find(|(name, _)| name == HOST_TABLE_HEADER.as_bytes());
    let content = named.and_then(|(_, content)| String::from_utf8(content.clone()).ok());
    TABLE.with_borrow_mut(|table| {
        if let Some(table) = table {
            table.announced = content;
        }
    });
}

/// Forgets the table, and stops its timer while nginx still has timers.
pub(crate) fn stop() {
    let table = TABLE.try_with(|table| table.try_borrow_mut().map(|mut table| table.take()));
    drop(table);
}

/// Reads what is new of the table, if its index has been replaced. What [`Hosts::updated`] makes of a table that cannot be read as a whole
/// is tried again.
pub(crate) fn refresh() {
    look(false);
}

fn stop_waiting() {
    look(true);
}

/// `at_any`: also at an index that is ahead of the filter.
fn look(at_any: bool) {
    TABLE.with_borrow_mut(|table| {
        let Some(table) = table else { return };
        table.is_waiting &= !at_any;
        if let Err(reason) = table.refresh(at_any) {
            let path = table.file.path().display();
            log(Level::Error, format!("sluice: {path}: {reason}").as_bytes());
        }
    });
}

impl TableFile {
    fn refresh(&mut self, at_any: bool) -> Result<(), String> {
        let mut result = self.read(at_any);
        for _ in 1..ATTEMPTS {
            if result.is_ok() {
                break;
            }
            self.file.forget();
            result = self.read(at_any);
        }
        if result.is_err() {
            // With the next version of the filter's tables.
            self.file.forget();
        }
        result
    }

    /// True if this index is to wait for the filter's tables. Starts or stops the timer that limits the wait.
    fn waits_for_filter(&mut self, content: &[u8]) -> bool {
        let announced = self.announced.as_deref();
        if announced.is_none_or(|announced| announced == content_name(content)) {
            self.wait_timer.stop();
            self.is_waiting = false;
        } else if !std::mem::replace(&mut self.is_waiting, true) {
            self.wait_timer.start(MAX_WAIT);
        }
        self.is_waiting
    }

    fn read(&mut self, at_any: bool) -> Result<(), String> {
        let content = match self.file.read_if_replaced() {
            Ok(content) => content,
            // Of a worker that only ends its requests.
            Err(error) if self.is_read && error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        let Some(content) = content else {
            return Ok(());
        };
        if !at_any && self.waits_for_filter(&content) {
            self.file.forget();
            return Ok(());
        }
        let index = Index::parse(&content, &self.name).map_err(|error| error.to_string())?;
        let directory = self.file.path().parent().unwrap_or(Path::new(""));
        let load = |file: &str| std::fs::read(directory.join(file));
        let (hosts, errors) = self.hosts.updated(&index, load);
        self.hosts = hosts;
        self.is_read = true;
        let Some(error) = errors.first() else {
            return Ok(());
        };
        let consequence = match self.hosts.is_whole() {
            true => "the table stays as it was",
            false => {
                "hosts that may be in such a shard answer 503, and their handshakes fail, until it can be read"
            }
        };
        let count = errors.len();
        Err(format!(
            "{error} ({count} of {SHARDS} shards cannot be read); {consequence}"
        ))
    }
}

/// The location of a request, whose route and backend are put into their variables.
///
/// # Errors
///
/// 503: the host may be in a part of the table that could not be read. 500: the request has no memory left.
pub(crate) fn location(request: &mut LiveRequest<'_>) -> Result<Arc<str>, u16> {
    TABLE.with_borrow(|table| {
        let table = table.as_ref().ok_or(503u16)?;
        let found = table.hosts.find(request.host(), request.path());
        let Some(found) = found.map_err(|Closed| 503u16)? else {
            return Ok(Arc::clone(&table.nowhere));
        };
        for (name, value) in [
            (variables::ROUTE, &found.route),
            (variables::BACKEND, &found.backend),
        ] {
            match request.set_variable(name.as_bytes(), value.as_bytes()) {
                // nginx has no place for a variable that no location reads.
                Ok(()) | Err(VariableError::Unknown) => {}
                Err(VariableError::ReadOnly | VariableError::OutOfMemory) => return Err(500),
            }
        }
        Ok(Arc::clone(&found.profile))
    })
}

fn written(found: Option<Vec<u8>>, value: &mut Vec<u8>) -> bool {
    let is_found = found.is_some();
    value.extend(found.unwrap_or_default());
    is_found
}

fn certificate(connection: &mut LiveRequest<'_>) -> Option<Vec<u8>> {
    let name = asked(connection);
    TABLE.with_borrow(|table| {
        let found = table.as_ref()?.hosts.certificate(&name).ok()?;
        found.map(<[u8]>::to_vec)
    })
}

fn is_misdirected(request: &mut LiveRequest<'_>) -> Option<Vec<u8>> {
    let name = asked(request);
    // Also if the table may have it.
    let is_in_table = || name_in_table(&name) != Ok(None);
    let is_misdirected = name != request.host() && is_in_table();
    is_misdirected.then(|| b"1".to_vec())
}

fn name(request: &mut LiveRequest<'_>) -> Option<Vec<u8>> {
    let found = name_in_table(request.host()).ok().flatten();
    found.or_else(|| request.variable(b"server_name").map(<[u8]>::to_vec))
}

fn name_in_table(host: &[u8]) -> Result<Option<Vec<u8>>, Closed> {
    TABLE.with_borrow(|table| match table {
        Some(table) => table.hosts.name(host),
        None => Ok(None),
    })
}

/// The name that the client asks for in its handshake.
fn asked(connection: &mut LiveRequest<'_>) -> Vec<u8> {
    let name = connection.variable(b"ssl_server_name").unwrap_or_default();
    let name = name.strip_suffix(b".").unwrap_or(name);
    name.to_ascii_lowercase()
}
