//! A FastCGI application that answers with whatever bytes a test has for a request, records of the protocol or not.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Types of records.
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
/// Type of the records with the response.
pub const STDOUT: u8 = 6;
/// Type of the records with messages for the log.
pub const STDERR: u8 = 7;

/// Parameters of a request.
pub type Params = BTreeMap<String, Vec<u8>>;

/// An application; it ends when this is dropped.
#[derive(Debug)]
pub struct Application {
    requests: Arc<Mutex<Vec<Params>>>,
    task: JoinHandle<()>,
}

/// Bytes of an answer. The connection ends behind them.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Sent once.
    pub bytes: Vec<u8>,
    /// Sent behind them until the peer goes away.
    pub for_ever: Vec<u8>,
    /// True if the connection stays open behind them, in silence.
    pub stays: bool,
}

impl Answer {
    /// These bytes and the end of the connection.
    pub fn once(bytes: Vec<u8>) -> Answer {
        Answer {
            bytes,
            ..Answer::default()
        }
    }
}

impl Application {
    /// `answer` decides by the parameters of a request.
    pub async fn start(
        addr: SocketAddr,
        answer: impl Fn(&Params) -> Answer + Send + Sync + 'static,
    ) -> Result<Application> {
        let listener = TcpListener::bind(addr).await.context("FastCGI")?;
        let (requests, answer) = (Arc::<Mutex<Vec<Params>>>::default(), Arc::new(answer));
        let heard = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (heard, answer) = (Arc::clone(&heard), Arc::clone(&answer));
                // A peer that goes away in the middle is what tests are about.
                tokio::spawn(async move { serve(stream, &heard, &*answer).await.ok() });
            }
        });
        Ok(Application { requests, task })
    }

    /// Requests so far.
    pub fn requests(&self) -> Vec<Params> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    heard: &Mutex<Vec<Params>>,
    answer: &(dyn Fn(&Params) -> Answer + Send + Sync),
) -> Result<()> {
    let (params, _) = request(&mut stream).await?;
    let Answer {
        bytes,
        for_ever,
        stays,
    } = answer(&params);
    heard
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(params);
    stream.write_all(&bytes).await?;
    while !for_ever.is_empty() {
        stream.write_all(&for_ever).await?;
    }
    if stays {
        stream.read_to_end(&mut Vec::new()).await?;
    }
    stream.shutdown().await?;
    Ok(())
}

/// Reads one request: its parameters, and the size of its body.
pub(crate) async fn request(stream: &mut TcpStream) -> Result<(Params, usize)> {
    let (mut params, mut body) = (Vec::new(), 0);
    loop {
        let mut head = [0; 8];
        stream.read_exact(&mut head).await?;
        let [1, kind, _, _, high, low, padding, _] = head else {
            anyhow::bail!("not a record: {head:?}");
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let mut content = vec![0; length + usize::from(padding)];
        stream.read_exact(&mut content).await?;
        content.truncate(length);
        match kind {
            PARAMS => params.extend(content),
            STDIN if length == 0 => return Ok((pairs(&params)?, body)),
            STDIN => body += length,
            _ => {}
        }
    }
}

fn pairs(mut bytes: &[u8]) -> Result<Params> {
    let mut params = Params::new();
    while !bytes.is_empty() {
        let (name, value) = (length(&mut bytes)?, length(&mut bytes)?);
        let (name, rest) = bytes.split_at_checked(name).context("a short name")?;
        let (value, rest) = rest.split_at_checked(value).context("a short value")?;
        bytes = rest;
        let name = String::from_utf8(name.to_vec())?;
        let known = params.insert(name.clone(), value.to_vec());
        ensure!(known.is_none(), "{name} is there twice");
    }
    Ok(params)
}

/// One byte, or four with the highest bit set.
fn length(bytes: &mut &[u8]) -> Result<usize> {
    let (first, rest) = bytes.split_first().context("no length")?;
    if *first < 0x80 {
        *bytes = rest;
        return Ok(usize::from(*first));
    }
    let (long, rest) = bytes.split_first_chunk::<4>().context("a short length")?;
    *bytes = rest;
    Ok(usize::try_from(u32::from_be_bytes(*long) & 0x7FFF_FFFF)?)
}

/// One record.
pub fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).expect("a record has at most 65,535 bytes");
    let [high, low] = length.to_be_bytes();
    let mut record = vec![1, kind, 0, 1, high, low, 0, 0];
    record.extend_from_slice(content);
    record
}

/// The last record of a response.
pub fn end() -> Vec<u8> {
    record(END_REQUEST, &[0; 8])
}

/// A whole response.
pub fn response(text: &str) -> Vec<u8> {
    let pieces = text.as_bytes().chunks(0xFFFF);
    let mut bytes: Vec<u8> = pieces.flat_map(|piece| record(STDOUT, piece)).collect();
    bytes.extend(record(STDOUT, b""));
    bytes.extend(end());
    bytes
}
