//! A DNS server on loopback, whose answers a test changes while others ask.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

use crate::ports::Port;

const HEADER: usize = 12;
const A: u16 = 1;
const AAAA: u16 = 28;
const NO_SUCH_NAME: u8 = 3;

/// A server; it ends when this is dropped.
#[derive(Debug)]
pub struct DnsServer {
    port: Port,
    zone: Arc<Mutex<Zone>>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Zone {
    names: BTreeMap<String, Records>,
    is_silent: bool,
    /// Suffix of names that are answered late, and the delay.
    slow: Option<(String, Duration)>,
    questions: BTreeMap<String, usize>,
}

#[derive(Clone, Debug)]
struct Records {
    ttl: u32,
    addresses: Vec<IpAddr>,
}

impl DnsServer {
    /// Knows no name yet.
    pub async fn start() -> Result<DnsServer> {
        let (port, zone) = (Port::reserve()?, Arc::<Mutex<Zone>>::default());
        let socket = Arc::new(UdpSocket::bind(port.addr()).await?);
        let task = tokio::spawn({
            let zone = Arc::clone(&zone);
            async move {
                let mut buffer = [0; 1500];
                while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
                    let answer = buffer
                        .get(..length)
                        .and_then(|question| answer(question, &zone));
                    let Some((answer, pause)) = answer else {
                        continue;
                    };
                    if pause.is_zero() {
                        socket.send_to(&answer, from).await.ok();
                        continue;
                    }
                    let socket = Arc::clone(&socket);
                    tokio::spawn(async move {
                        tokio::time::sleep(pause).await;
                        socket.send_to(&answer, from).await.ok();
                    });
                }
            }
        });
        Ok(DnsServer { port, zone, task })
    }

    /// The listening address.
    pub fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    /// From now on a name has these addresses, for so many seconds.
    pub fn set(&self, name: &str, ttl: u32, addresses: &[&str]) -> Result<()> {
        let parsed = addresses
            .iter()
            .map(|text| text.parse().with_context(|| (*text).to_owned()));
        let records = Records {
            ttl,
            addresses: parsed.collect::<Result<_>>()?,
        };
        self.zone().names.insert(name.to_owned(), records);
        Ok(())
    }

    /// From now on a name does not exist.
    pub fn remove(&self, name: &str) {
        self.zone().names.remove(name);
    }

    /// Makes it read questions without answering, or answer again.
    pub fn be_silent(&self, is_silent: bool) {
        self.zone().is_silent = is_silent;
    }

    /// From now on, what is asked about names that end so is answered so much later.
    pub fn be_slow(&self, ending: &str, pause: Duration) {
        self.zone().slow = Some((ending.to_owned(), pause));
    }

    /// Questions about a name so far.
    pub fn asked(&self, name: &str) -> usize {
        self.zone().questions.get(name).copied().unwrap_or_default()
    }

    fn zone(&self) -> MutexGuard<'_, Zone> {
        self.zone.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DnsServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// RFC 1035: one question, its records, and nothing else, and how much later. `None`: no word.
fn answer(message: &[u8], zone: &Mutex<Zone>) -> Option<(Vec<u8>, Duration)> {
    let (name, end) = name(message)?;
    let kind = u16::from_be_bytes(*message.get(end..)?.first_chunk()?);
    let mut zone = zone.lock().unwrap_or_else(PoisonError::into_inner);
    *zone.questions.entry(name.clone()).or_default() += 1;
    if zone.is_silent {
        return None;
    }
    let known = zone.names.get(&name);
    let records = known.into_iter().flat_map(|records| {
        records
            .addresses
            .iter()
            .filter_map(move |address| match (kind, address) {
                (A, IpAddr::V4(address)) => Some((records.ttl, address.octets().to_vec())),
                (AAAA, IpAddr::V6(address)) => Some((records.ttl, address.octets().to_vec())),
                _ => None,
            })
    });
    let records: Vec<(u32, Vec<u8>)> = records.collect();
    let code = if known.is_some() { 0 } else { NO_SUCH_NAME };
    let mut answer = message.get(..2)?.to_vec();
    // A response, recursion desired and available.
    answer.extend([0x81, 0x80 | code, 0, 1]);
    answer.extend(u16::try_from(records.len()).ok()?.to_be_bytes());
    answer.extend([0, 0, 0, 0]);
    answer.extend(message.get(HEADER..end + 4)?);
    for (ttl, data) in records {
        // A pointer to the name, type, class, time to live, length, data.
        answer.extend([0xc0, 0x0c]);
        answer.extend(kind.to_be_bytes());
        answer.extend([0, 1]);
        answer.extend(ttl.to_be_bytes());
        answer.extend(u16::try_from(data.len()).ok()?.to_be_bytes());
        answer.extend(data);
    }
    let slow = zone
        .slow
        .as_ref()
        .filter(|(ending, _)| name.ends_with(ending));
    Some((answer, slow.map(|(_, pause)| *pause).unwrap_or_default()))
}

/// The name in question, in lower case, and where it ends.
fn name(message: &[u8]) -> Option<(String, usize)> {
    let (mut labels, mut at) = (Vec::new(), HEADER);
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            return Some((labels.join("."), at));
        }
        let label = message.get(at..at + length)?;
        labels.push(String::from_utf8_lossy(label).to_ascii_lowercase());
        at += length;
    }
}
