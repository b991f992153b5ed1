//! Header maps as they cross the ABI: count, sizes of all names and values, then all bytes, each NUL-terminated.

/// The headers of a request, in the host's bytes. What is cut short or does not add up ends the map.
#[derive(Debug, Default)]
pub(crate) struct Pairs(Vec<u8>);

impl Pairs {
    pub(crate) fn new(serialised: Vec<u8>) -> Self {
        Pairs(serialised)
    }

    /// The values of a header, in whatever case the host has its name.
    pub(crate) fn values<'p, 'n>(
        &'p self,
        name: &'n str,
    ) -> impl Iterator<Item = &'p [u8]> + use<'p, 'n> {
        let named = move |key: &[u8]| key.eq_ignore_ascii_case(name.as_bytes());
        self.iter()
            .filter(move |(key, _)| named(key))
            .map(|(_, value)| value)
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut sizes = self.0.get(4..).unwrap_or_default();
        let count = number(&self.0).unwrap_or_default();
        let mut bytes = sizes.get(count.saturating_mul(8)..).unwrap_or_default();
        let pair = move || {
            let (key, value) = (number(sizes)?, number(sizes.get(4..)?)?);
            sizes = sizes.get(8..)?;
            Some((text(&mut bytes, key)?, text(&mut bytes, value)?))
        };
        std::iter::from_fn(pair).take(count)
    }
}

/// A map for the host.
pub(crate) fn serialise(pairs: &[(&str, &str)]) -> Vec<u8> {
    let size = |len: usize| u32::try_from(len).unwrap_or_default().to_le_bytes();
    let mut bytes = size(pairs.len()).to_vec();
    bytes.extend(
        pairs
            .iter()
            .flat_map(|(key, value)| [size(key.len()), size(value.len())])
            .flatten(),
    );
    for text in pairs.iter().flat_map(|(key, value)| [key, value]) {
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
    }
    bytes
}

fn number(bytes: &[u8]) -> Option<usize> {
    let (number, _) = bytes.split_first_chunk()?;
    usize::try_from(u32::from_le_bytes(*number)).ok()
}

fn text<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (text, rest) = bytes.split_at_checked(len)?;
    *bytes = rest.get(1..)?;
    Some(text)
}
