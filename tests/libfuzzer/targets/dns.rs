//! Replies of a DNS server: any bytes, and any records behind the head and the question that make it an answer.
#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use message::{Family, Reply, answer, question};

#[allow(dead_code, reason = "the file of the controller, without its sockets")]
#[path = "../../../controller/resolver/src/message.rs"]
mod message;

/// The id and the flags of a reply, and its four counts.
const HEAD: usize = 12;

fn is_in(address: IpAddr, message: &[u8]) -> bool {
    let bytes = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    message.windows(bytes.len()).any(|window| window == bytes)
}

fuzz_target!(|data: &[u8]| {
    let Some((&length, rest)) = data.split_first() else {
        return;
    };
    let (name, rest) = rest.split_at(usize::from(length).min(rest.len()));
    let Ok(name) = std::str::from_utf8(name) else {
        return;
    };
    for family in [Family::V4, Family::V6] {
        let Some(asked) = question(7, name, family) else {
            continue;
        };
        assert!(asked.len() <= HEAD + 255 + 4, "{} bytes", asked.len());
        drop(answer(rest, &asked));
        let Some((head, records)) = rest.split_at_checked(HEAD - 2) else {
            continue;
        };
        let reply = [&asked[..2], head, &asked[HEAD..], records].concat();
        let read = answer(&reply, &asked);
        assert!(
            read.is_none() || head[0] & 0x80 != 0,
            "a question is taken for an answer"
        );
        let Some(Reply::Addresses(addresses, _)) = read else {
            continue;
        };
        assert!(!addresses.is_empty());
        for address in addresses {
            assert!(is_in(address, &reply), "{address} is not in the reply");
            // A policy for addresses of IPv4 sees those that are written as IPv6, too.
            assert_eq!(address, address.to_canonical());
        }
        let other = question(8, name, family).expect("the same name");
        assert_eq!(answer(&reply, &other), None, "it answers another question");
    }
});
