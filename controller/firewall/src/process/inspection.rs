//! One request and its response, part by part.

use std::sync::Arc;

use sluice_modsecurity::{Connection, Engine, Intervention, Transaction};
use sluice_xds_server::{Exchange, Failed, Headers, Inspector, Part, Verdict};
use tracing::warn;

use super::rule_book::Parsed;
use super::threads::Thread;

/// Status where a body is longer than what was kept of it, although rules want to see all.
const TOO_LARGE: u16 = 413;
/// A response that is no response yet: what follows is another protocol.
const SWITCHING: u16 = 101;

/// Its state.
pub(super) struct Inspection {
    exchange: Exchange,
    rules: Arc<Parsed>,
    thread: Arc<Thread>,
    /// `None`: before the first part, and after the end.
    transaction: Option<Transaction>,
}

impl Inspection {
    pub(super) fn new(exchange: Exchange, rules: Arc<Parsed>, thread: Arc<Thread>) -> Self {
        Inspection {
            exchange,
            rules,
            thread,
            transaction: None,
        }
    }

    /// Asks the engine about a part, on its thread.
    fn step(
        &self,
        part: Part,
    ) -> impl FnOnce(Option<Transaction>, &Arc<Engine>) -> Option<Step> + use<> {
        let (exchange, rules) = (self.exchange.clone(), Arc::clone(&self.rules));
        move |transaction, engine| {
            let mut transaction = match transaction {
                Some(transaction) => transaction,
                None => begun(&exchange, &rules, engine)?,
            };
            let verdict = verdict(&mut transaction, part, &exchange, &rules);
            Some(Step {
                transaction,
                verdict,
            })
        }
    }
}

/// Result of a step.
struct Step {
    transaction: Transaction,
    verdict: Result<Verdict, Intervention>,
}

#[tonic::async_trait]
impl Inspector for Inspection {
    async fn inspect(&mut self, part: Part) -> Result<Verdict, Failed> {
        let transaction = self.transaction.take();
        match (&part, &transaction) {
            (Part::Request { .. }, None) | (_, Some(_)) => {}
            // Envoy's own answer to a request that did not come here.
            (Part::Response { .. } | Part::ResponseBody { .. }, None) => {
                return Ok(Verdict::Continue);
            }
            (Part::RequestBody { .. }, None) => {
                return Err(Failed("a body without its request".to_owned()));
            }
        }
        let step = self.step(part);
        let stepped = self
            .thread
            .run(move |engine| step(transaction, engine))
            .await;
        let Some(Step {
            transaction,
            verdict,
        }) = stepped.flatten()
        else {
            return Err(Failed("no memory, or no thread".to_owned()));
        };
        self.transaction = Some(transaction);
        verdict.or_else(|intervention| Ok(self.rejection(intervention)))
    }
}

impl Inspection {
    fn rejection(&self, intervention: Intervention) -> Verdict {
        let Intervention {
            status,
            location,
            log,
        } = intervention;
        // Text of requests is in it.
        warn!(
            "firewall: {} gets {status}: {log:?}",
            self.exchange.client.ip()
        );
        Verdict::Reject { status, location }
    }
}

/// It is logged, on its thread.
impl Drop for Inspection {
    fn drop(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            self.thread.send(move |_| drop(transaction));
        }
    }
}

fn begun(exchange: &Exchange, rules: &Parsed, engine: &Arc<Engine>) -> Option<Transaction> {
    let mut transaction = Transaction::new(engine, &rules.rules, exchange.id.as_deref())?;
    transaction.connection(Connection {
        client: exchange.client,
        server: exchange.server,
    });
    Some(transaction)
}

