//! Questions and answers of DNS as bytes (RFC 1035), as far as addresses need them.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const HEADER: usize = 12;
/// The root's label and every other's length, together (RFC 1035, 2.3.4).
const LONGEST_NAME: usize = 255;
const LONGEST_LABEL: usize = 63;
/// Class IN.
const INTERNET: [u8; 2] = [0, 1];
const CNAME: u16 = 5;

/// The records that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// A.
    V4 = 1,
    /// AAAA.
    V6 = 28,
}

/// Reply of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// These addresses, one at least, for so many seconds.
    Addresses(BTreeSet<IpAddr>, u32),
    /// The name does not exist, or has no such address.
    NoAddress,
    /// The answer is too long for a datagram.
    Truncated,
    /// The server's error: 2 is that it knows no answer, 5 that it will not say.
    Error(u8),
}

/// A question that the server is to follow up itself; `None` where the name is no name.
pub(super) fn question(id: u16, name: &str, family: Family) -> Option<Vec<u8>> {
    let mut message = id.to_be_bytes().to_vec();
    // Recursion is desired, and there is one question.
    message.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.trim_end_matches('.').split('.') {
        let length = Some(label.len()).filter(|length| (1..=LONGEST_LABEL).contains(length))?;
        message.push(u8::try_from(length).ok()?);
        message.extend(label.as_bytes());
    }
    message.push(0);
    if message.len() - HEADER > LONGEST_NAME {
        return None;
    }
    message.extend((family as u16).to_be_bytes());
    message.extend(INTERNET);
    Some(message)
}

/// Reads the answer to a question. `None`: it is none, or cannot be read.
///
/// All addresses count, whatever name of a chain of aliases they belong to: the server that we asked has followed it.
pub(super) fn answer(message: &[u8], question: &[u8]) -> Option<Reply> {
    let [id0, id1, flags, more_flags, _, _, count0, count1, ..] =
        *message.first_chunk::<HEADER>()?;
    let asked = question.get(HEADER..)?;
    let (head, rest) = message.split_at_checked(HEADER + asked.len())?;
    let is_response = flags & 0x80 != 0;
    if question.get(..2)? != [id0, id1]
        || !is_response
        || !head.get(HEADER..)?.eq_ignore_ascii_case(asked)
    {
        return None;
    }
    match more_flags & 0x0f {
        0 if flags & 2 != 0 => Some(Reply::Truncated),
        0 => addresses(rest, u16::from_be_bytes([count0, count1])),
        3 => Some(Reply::NoAddress),
        code => Some(Reply::Error(code)),
    }
}

fn addresses(mut rest: &[u8], count: u16) -> Option<Reply> {
    let (mut found, mut least) = (BTreeSet::new(), u32::MAX);
    for _ in 0..count {
        let (record, behind) = behind_name(rest)?.split_first_chunk::<10>()?;
        let [kind0, kind1, class0, class1, ttl @ .., length0, length1] = *record;
        let length = usize::from(u16::from_be_bytes([length0, length1]));
        let (data, next) = behind.split_at_checked(length)?;
        rest = next;
        let address = match (u16::from_be_bytes([kind0, kind1]), [class0, class1]) {
            (1, INTERNET) => Some(IpAddr::from(Ipv4Addr::from(
                <[u8; 4]>::try_from(data).ok()?,
            ))),
            (28, INTERNET) => Some(IpAddr::from(Ipv6Addr::from(
                <[u8; 16]>::try_from(data).ok()?,
            ))),
            (CNAME, INTERNET) => None,
            _ => continue,
        };
        least = least.min(u32::from_be_bytes(ttl));
        found.extend(address.map(|address| address.to_canonical()));
    }
    Some(if found.is_empty() {
        Reply::NoAddress
    } else {
        Reply::Addresses(found, least)
    })
}

