//! The bytes of a response, piece by piece: what is not read yet costs a name, a version and a pointer for each resource, however many
//! clients start at the same time. A response with all scopes may have 20 MB.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};

use crate::message::Message;
use crate::response::Response;

/// A piece is closed when it holds this much: a frame of HTTP/2.
const PIECE: usize = 16 * 1024;
/// Room for the end of the last resource, beyond that.
const OVERHANG: usize = 4 * 1024;

/// Field numbers of `DeltaDiscoveryResponse`.
mod response {
    pub(super) const RESOURCES: u32 = 2;
    pub(super) const TYPE_URL: u32 = 4;
    pub(super) const NONCE: u32 = 5;
    pub(super) const REMOVED_RESOURCES: u32 = 6;
}

/// Field numbers of `Resource`.
mod resource {
    pub(super) const VERSION: u32 = 1;
    pub(super) const RESOURCE: u32 = 2;
    pub(super) const NAME: u32 = 3;
}

/// Field numbers of `Any`.
mod any {
    pub(super) const TYPE_URL: u32 = 1;
    pub(super) const VALUE: u32 = 2;
}

/// Encodes one response as a gRPC message.
#[derive(Debug)]
pub struct Encoder {
    response: Response,
    /// How much of `sent` was written.
    written: usize,
    messages: std::vec::IntoIter<Arc<Message>>,
    /// Length of the message, until it was written.
    head: Option<u32>,
    /// Bytes of the message that are not in a piece yet.
    left: usize,
    has_ended: bool,
}

impl Encoder {
    /// `None`: it is longer than a gRPC message can be.
    pub fn new(mut response: Response) -> Option<Encoder> {
        let len = u32::try_from(len(&response)).ok()?;
        let messages = std::mem::take(&mut response.messages).into_iter();
        Some(Encoder {
            response,
            written: 0,
            messages,
            head: Some(len),
            left: len as usize,
            has_ended: false,
        })
    }

    /// Adds whole fields until the piece is full.
    fn fill(&mut self, piece: &mut BytesMut) {
        while piece.len() < PIECE {
            if let Some((name, version)) = self.response.sent.get(self.written) {
                self.written += 1;
                let Some(version) = version else {
                    put(piece, response::REMOVED_RESOURCES, name.as_bytes());
                    continue;
                };
                if let Some(message) = self.messages.next() {
                    let resource = Resource {
                        name,
                        version: version.to_string(),
                        message: &message,
                    };
                    put_resource(piece, &resource, &self.response);
                }
            } else if !std::mem::replace(&mut self.has_ended, true) {
                put(piece, response::TYPE_URL, self.response.type_url.as_bytes());
                put(piece, response::NONCE, self.response.nonce.as_bytes());
            } else {
                return;
            }
        }
    }
}

/// One that is set.
struct Resource<'a> {
    name: &'a str,
    version: String,
    message: &'a Message,
}

impl Iterator for Encoder {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut piece = BytesMut::with_capacity(self.left.min(PIECE) + OVERHANG);
        if let Some(len) = self.head.take() {
            // Not compressed.
            piece.put_u8(0);
            piece.put_u32(len);
        }
        self.fill(&mut piece);
        self.left = self.left.saturating_sub(piece.len());
        (!piece.is_empty()).then(|| piece.freeze())
    }
}

fn len(response: &Response) -> usize {
    let mut messages = response.messages.iter();
    let sent = response.sent.iter().map(|(name, version)| {
        let Some(version) = version else {
            return field_len(response::REMOVED_RESOURCES, name.len());
        };
        let resource = messages.next().map(|message| Resource {
            name,
            version: version.to_string(),
            message,
        });
        resource.map_or(0, |resource| {
            field_len(response::RESOURCES, resource_len(&resource, response))
        })
    });
    sent.sum::<usize>()
        + field_len(response::TYPE_URL, response.type_url.len())
        + field_len(response::NONCE, response.nonce.len())
}

