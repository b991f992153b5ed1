//! One request and its response, phase by phase.

use std::ffi::{CString, c_int, c_void};
use std::net::SocketAddr;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use crate::library::{AddHeader, Engine, Functions, Raw, RawIntervention};
use crate::rules::Rules;
use crate::text::{c_text, taken};

/// Both ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The client.
    pub client: SocketAddr,
    /// The address that it connected to.
    pub server: SocketAddr,
}

/// A rule ends a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intervention {
    /// Status of the answer.
    pub status: u16,
    /// `Location` of the answer.
    pub location: Option<String>,
    /// The rule, and why.
    pub log: String,
}

/// A request that is looked at. When it is dropped, it is logged.
#[derive(Debug)]
pub struct Transaction {
    raw: NonNull<c_void>,
    /// Of its own thread.
    engine: Arc<Engine>,
    _rules: Arc<Rules>,
}

// SAFETY: the library asks for no certain thread, and nobody else has it.
unsafe impl Send for Transaction {}

impl Transaction {
    /// `None`: there is no memory for it.
    #[must_use]
    pub fn new(engine: &Arc<Engine>, rules: &Arc<Rules>, id: Option<&str>) -> Option<Self> {
        let functions = &engine.library.functions;
        let (own, rules_of) = (engine.raw.as_ptr(), rules.raw.as_ptr());
        let id = id
            .filter(|id| !id.is_empty())
            .map(|id| c_text(id.as_bytes()));
        // SAFETY: the engine and the rules are alive as long as the transaction has them. The id is copied.
        let raw = unsafe {
            match &id {
                Some(id) => {
                    (functions.msc_new_transaction_with_id)(own, rules_of, id.as_ptr(), null_mut())
                }
                None => (functions.msc_new_transaction)(own, rules_of, null_mut()),
            }
        };
        Some(Transaction {
            raw: NonNull::new(raw)?,
            engine: Arc::clone(engine),
            _rules: Arc::clone(rules),
        })
    }

    /// Comes first.
    pub fn connection(&mut self, connection: Connection) {
        let Connection { client, server } = connection;
        let texts = [client, server].map(|end| c_text(end.ip().to_string().as_bytes()));
        let ports = [client, server].map(|end| c_int::from(end.port()));
        let call = self.functions().msc_process_connection;
        // SAFETY: the transaction is alive, and the texts are copied.
        unsafe {
            call(
                self.raw(),
                texts[0].as_ptr(),
                ports[0],
                texts[1].as_ptr(),
                ports[1],
            )
        };
    }

    /// Path and query, the method, and the version of HTTP (`1.1`).
    pub fn uri(&mut self, target: &[u8], method: &[u8], version: &str) {
        let texts = [target, method, version.as_bytes()].map(c_text);
        let call = self.functions().msc_process_uri;
        // SAFETY: the transaction is alive, and the texts are copied.
        unsafe {
            call(
                self.raw(),
                texts[0].as_ptr(),
                texts[1].as_ptr(),
                texts[2].as_ptr(),
            )
        };
    }

    /// One of the headers of the request.
    pub fn request_header(&mut self, name: &[u8], value: &[u8]) {
        self.header(self.functions().msc_add_n_request_header, name, value);
    }

    fn header(&self, add: AddHeader, name: &[u8], value: &[u8]) {
        // SAFETY: the transaction is alive, and bytes are copied, as many as there are.
        unsafe {
            add(
                self.raw(),
                name.as_ptr(),
                name.len(),
                value.as_ptr(),
                value.len(),
            )
        };
    }

    /// Phase 1, when all headers are there.
    pub fn request_headers(&mut self) -> Option<Intervention> {
        self.phase(|functions| functions.msc_process_request_headers)
    }

    /// A part of the request's body.
    pub fn append_request_body(&mut self, bytes: &[u8]) -> Option<Intervention> {
        let call = self.functions().msc_append_request_body;
        // SAFETY: the transaction is alive, and bytes are copied, as many as there are.
        unsafe { call(self.raw(), bytes.as_ptr(), bytes.len()) };
        self.intervention()
    }

    /// Phase 2, when the body is there, or there is none.
    pub fn request_body(&mut self) -> Option<Intervention> {
        self.phase(|functions| functions.msc_process_request_body)
    }

    /// One of the headers of the response.
    pub fn response_header(&mut self, name: &[u8], value: &[u8]) {
        self.header(self.functions().msc_add_n_response_header, name, value);
    }

    /// Phase 3, when all headers of the response are there. The protocol is that of the client (`HTTP 1.1`).
    pub fn response_headers(&mut self, status: u16, protocol: &str) -> Option<Intervention> {
        let protocol: CString = c_text(protocol.as_bytes());
        let call = self.functions().msc_process_response_headers;
        // SAFETY: the transaction is alive, and the text is copied.
        unsafe { call(self.raw(), c_int::from(status), protocol.as_ptr()) };
        self.intervention()
    }

    /// A part of the response's body.
    pub fn append_response_body(&mut self, bytes: &[u8]) -> Option<Intervention> {
        let call = self.functions().msc_append_response_body;
        // SAFETY: the transaction is alive, and bytes are copied, as many as there are.
        unsafe { call(self.raw(), bytes.as_ptr(), bytes.len()) };
        self.intervention()
    }

    /// Phase 4, when the body is there, or there is none.
    pub fn response_body(&mut self) -> Option<Intervention> {
        self.phase(|functions| functions.msc_process_response_body)
    }

    /// Status for the log, where the client gets another one than the upstream gave.
    pub fn answered(&mut self, status: u16) {
        let call = self.functions().msc_update_status_code;
        // SAFETY: the transaction is alive.
        unsafe { call(self.raw(), c_int::from(status)) };
    }

    fn phase(
        &mut self,
        of: impl Fn(&Functions) -> unsafe extern "C" fn(Raw) -> c_int,
    ) -> Option<Intervention> {
        let call = of(self.functions());
        // SAFETY: the transaction is alive.
        unsafe { call(self.raw()) };
        self.intervention()
    }

    fn intervention(&mut self) -> Option<Intervention> {
        let mut found = RawIntervention {
            status: 200,
            pause: 0,
            url: null_mut(),
            log: null_mut(),
            disruptive: 0,
        };
        let call = self.functions().msc_intervention;
        // SAFETY: the transaction is alive, and the value is of the type that the library fills.
        let is_one = unsafe { call(self.raw(), &raw mut found) } != 0;
        // SAFETY: the library gives both away (`strdup`), or leaves them alone.
        let (location, log) = unsafe { (taken(found.url), taken(found.log)) };
        let status = u16::try_from(found.status).ok();
        // As the module for nginx reads it: a status of 200 is none.
        let status = status.filter(|status| is_one && (*status != 200 || location.is_some()))?;
        Some(Intervention {
            status,
            location,
            log: log.unwrap_or_default(),
        })
    }

    fn functions(&self) -> &Functions {
        &self.engine.library.functions
    }

    fn raw(&self) -> Raw {
        self.raw.as_ptr()
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let functions = self.functions();
        // SAFETY: the transaction is alive, and used no more.
        unsafe {
            (functions.msc_process_logging)(self.raw());
            (functions.msc_transaction_cleanup)(self.raw());
        }
    }
}