/// Bytes after a name; a name that ends with a pointer is not followed.
fn behind_name(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let (length, behind) = rest.split_first()?;
        match usize::from(*length) {
            0 => return Some(behind),
            length @ 1..=LONGEST_LABEL => rest = behind.get(length..)?,
            0xc0.. => return behind.get(1..),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u16, ttl: u32, data: &[u8]) -> Vec<u8> {
        let mut record = vec![0xc0, 0x0c];
        record.extend(kind.to_be_bytes());
        record.extend(INTERNET);
        record.extend(ttl.to_be_bytes());
        record.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        record.extend(data);
        record
    }

    fn reply(question: &[u8], flags: [u8; 2], records: &[Vec<u8>]) -> Vec<u8> {
        let mut message = question.to_vec();
        message[2] |= flags[0];
        message[3] |= flags[1];
        message[7] = u8::try_from(records.len()).unwrap();
        message.extend(records.concat());
        message
    }

    fn ask() -> Vec<u8> {
        question(7, "a.example.", Family::V4).unwrap()
    }

    #[test]
    fn a_question_is_as_rfc_1035_says() {
        let expected =
            b"\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x07example\x00\x00\x01\x00\x01";
        assert_eq!(ask(), expected);
        for bad in [
            "",
            ".",
            "a..b",
            &"a".repeat(64),
            &["a".repeat(63).as_str(); 4].join("."),
        ] {
            assert_eq!(question(7, bad, Family::V6), None, "{bad:?}");
        }
    }

    #[test]
    fn addresses_of_a_chain_hold_as_long_as_its_shortest_link() {
        let chain = [
            record(CNAME, 5, b"\x01b\xc0\x0c"),
            record(1, 60, &[192, 0, 2, 1]),
            record(1, 9, &[192, 0, 2, 2]),
        ];
        let addresses = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        let expected = Some(Reply::Addresses(BTreeSet::from(addresses), 5));
        assert_eq!(answer(&reply(&ask(), [0x80, 0], &chain), &ask()), expected);
    }

    #[test]
    fn what_is_no_address_is_told_apart() {
        let say = |flags, records: &[Vec<u8>]| answer(&reply(&ask(), flags, records), &ask());
        assert_eq!(say([0x80, 3], &[]), Some(Reply::NoAddress));
        assert_eq!(
            say([0x80, 0], &[record(CNAME, 5, b"\x00")]),
            Some(Reply::NoAddress)
        );
        assert_eq!(say([0x80, 2], &[]), Some(Reply::Error(2)));
        assert_eq!(say([0x82, 0], &[]), Some(Reply::Truncated));
    }

    #[test]
    fn who_answers_another_question_is_not_heard() {
        let good = reply(&ask(), [0x80, 0], &[record(1, 60, &[192, 0, 2, 1])]);
        assert!(answer(&good, &ask()).is_some());
        assert_eq!(
            answer(&good, &question(8, "a.example", Family::V4).unwrap()),
            None
        );
        assert_eq!(
            answer(&good, &question(7, "b.example", Family::V4).unwrap()),
            None
        );
        assert_eq!(
            answer(&good, &question(7, "a.example", Family::V6).unwrap()),
            None
        );
        assert_eq!(
            answer(&reply(&ask(), [0, 0], &[]), &ask()),
            None,
            "a question is no answer"
        );
        for length in 0..good.len() {
            assert_eq!(answer(&good[..length], &ask()), None, "cut at {length}");
        }
    }

    #[test]
    fn no_byte_makes_an_answer_a_danger() {
        let records = [
            record(CNAME, 5, b"\x01b\xc0\x0c"),
            record(28, 60, &[0xfd; 16]),
            record(1, 60, &[192, 0, 2, 1]),
        ];
        let good = reply(&ask(), [0x80, 0], &records);
        for at in 0..good.len() {
            for byte in 0..=u8::MAX {
                let mut bad = good.clone();
                bad[at] = byte;
                answer(&bad, &ask());
                answer(&bad[at..], &ask());
            }
        }
    }
}
