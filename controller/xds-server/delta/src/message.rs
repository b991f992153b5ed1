//! Messages as they are kept in memory: compressed by LZ4 with a dictionary that those of their type share, because the messages of
//! ten thousand hosts are much alike. They are decompressed while they are written to a client.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use lz4_flex::block::{compress_with_dict, decompress_into_with_dict};

/// A larger one is kept plain: such as a table of all hosts, it is one of a kind.
const MAX_PACKED: usize = 16 * 1024;
/// A smaller one would become larger.
const MIN_PACKED: usize = 64;
/// A longer dictionary would cost more for each message than it saves.
const MAX_DICTIONARY: usize = 16 * 1024;
/// One message, which may be a tenant's, does not fill it.
const MAX_SHARE: usize = MAX_DICTIONARY / 4;

/// An encoded message.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// As it is.
    Plain(Bytes),
    /// Compressed.
    Packed {
        dictionary: Arc<[u8]>,
        packed: Box<[u8]>,
        len: u32,
    },
}

/// Messages of a type, one of each sort that came first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionary(Arc<[u8]>);

impl Dictionary {
    /// Compresses a message. One that is like none before becomes a part of the dictionary, while there is room.
    pub(crate) fn pack(&mut self, bytes: Vec<u8>) -> Message {
        if !(MIN_PACKED..=MAX_PACKED).contains(&bytes.len()) {
            return Message::from(bytes);
        }
        let has_room = bytes.len() <= MAX_SHARE && self.0.len() + bytes.len() <= MAX_DICTIONARY;
        // The first one may be repetitive by itself; those that follow are like it nevertheless.
        let is_first = self.0.is_empty() && has_room;
        if !is_first && let Some(packed) = self.packed(&bytes) {
            return packed;
        }
        if has_room {
            self.0 = [&self.0, bytes.as_slice()].concat().into();
        }
        Message::from(bytes)
    }

    /// `None`: it would not shrink to half.
    fn packed(&self, bytes: &[u8]) -> Option<Message> {
        let packed = compress_with_dict(bytes, &self.0);
        let message = Message::Packed {
            dictionary: Arc::clone(&self.0),
            len: u32::try_from(bytes.len()).ok()?,
            packed: packed.into(),
        };
        (message.size() * 2 <= bytes.len() && message.is(bytes)).then_some(message)
    }
}

impl From<Vec<u8>> for Message {
    fn from(bytes: Vec<u8>) -> Self {
        Message::Plain(bytes.into())
    }
}

impl Message {
    /// Its length on the wire.
    pub(crate) fn len(&self) -> usize {
        match self {
            Message::Plain(bytes) => bytes.len(),
            Message::Packed { len, .. } => *len as usize,
        }
    }

    /// Its length in memory.
    fn size(&self) -> usize {
        match self {
            Message::Plain(bytes) => bytes.len(),
            Message::Packed { packed, .. } => packed.len(),
        }
    }

    /// True if it is this message.
    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        match self {
            Message::Plain(plain) => plain == bytes,
            Message::Packed { .. } => self.len() == bytes.len() && self.bytes() == bytes,
        }
    }

    /// The message.
    pub(crate) fn bytes(&self) -> Bytes {
        match self {
            Message::Plain(bytes) => bytes.clone(),
            Message::Packed { .. } => {
                let mut bytes = BytesMut::with_capacity(self.len());
                self.write(&mut bytes);
                bytes.freeze()
            }
        }
    }

    /// Appends it.
    pub(crate) fn write(&self, to: &mut BytesMut) {
        match self {
            Message::Plain(bytes) => to.extend_from_slice(bytes),
            Message::Packed {
                dictionary, packed, ..
            } => {
                let before = to.len();
                to.resize(before + self.len(), 0);
                let unpacked = to.get_mut(before..).unwrap_or_default();
                // What cannot be unpacked was not packed.
                let written = decompress_into_with_dict(packed, unpacked, dictionary);
                debug_assert_eq!(written.ok(), Some(self.len()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// As scopes are: mostly the same, with a name in places.
    fn alike(name: &str) -> Vec<u8> {
        let mut number = 1_u32;
        let noise = std::iter::repeat_with(|| {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (number >> 24) as u8
        });
        let noise: Vec<u8> = noise.take(1000).collect();
        [name.as_bytes(), &noise, name.as_bytes(), b"end"].concat()
    }

    #[test]
    fn messages_that_are_alike_are_kept_as_their_differences() {
        let mut dictionary = Dictionary::default();
        let first = dictionary.pack(alike("a.test"));
        assert!(matches!(first, Message::Plain(_)));
        for name in ["b.test", "another.name.test", "a.test"] {
            let message = dictionary.pack(alike(name));
            assert!(
                message.size() < 100,
                "{} of {}",
                message.size(),
                message.len()
            );
            assert_eq!(message.bytes(), alike(name));
        }
    }

    #[test]
    fn what_is_like_nothing_before_does_not_replace_the_dictionary() {
        let mut dictionary = Dictionary::default();
        dictionary.pack(alike("a.test"));
        for other in 0..100_u8 {
            let noise = alike("x")
                .into_iter()
                .map(|byte| byte.rotate_left(3) ^ other);
            dictionary.pack(noise.collect());
        }
        assert!(dictionary.0.len() <= MAX_DICTIONARY);
        assert!(dictionary.pack(alike("b.test")).size() < 100);
    }

    proptest! {
        #[test]
        fn a_message_is_what_was_packed(
            messages in vec(vec(0..4_u8, 0..2000), 1..8),
            long in vec(any::<u8>(), MAX_PACKED - 1..MAX_PACKED + 2),
        ) {
            let mut dictionary = Dictionary::default();
            for bytes in messages.iter().chain([&long, &long]) {
                let message = dictionary.pack(bytes.clone());
                prop_assert_eq!(message.len(), bytes.len());
                prop_assert!(message.is(bytes) && !message.is(&[bytes.as_slice(), b"x"].concat()));
                let mut written = BytesMut::from(&b"before"[..]);
                message.write(&mut written);
                prop_assert_eq!(&written[..], [b"before", bytes.as_slice()].concat());
            }
        }
    }
}
