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

    /// Returns what was read. A body of which the encoding is not complete ends where it was cut, or goes on.
    fn into_body(self, is_longer: bool, is_cut: bool) -> Body {
        let read = self.sink().clone();
        let (sink, is_longer, is_cut) = match self.finish() {
            Some(sink) => (sink, is_longer, is_cut),
            None => (read, is_longer, !is_longer),
        };
        Body {
            hash: sink.hash.finalize().into(),
            is_longer: is_longer || sink.body.is_longer,
            is_cut,
            ..sink.body
        }
    }

    /// The sink; `None`: the encoding is not complete.
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
    Body {
        encoding: known.map(str::to_owned),
        ..reader.into_body(is_longer, is_cut)
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// Text that does not compress to nothing.
    fn text(seed: u64) -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 56) as u8
        };
        let same = vec![b'a'; START];
        same.into_iter()
            .chain((0..20_000).map(|_| next()))
            .collect()
    }

    fn read_of(text: &[u8], encoding: Option<&str>, most: u64) -> Body {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        let bytes = match encoding {
            Some(_) => encoder.finish().unwrap(),
            None => text.to_vec(),
        };
        let mut reader = Reader::new(encoding, most);
        let mut received = 0;
        for piece in bytes.chunks(512) {
            received += piece.len() as u64;
            reader.write(piece);
            if reader.sink().body.is_longer || received > most {
                return reader.into_body(true, false);
            }
        }
        reader.into_body(false, false)
    }

    #[test]
    fn bodies_that_differ_have_different_hashes_also_where_they_are_cut() {
        for encoding in [None, Some("gzip")] {
            for most in [10_000, 1_000_000] {
                let [one, other] = [1, 2].map(|seed| read_of(&text(seed), encoding, most));
                assert_eq!(one.start, other.start);
                assert_eq!(one.is_longer, most == 10_000, "{encoding:?} {most}");
                assert_ne!(one.hash, other.hash, "{encoding:?} {most}");
                assert_eq!(one, read_of(&text(1), encoding, most));
            }
        }
    }
}
