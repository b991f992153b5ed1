//! Fields of an encoded protobuf message, without a copy.

use anyhow::{Result, bail};

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field<'a> {
    pub(super) number: u64,
    pub(super) value: Value<'a>,
    /// Bytes of the field with its tag.
    pub(super) len: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Of fixed length; nothing that is looked at has one.
    Fixed,
}

impl<'a> Field<'a> {
    /// The value of a string or a message; empty for any other.
    pub(super) fn bytes(&self) -> &'a [u8] {
        match self.value {
            Value::Bytes(bytes) => bytes,
            Value::Number(_) | Value::Fixed => &[],
        }
    }
}

/// The first field of these bytes; `None`: it is not whole yet.
pub(super) fn first(bytes: &[u8]) -> Result<Option<Field<'_>>> {
    let mut rest = bytes;
    let Some(tag) = varint(&mut rest)? else {
        return Ok(None);
    };
    let fixed = |len: usize| Some((Value::Fixed, rest.get(len..)?));
    let read = match tag & 7 {
        0 => varint(&mut rest)?.map(|number| (Value::Number(number), rest)),
        1 => fixed(8),
        2 => varint(&mut rest)?.and_then(|len| {
            let (value, rest) = rest.split_at_checked(usize::try_from(len).ok()?)?;
            Some((Value::Bytes(value), rest))
        }),
        5 => fixed(4),
        other => bail!("expected a protobuf field, got one of wire type {other}"),
    };
    Ok(read.map(|(value, rest)| Field {
        number: tag >> 3,
        value,
        len: bytes.len() - rest.len(),
    }))
}

/// All fields of a message. It ends at the first that is none.
pub(super) fn fields(mut message: &[u8]) -> impl Iterator<Item = Field<'_>> {
    std::iter::from_fn(move || {
        let field = first(message).ok()??;
        message = &message[field.len..];
        Some(field)
    })
}

/// The last string or message of a number in a message, which is the one that holds; empty without one.
pub(super) fn last(message: &[u8], number: u64) -> &[u8] {
    let all = fields(message).filter(|field| field.number == number);
    all.last().map_or(&[], |field| field.bytes())
}

fn varint(bytes: &mut &[u8]) -> Result<Option<u64>> {
    let mut number = 0;
    for (place, byte) in bytes.iter().enumerate() {
        if place == 10 {
            bail!("expected a number of at most 10 bytes, got more");
        }
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            *bytes = &bytes[place + 1..];
            return Ok(Some(number));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoy_types::pb::envoy::service::discovery::v3::Resource;
    use prost::Message;

    #[test]
    fn fields_are_read_as_prost_wrote_them() {
        let name = "n".repeat(300);
        let resource = Resource {
            name: name.clone(),
            version: "v".to_owned(),
            ..Resource::default()
        };
        let bytes = resource.encode_to_vec();
        assert_eq!(last(&bytes, 3), name.as_bytes());
        assert_eq!(last(&bytes, 1), b"v");
        assert_eq!(last(&bytes, 2), b"");
        assert_eq!(
            fields(&bytes).map(|field| field.len).sum::<usize>(),
            bytes.len()
        );
    }

    #[test]
    fn a_field_is_none_until_it_is_whole() {
        let resource = Resource {
            name: "name".to_owned(),
            ..Resource::default()
        };
        let bytes = resource.encode_to_vec();
        for len in 0..bytes.len() {
            assert_eq!(first(&bytes[..len]).unwrap(), None, "{len}");
        }
        assert_eq!(first(&bytes).unwrap().unwrap().bytes(), b"name");
        assert!(first(&[0x0f]).is_err(), "a wire type that there is not");
    }
}