fn resource_len(resource: &Resource<'_>, response: &Response) -> usize {
    field_len(resource::VERSION, resource.version.len())
        + field_len(resource::RESOURCE, any_len(resource.message, response))
        + field_len(resource::NAME, resource.name.len())
}

fn any_len(message: &Message, response: &Response) -> usize {
    field_len(any::TYPE_URL, response.type_url.len())
        + field_len(any::VALUE, message.len() + response.mark.len())
}

fn field_len(number: u32, len: usize) -> usize {
    key_len(number) + encoded_len_varint(len as u64) + len
}

fn put_resource(piece: &mut BytesMut, resource: &Resource<'_>, response: &Response) {
    let value = resource.message.len() + response.mark.len();
    let len = resource_len(resource, response);
    piece.reserve(field_len(response::RESOURCES, len));
    begin(piece, response::RESOURCES, len);
    put(piece, resource::VERSION, resource.version.as_bytes());
    begin(
        piece,
        resource::RESOURCE,
        any_len(resource.message, response),
    );
    put(piece, any::TYPE_URL, response.type_url.as_bytes());
    begin(piece, any::VALUE, value);
    resource.message.write(piece);
    piece.extend_from_slice(&response.mark);
    put(piece, resource::NAME, resource.name.as_bytes());
}

fn put(piece: &mut BytesMut, number: u32, bytes: &[u8]) {
    begin(piece, number, bytes.len());
    piece.extend_from_slice(bytes);
}

fn begin(piece: &mut BytesMut, number: u32, len: usize) {
    encode_key(number, WireType::LengthDelimited, piece);
    encode_varint(len as u64, piece);
}

#[cfg(test)]
mod tests {
    use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryResponse;
    use prost::Message as _;

    use super::*;
    use crate::version::Version;

    fn response(resources: usize, bytes: usize, mark: &'static [u8]) -> Response {
        let set = (0..resources).map(|number| {
            let version = Version::hash(&number.to_be_bytes());
            (format!("resource-{number}").into(), Some(version))
        });
        let removed = ["gone", "lost"].map(|name| (name.into(), None));
        let message = || Message::from(vec![b'x'; bytes]).into();
        Response {
            type_url: "type.googleapis.com/a".to_owned(),
            nonce: "nonce".to_owned(),
            sent: removed.into_iter().chain(set).collect(),
            messages: std::iter::repeat_with(message).take(resources).collect(),
            mark: Bytes::from_static(mark),
        }
    }

    #[test]
    fn pieces_are_the_message_that_the_response_says() {
        for (resources, bytes, mark) in [
            (0, 0, ""),
            (3, 200, "mark"),
            (50, 20_000, "m"),
            (1, 200_000, ""),
        ] {
            let response = response(resources, bytes, mark.as_bytes());
            let pieces: Vec<Bytes> = Encoder::new(response.clone()).unwrap().collect();
            let (largest, all) = (bytes + PIECE + 1024, pieces.concat());
            assert!(
                pieces.iter().all(|piece| piece.len() <= largest),
                "{resources} {bytes}"
            );
            let len = u32::try_from(all.len() - 5).unwrap();
            assert_eq!((all[0], &all[1..5]), (0, &len.to_be_bytes()[..]));
            let read = DeltaDiscoveryResponse::decode(&all[5..]).unwrap();
            assert_eq!(
                (read.type_url, read.nonce),
                (response.type_url, response.nonce)
            );
            assert_eq!(read.removed_resources, ["gone", "lost"]);
            assert_eq!(read.resources.len(), resources);
            for (read, (name, version)) in read.resources.iter().zip(&response.sent[2..]) {
                let any = read.resource.as_ref().unwrap();
                assert_eq!(
                    (read.name.as_str(), &read.version),
                    (&**name, &version.unwrap().to_string())
                );
                assert_eq!(any.type_url, "type.googleapis.com/a");
                assert_eq!(any.value, [&vec![b'x'; bytes], mark.as_bytes()].concat());
            }
        }
    }
}
