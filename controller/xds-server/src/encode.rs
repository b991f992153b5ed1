//! The bytes of a response, piece by piece: what is not read yet costs a name and a pointer for each resource, however many
//! clients start at the same time. A response with all scopes may have 20 MB.

use bytes::{BufMut, Bytes, BytesMut};
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use sluice_xds::Name;

use crate::response::{Resource, Response};

/// A piece is closed when it holds this much.
const PIECE: usize = 32 * 1024;

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
pub(crate) struct Encoder {
    response: Response,
    resources: std::vec::IntoIter<Resource>,
    removed: std::vec::IntoIter<Name>,
    /// Length of the message, until it was written.
    head: Option<u32>,
    has_ended: bool,
}

impl Encoder {
    /// `None`: it is longer than a gRPC message can be.
    pub(crate) fn new(mut response: Response) -> Option<Encoder> {
        let len = u32::try_from(len(&response)).ok()?;
        let resources = std::mem::take(&mut response.resources).into_iter();
        let removed = std::mem::take(&mut response.removed_resources).into_iter();
        Some(Encoder {
            response,
            resources,
            removed,
            head: Some(len),
            has_ended: false,
        })
    }

    /// Adds whole fields until the piece is full.
    fn fill(&mut self, piece: &mut BytesMut) {
        while piece.len() < PIECE {
            if let Some(resource) = self.resources.next() {
                put_resource(piece, &resource, &self.response);
            } else if !std::mem::replace(&mut self.has_ended, true) {
                put(piece, response::TYPE_URL, self.response.type_url.as_bytes());
                put(piece, response::NONCE, self.response.nonce.as_bytes());
            } else if let Some(name) = self.removed.next() {
                put(piece, response::REMOVED_RESOURCES, name.as_bytes());
            } else {
                return;
            }
        }
    }
}

impl Iterator for Encoder {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut piece = BytesMut::new();
        if let Some(len) = self.head.take() {
            // Not compressed.
            piece.put_u8(0);
            piece.put_u32(len);
        }
        self.fill(&mut piece);
        (!piece.is_empty()).then(|| piece.freeze())
    }
}

fn len(response: &Response) -> usize {
    let resources = response.resources.iter().map(|resource| {
        let len = resource_len(resource, response);
        field_len(response::RESOURCES, len)
    });
    let removed = response.removed_resources.iter();
    let removed = removed.map(|name| field_len(response::REMOVED_RESOURCES, name.len()));
    resources.chain(removed).sum::<usize>()
        + field_len(response::TYPE_URL, response.type_url.len())
        + field_len(response::NONCE, response.nonce.len())
}

fn resource_len(resource: &Resource, response: &Response) -> usize {
    let version = resource.version.to_string().len();
    field_len(resource::VERSION, version)
        + field_len(resource::RESOURCE, any_len(resource, response))
        + field_len(resource::NAME, resource.name.len())
}

fn any_len(resource: &Resource, response: &Response) -> usize {
    field_len(any::TYPE_URL, response.type_url.len())
        + field_len(any::VALUE, resource.message.len() + response.mark.len())
}

fn field_len(number: u32, len: usize) -> usize {
    key_len(number) + encoded_len_varint(len as u64) + len
}

fn put_resource(piece: &mut BytesMut, resource: &Resource, response: &Response) {
    let value = resource.message.len() + response.mark.len();
    let len = resource_len(resource, response);
    piece.reserve(field_len(response::RESOURCES, len));
    begin(piece, response::RESOURCES, len);
    put(
        piece,
        resource::VERSION,
        resource.version.to_string().as_bytes(),
    );
    begin(piece, resource::RESOURCE, any_len(resource, response));
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
    use crate::message::Message;
    use crate::version::Version;

    fn response(resources: usize, bytes: usize, mark: &'static [u8]) -> Response {
        let resource = |number: usize| Resource {
            name: format!("resource-{number}").into(),
            version: Version::hash(&number.to_be_bytes()),
            message: Message::from(vec![b'x'; bytes]).into(),
        };
        Response {
            type_url: "type.googleapis.com/a".to_owned(),
            nonce: "nonce".to_owned(),
            resources: (0..resources).map(resource).collect(),
            removed_resources: vec!["gone".into(), "lost".into()],
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
            for (read, sent) in read.resources.iter().zip(&response.resources) {
                let any = read.resource.as_ref().unwrap();
                assert_eq!(
                    (read.name.as_str(), &read.version),
                    (&*sent.name, &sent.version.to_string())
                );
                assert_eq!(any.type_url, "type.googleapis.com/a");
                assert_eq!(
                    any.value,
                    [&sent.message.bytes()[..], mark.as_bytes()].concat()
                );
            }
        }
    }
}
