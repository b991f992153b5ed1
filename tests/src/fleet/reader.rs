//! Responses as they arrive, piece by piece: a response with all scopes has 20 MB, and 200 clients may get one at a time.

use anyhow::{Result, ensure};
use bytes::{Buf, BytesMut};

use super::kind::Kind;
use super::wire;

/// gRPC's: whether what follows is compressed, and its length.
const HEAD: usize = 5;

/// A part of a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Resource {
        kind: Option<Kind>,
        name: &'a str,
        version: &'a str,
        body: &'a [u8],
    },
    /// Fields come in any order: what is removed is known at the end, as is the kind.
    End {
        type_url: &'a str,
        nonce: &'a str,
        removed: &'a [String],
    },
}

/// Reads the body of a stream.
#[derive(Debug, Default)]
pub(super) struct Reader {
    buffer: BytesMut,
    /// Bytes of the message that are still to be read; `None` between two.
    left: Option<usize>,
    type_url: String,
    nonce: String,
    removed: Vec<String>,
}

impl Reader {
    /// Takes bytes, and hands over all parts that are whole.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(Part<'_>) -> Result<()>,
    ) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        loop {
            let Some(left) = self.left else {
                if !self.begin()? {
                    return Ok(());
                }
                continue;
            };
            if left == 0 {
                take(Part::End {
                    type_url: &self.type_url,
                    nonce: &self.nonce,
                    removed: &self.removed,
                })?;
                self.left = None;
                continue;
            }
            let whole = left.min(self.buffer.len());
            let Some(field) = wire::first(&self.buffer[..whole])? else {
                ensure!(whole < left, "a response ends within a field");
                return Ok(());
            };
            let text = std::str::from_utf8;
            match field.number {
                2 => take(resource(field.bytes())?)?,
                4 => text(field.bytes())?.clone_into(&mut self.type_url),
                5 => text(field.bytes())?.clone_into(&mut self.nonce),
                6 => self.removed.push(text(field.bytes())?.to_owned()),
                _ => {}
            }
            let len = field.len;
            self.buffer.advance(len);
            self.left = Some(left - len);
        }
    }

    /// Reads the head of a message; `false`: it is not whole yet.
    fn begin(&mut self) -> Result<bool> {
        if self.buffer.len() < HEAD {
            return Ok(false);
        }
        ensure!(self.buffer.get_u8() == 0, "a response is compressed");
        self.left = Some(usize::try_from(self.buffer.get_u32())?);
        self.type_url.clear();
        self.nonce.clear();
        self.removed.clear();
        Ok(true)
    }
}

fn resource(message: &[u8]) -> Result<Part<'_>> {
    let any = wire::last(message, 2);
    Ok(Part::Resource {
        kind: Kind::from_type_url(wire::last(any, 1)),
        name: std::str::from_utf8(wire::last(message, 3))?,
        version: std::str::from_utf8(wire::last(message, 1))?,
        body: wire::last(any, 2),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoy_types::pb::envoy::service::discovery::v3::{DeltaDiscoveryResponse, Resource};
    use envoy_types::pb::google::protobuf::Any;
    use prost::Message;

    fn framed(response: &DeltaDiscoveryResponse) -> Vec<u8> {
        let message = response.encode_to_vec();
        let len = u32::try_from(message.len()).unwrap().to_be_bytes();
        [&[0], len.as_slice(), &message].concat()
    }

    fn responses() -> Vec<u8> {
        let any = Any {
            type_url: Kind::Cluster.type_url(),
            value: b"body".to_vec(),
        };
        let first = DeltaDiscoveryResponse {
            resources: vec![Resource {
                name: "a".to_owned(),
                version: "1".to_owned(),
                resource: Some(any),
                ..Resource::default()
            }],
            removed_resources: vec!["b".to_owned()],
            type_url: Kind::Cluster.type_url(),
            nonce: "n1".to_owned(),
            ..DeltaDiscoveryResponse::default()
        };
        // Of nothing but a greeting.
        let second = DeltaDiscoveryResponse {
            nonce: "n2".to_owned(),
            ..DeltaDiscoveryResponse::default()
        };
        [framed(&first), framed(&second)].concat()
    }

    fn parts(pieces: impl Iterator<Item = Vec<u8>>) -> Vec<String> {
        let (mut reader, mut parts) = (Reader::default(), Vec::new());
        for piece in pieces {
            reader
                .push(&piece, |part| {
                    parts.push(format!("{part:?}"));
                    Ok(())
                })
                .unwrap();
        }
        parts
    }

    #[test]
    fn parts_are_the_same_in_whatever_pieces_they_come() {
        let bytes = responses();
        let whole = parts([bytes.clone()].into_iter());
        assert_eq!(whole.len(), 3, "{whole:?}");
        assert!(
            whole[0].contains("Cluster") && whole[0].contains("\"a\""),
            "{whole:?}"
        );
        assert!(
            whole[1].contains("\"n1\"") && whole[1].contains("[\"b\"]"),
            "{whole:?}"
        );
        assert!(
            whole[2].contains("\"n2\"") && whole[2].contains("[]"),
            "{whole:?}"
        );
        for len in [1, 2, 7] {
            assert_eq!(parts(bytes.chunks(len).map(<[u8]>::to_vec)), whole, "{len}");
        }
    }

    #[test]
    fn a_response_that_is_compressed_or_cut_is_an_error() {
        let push = |bytes: &[u8]| Reader::default().push(bytes, |_| Ok(()));
        assert!(push(&[1, 0, 0, 0, 0]).is_err());
        assert!(push(&[0, 0, 0, 0, 2, 0x12, 9]).is_err());
        assert!(push(&[0, 0, 0, 0, 3, 0x12, 2]).is_ok(), "more may come");
    }
}
