//! Serialized header maps of the ABI: count, sizes of all names and values, then all bytes, each NUL-terminated.

/// A validated, serialized header map of the guest; iteration cannot fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Pairs<'a> {
    /// (name length, value length) of each pair, 8 bytes per pair.
    sizes: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> Pairs<'a> {
    /// Parses a serialized map. An empty slice is an empty map; bytes after the map are ignored, as in Envoy.
    #[must_use]
    pub fn parse(serialized: &'a [u8]) -> Option<Self> {
        if serialized.is_empty() {
            return Some(Self::default());
        }
        let (count, rest) = serialized.split_first_chunk()?;
        let table = usize::try_from(u32::from_le_bytes(*count))
            .ok()?
            .checked_mul(8)?;
        let (sizes, bytes) = rest.split_at_checked(table)?;
        let pairs = Self { sizes, bytes };
        let mut left = pairs;
        while !left.sizes.is_empty() {
            left.take_pair()?;
        }
        Some(pairs)
    }

    /// Number of pairs.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sizes.len() / 8
    }

    fn take_pair(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let (name_size, rest) = self.sizes.split_first_chunk()?;
        let (value_size, rest) = rest.split_first_chunk()?;
        let name = self.take_string(*name_size)?;
        let value = self.take_string(*value_size)?;
        self.sizes = rest;
        Some((name, value))
    }

    fn take_string(&mut self, size: [u8; 4]) -> Option<&'a [u8]> {
        let size = usize::try_from(u32::from_le_bytes(size)).ok()?;
        let (string, rest) = self.bytes.split_at_checked(size)?;
        self.bytes = rest.get(1..)?;
        Some(string)
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.take_pair()
    }
}

/// A header map being serialized; the host keeps it to reuse its memory.
#[derive(Debug, Default)]
pub struct PairsBuf {
    sizes: Vec<u8>,
    bytes: Vec<u8>,
}

impl PairsBuf {
    /// Adds a pair. One whose length does not fit the ABI is skipped (no HTTP server accepts it).
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        let (Ok(name_size), Ok(value_size)) =
            (u32::try_from(name.len()), u32::try_from(value.len()))
        else {
            return;
        };
        self.sizes.extend_from_slice(&name_size.to_le_bytes());
        self.sizes.extend_from_slice(&value_size.to_le_bytes());
        self.bytes.extend_from_slice(name);
        self.bytes.push(0);
        self.bytes.extend_from_slice(value);
        self.bytes.push(0);
    }

    /// Removes the pairs and keeps the memory.
    pub fn clear(&mut self) {
        self.sizes.clear();
        self.bytes.clear();
    }

    /// Appends the serialized map to `out`; nothing for an empty map, as in Envoy.
    pub fn serialize(&self, out: &mut Vec<u8>) {
        if self.sizes.is_empty() {
            return;
        }
        let count = u32::try_from(self.sizes.len() / 8).unwrap_or(u32::MAX);
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&self.sizes);
        out.extend_from_slice(&self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serialized(pairs: &[(&[u8], &[u8])]) -> Vec<u8> {
        let (mut buffer, mut out) = (PairsBuf::default(), Vec::new());
        for (name, value) in pairs {
            buffer.push(name, value);
        }
        buffer.serialize(&mut out);
        out
    }

    #[test]
    fn serialized_pairs_parse_back() {
        let cases: [&[(&[u8], &[u8])]; 3] = [
            &[],
            &[(b"", b"")],
            &[
                (b":path", b"/a\0b"),
                (b"x-empty", b""),
                (b"x-empty", b"\xff"),
            ],
        ];
        for pairs in cases {
            let bytes = serialized(pairs);
            let parsed = Pairs::parse(&bytes).unwrap();
            assert_eq!(parsed.count(), pairs.len());
            assert_eq!(parsed.collect::<Vec<_>>(), pairs);
        }
    }

    #[test]
    fn serialization_follows_the_specification() {
        assert_eq!(
            serialized(&[(b"a", b"bc")]),
            b"\x01\0\0\0\x01\0\0\0\x02\0\0\0a\0bc\0"
        );
    }

    #[test]
    fn truncated_map_is_rejected() {
        let bytes = serialized(&[(b"one", b"1"), (b"two", b"22")]);
        for end in 1..bytes.len() {
            assert_eq!(Pairs::parse(&bytes[..end]), None, "cut at {end}");
        }
    }

    #[test]
    fn overflowing_sizes_are_rejected() {
        assert_eq!(Pairs::parse(&[0xff; 4]), None);
        assert_eq!(
            Pairs::parse(&[
                1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, b'a', 0
            ]),
            None
        );
    }
}
