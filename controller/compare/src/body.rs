//! Bodies: read up to a limit, decompressed, hashed.

use std::io::Write;

use flate2::write::GzDecoder;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use sha2::{Digest, Sha256};

use crate::response::Body;

/// Bytes that are kept, to recognise pages that a data plane makes.
const START: usize = 2048;

/// Hashes what is written, up to a limit.
#[derive(Clone)]
struct Sink {
    hash: Sha256,
    body: Body,
    most: u64,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let left = self.most.saturating_sub(self.body.bytes);
        let taken = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let (now, beyond) = bytes.split_at(taken);
        self.hash.update(now);
        self.body.bytes += now.len() as u64;
        let room = START.saturating_sub(self.body.start.len()).min(now.len());
        self.body.start.extend(now.iter().take(room));
        self.body.is_longer |= !beyond.is_empty();
        // Everything is taken: what is beyond is counted as such, and is no error.
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

enum Reader {
    Plain(Box<Sink>),
    Gzip(Box<GzDecoder<Sink>>),
}

impl Reader {
    fn new(encoding: Option<&str>, most: u64) -> Reader {
        let sink = Sink {
            hash: Sha256::new(),
            body: Body::default(),
            most,
        };
        match encoding {
            Some("gzip" | "x-gzip") => Reader::Gzip(Box::new(GzDecoder::new(sink))),
            _ => Reader::Plain(Box::new(sink)),
        }
    }

    /// False: it is no gzip.
    fn write(&mut self, bytes: &[u8]) -> bool {
        match self {
            Reader::Plain(sink) => sink.write_all(bytes).is_ok(),
            Reader::Gzip(decoder) => decoder.write_all(bytes).is_ok(),
        }
    }

    fn sink(&self) -> &Sink {
        match self {
            Reader::Plain(sink) => sink,
            Reader::Gzip(decoder) => decoder.get_ref(),
        }
    }

    /// The sink, and whether the encoding was complete.
    fn finish(self) -> Option<Sink> {
        match self {
            Reader::Plain(sink) => Some(*sink),
            Reader::Gzip(decoder) => decoder.finish().ok(),
        }
    }
}

/// Reads a body; nothing is kept of it but its start and its hash.
pub(crate) async fn read(mut incoming: Incoming, encoding: Option<&str>, most: u64) -> Body {
    let mut reader = Reader::new(encoding, most);
    // Of what is compressed, more comes out than goes in; what goes in is limited as well.
    let mut received = 0_u64;
    let (mut is_cut, mut is_longer) = (false, false);
    while let Some(frame) = incoming.frame().await {
        let Ok(frame) = frame else {
            is_cut = true;
            break;
        };
        let Ok(bytes) = frame.into_data() else {
            continue;
        };
        received += bytes.len() as u64;
        if !reader.write(&bytes) {
            is_cut = true;
            break;
        }
        if reader.sink().body.is_longer || received > most {
            is_longer = true;
            break;
        }
    }
    let known = encoding.filter(|it| !matches!(*it, "gzip" | "x-gzip" | "identity"));
    let unread = reader.sink().clone();
    match reader.finish() {
        Some(sink) => Body {
            hash: sink.hash.finalize().into(),
            is_longer: is_longer || sink.body.is_longer,
            is_cut,
            encoding: known.map(str::to_owned),
            ..sink.body
        },
        None => Body {
            hash: unread.hash.finalize().into(),
            is_longer,
            is_cut: !is_longer,
            ..unread.body
        },
    }
}
