//! Room for headers of requests to a server.
//!
//! ```text
//!   client_header_buffer_size 64k          the first buffer
//!   large_client_header_buffers 4 128k     further ones, each for a line
//! ```

use sluice_ir::{HeaderBuffers, HeaderRoom};
use sluice_syntax::value;

/// Bytes of one client's headers that a tenant may make nginx keep.
const MOST: u64 = 1 << 20;
const LEAST: u64 = 1 << 10;

/// Bytes of all headers that Envoy takes where the ConfigMap says nothing.
const OF_ENVOY: u64 = 60 << 10;

/// Their names.
pub(super) const DIRECTIVES: [&str; 2] =
    ["client_header_buffer_size", "large_client_header_buffers"];

/// Takes one directive. `None`: it is none of these, or too large. nginx takes none twice.
pub(super) fn add(room: &mut HeaderRoom, words: &[&str]) -> Option<()> {
    let within = |size: &u64| (LEAST..=MOST).contains(size);
    let is_first = match *words {
        ["client_header_buffer_size", size] => {
            let size = value::size(size).ok().filter(within)?;
            room.first.replace(u32::try_from(size).ok()?).is_none()
        }
        ["large_client_header_buffers", number, size] => {
            let number: u32 = number.parse().ok().filter(|number| *number > 0)?;
            let size = value::size(size).ok().filter(within)?;
            let all = size.checked_mul(number.into());
            all.filter(within)?;
            room.large.replace(HeaderBuffers { number, size }).is_none()
        }
        _ => return None,
    };
    is_first.then_some(())
}

/// True if it takes more than Envoy does for all hosts.
pub(super) fn is_beyond_envoy(room: HeaderRoom, of_all: Option<HeaderBuffers>) -> bool {
    let bytes = |buffers: HeaderBuffers| buffers.size.saturating_mul(buffers.number.into());
    let most = of_all.map_or(OF_ENVOY, bytes);
    let first = room.first.map_or(0, u64::from);
    first > most || room.large.is_some_and(|large| bytes(large) > most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<HeaderRoom> {
        let mut room = HeaderRoom::default();
        for directive in text.split(';') {
            let words: Vec<&str> = directive.split(' ').collect();
            add(&mut room, &words)?;
        }
        Some(room)
    }

    #[test]
    fn buffers_are_bounded() {
        let room =
            read("client_header_buffer_size 64k;large_client_header_buffers 4 128k").unwrap();
        let large = HeaderBuffers {
            number: 4,
            size: 128 << 10,
        };
        assert_eq!(
            room,
            HeaderRoom {
                first: Some(64 << 10),
                large: Some(large)
            }
        );
        for bad in [
            "client_header_buffer_size 2m",
            "client_header_buffer_size 100",
            "client_header_buffer_size x",
            "large_client_header_buffers 0 8k",
            "large_client_header_buffers -1 8k",
            "large_client_header_buffers 4",
            "large_client_header_buffers 9 128k",
            "large_client_header_buffers 4000000000 99999999g",
            "client_header_buffer_size 1k;client_header_buffer_size 1k",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn envoy_takes_as_much_as_the_configmap_says() {
        let room = |text| read(text).unwrap();
        let small = room("client_header_buffer_size 16k;large_client_header_buffers 4 8k");
        let large = room("large_client_header_buffers 4 64k");
        assert!(!is_beyond_envoy(small, None) && is_beyond_envoy(large, None));
        let of_all = Some(HeaderBuffers {
            number: 4,
            size: 64 << 10,
        });
        assert!(!is_beyond_envoy(large, of_all));
        let less = Some(HeaderBuffers {
            number: 2,
            size: 8 << 10,
        });
        assert!(is_beyond_envoy(small, less));
    }
}