/// Verdict of the rules on a part, and on phases that have nothing to wait for.
fn verdict(
    transaction: &mut Transaction,
    part: Part,
    exchange: &Exchange,
    rules: &Parsed,
) -> Result<Verdict, Intervention> {
    let verdict = match part {
        Part::Request {
            method,
            target,
            headers,
            is_last,
        } => {
            transaction.uri(&target, &method, version(&exchange.protocol));
            for (name, value) in &headers {
                transaction.request_header(name.as_bytes(), value);
            }
            or_go_on(transaction.request_headers())
                .and_then(|()| without_request_body(transaction, &method, &headers, is_last, rules))
        }
        Part::RequestBody { bytes, is_last } => request_body(transaction, &bytes, is_last, rules),
        Part::Response {
            status,
            headers,
            is_last,
        } => response(transaction, status, &headers, exchange)
            .and_then(|()| without_response_body(transaction, status, &headers, is_last, rules)),
        Part::ResponseBody { bytes, is_last } => or_go_on(transaction.append_response_body(&bytes))
            .and_then(|()| match is_last {
                true => or_go_on(transaction.response_body()),
                false => Ok(()),
            })
            .map(|()| Verdict::Continue),
    };
    if let Err(intervention) = &verdict {
        transaction.answered(intervention.status);
    }
    verdict
}

/// Phase 2 comes at once where no body is shown.
fn without_request_body(
    transaction: &mut Transaction,
    method: &[u8],
    headers: &Headers,
    is_last: bool,
    rules: &Parsed,
) -> Result<Verdict, Intervention> {
    let is_handshake = is_handshake(method, headers);
    if rules.set.request_body.is_some() && !is_last && !is_handshake {
        return Ok(Verdict::Continue);
    }
    or_go_on(transaction.request_body())?;
    Ok(match is_handshake {
        true => Verdict::WithoutBody,
        false => Verdict::Continue,
    })
}

/// The engine says what becomes of a body that is too long for it. One that is not, and is not all there, is not let through.
fn request_body(
    transaction: &mut Transaction,
    bytes: &[u8],
    is_last: bool,
    rules: &Parsed,
) -> Result<Verdict, Intervention> {
    let limit = rules.set.request_body.unwrap_or_default();
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if !is_last && length <= limit {
        return Err(Intervention {
            status: TOO_LARGE,
            location: None,
            log: format!("only {length} bytes of the body were kept"),
        });
    }
    or_go_on(transaction.append_request_body(bytes))?;
    or_go_on(transaction.request_body())?;
    Ok(Verdict::Continue)
}

fn response(
    transaction: &mut Transaction,
    status: u16,
    headers: &Headers,
    exchange: &Exchange,
) -> Result<(), Intervention> {
    for (name, value) in headers {
        transaction.response_header(name.as_bytes(), value);
    }
    let protocol = format!("HTTP {}", version(&exchange.protocol));
    or_go_on(transaction.response_headers(status, &protocol))
}

/// Phase 4 comes at once where no body is shown.
fn without_response_body(
    transaction: &mut Transaction,
    status: u16,
    headers: &Headers,
    is_last: bool,
    rules: &Parsed,
) -> Result<Verdict, Intervention> {
    let media_type = header(headers, "content-type").unwrap_or_default();
    let media_type = media_type
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default();
    let media_type = media_type.trim_ascii();
    let is_looked_at = |known: &String| known.as_bytes().eq_ignore_ascii_case(media_type);
    if !is_last && status != SWITCHING && rules.set.response_types.iter().any(is_looked_at) {
        return Ok(Verdict::WithBody);
    }
    or_go_on(transaction.response_body())?;
    Ok(Verdict::Continue)
}

fn or_go_on(intervention: Option<Intervention>) -> Result<(), Intervention> {
    intervention.map_or(Ok(()), Err)
}

/// Asks for another protocol, and has no body: what follows is that protocol. As Envoy's limit of bodies reads it.
fn is_handshake(method: &[u8], headers: &Headers) -> bool {
    let length = header(headers, "content-length");
    let is_zero = |length: &[u8]| length.iter().all(|digit| *digit == b'0');
    let has_no_body = match method {
        b"GET" => length.is_none_or(is_zero),
        b"POST" => length.is_some_and(is_zero),
        _ => false,
    };
    has_no_body && header(headers, "upgrade").is_some()
}

fn header<'a>(headers: &'a Headers, name: &str) -> Option<&'a [u8]> {
    let mut all = headers.iter();
    all.find_map(|(other, value)| (other == name).then_some(value.as_slice()))
}

/// `HTTP/1.1` is version 1.1.
fn version(protocol: &str) -> &str {
    match protocol.strip_prefix("HTTP/").unwrap_or(protocol) {
        "2" => "2.0",
        "3" => "3.0",
        version => version,
    }
}
