//! Settings of connections of a server's clients.
//!
//! ```text
//!   client_header_buffer_size 64k                        the first buffer for headers
//!   large_client_header_buffers 4 128k                   further ones, each for a line
//!   client_header_timeout, client_body_timeout 10s       time for a request
//!   send_timeout 10s                                     time for a response
//!   keepalive_timeout, keepalive_time, _requests         life of a connection
//! ```

use sluice_ir::{ClientTimeouts, ConnectionSettings, HeaderBuffers};
use sluice_syntax::value;

/// Bytes of one client's headers that a tenant may make nginx keep.
const MOST: u64 = 1 << 20;
const LEAST: u64 = 1 << 10;

/// Milliseconds that a tenant may make nginx wait for clients.
const LONGEST_WAIT: u32 = 600_000;
/// The same of a connection that is used.
const LONGEST_LIFE: u32 = 24 * 3_600_000;
/// Requests of one connection.
const MOST_REQUESTS: u32 = 1_000_000;

/// Bytes of all headers that Envoy takes where the ConfigMap says nothing.
const OF_ENVOY: u64 = 60 << 10;

/// A directive with a time.
struct TimeDirective {
    name: &'static str,
    /// nginx takes it in a location, too.
    is_of_locations: bool,
    /// Milliseconds that are served.
    longest: u32,
    setting: fn(&mut ConnectionSettings) -> &mut Option<u32>,
}

#[rustfmt::skip]
const TIMES: [TimeDirective; 5] = [
    TimeDirective { name: "client_header_timeout", is_of_locations: false, longest: LONGEST_WAIT, setting: |all| &mut all.header_timeout },
    TimeDirective { name: "client_body_timeout", is_of_locations: true, longest: LONGEST_WAIT, setting: |all| &mut all.body_timeout },
    TimeDirective { name: "send_timeout", is_of_locations: true, longest: LONGEST_WAIT, setting: |all| &mut all.send_timeout },
    TimeDirective { name: "keepalive_timeout", is_of_locations: true, longest: LONGEST_WAIT, setting: |all| &mut all.keep_alive_timeout },
    TimeDirective { name: "keepalive_time", is_of_locations: false, longest: LONGEST_LIFE, setting: |all| &mut all.keep_alive_time },
];
const REQUESTS: &str = "keepalive_requests";
const FIRST_BUFFER: &str = "client_header_buffer_size";
const LARGE_BUFFERS: &str = "large_client_header_buffers";

fn of_time(name: &str) -> Option<&'static TimeDirective> {
    TIMES.iter().find(|directive| directive.name == name)
}

/// True of the names of these directives.
pub(in crate::snippet) fn has_name(name: &str) -> bool {
    [REQUESTS, FIRST_BUFFER, LARGE_BUFFERS].contains(&name) || of_time(name).is_some()
}

/// True of the names of those that nginx takes in a location, too.
pub(in crate::snippet) fn is_of_locations(name: &str) -> bool {
    of_time(name).is_some_and(|directive| directive.is_of_locations)
}

/// Takes one directive. `None`: it is none of these, or too large. nginx takes none twice.
pub(in crate::snippet) fn add(settings: &mut ConnectionSettings, words: &[&str]) -> Option<()> {
    match *words {
        [REQUESTS, value] => {
            let requests = value
                .parse()
                .ok()
                .filter(|it| (1..=MOST_REQUESTS).contains(it));
            let is_plain = value.bytes().all(|byte| byte.is_ascii_digit());
            let before = settings
                .keep_alive_requests
                .replace(requests.filter(|_| is_plain)?);
            before.is_none().then_some(())
        }
        [name, value]
            if let Some(TimeDirective {
                longest, setting, ..
            }) = of_time(name) =>
        {
            let time = value::span(value).ok().filter(|time| time <= longest)?;
            setting(settings).replace(time).is_none().then_some(())
        }
        _ => add_room(settings, words),
    }
}

/// True of a directive that a server can have.
pub(in crate::snippet) fn is_one(words: &[&str]) -> bool {
    add(&mut ConnectionSettings::default(), words).is_some()
}

/// Reason why [`add`] does not take a value that nginx would take.
pub(in crate::snippet) fn beyond(words: &[&str]) -> Option<&'static str> {
    match *words {
        [REQUESTS, value] => {
            let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then_some("it may be 1 to 1000000")
        }
        [name, value] => {
            let longest = of_time(name)?.longest;
            let is_longer = value::span(value).is_ok_and(|time| time > longest);
            is_longer.then_some(match longest {
                LONGEST_WAIT => "it may be up to 10 minutes",
                _ => "it may be up to a day",
            })
        }
        _ => None,
    }
}

/// Takes a directive about buffers for headers.
fn add_room(room: &mut ConnectionSettings, words: &[&str]) -> Option<()> {
    let within = |size: &u64| (LEAST..=MOST).contains(size);
    let is_first = match *words {
        [FIRST_BUFFER, size] => {
            let size = value::size(size).ok().filter(within)?;
            let size = u32::try_from(size).ok()?;
            room.header_buffer.replace(size).is_none()
        }
        [LARGE_BUFFERS, number, size] => {
            let number: u32 = number.parse().ok().filter(|number| *number > 0)?;
            let size = value::size(size).ok().filter(within)?;
            let all = size.checked_mul(number.into());
            all.filter(within)?;
            let buffers = HeaderBuffers { number, size };
            room.large_header_buffers.replace(buffers).is_none()
        }
        _ => return None,
    };
    is_first.then_some(())
}

/// Those of a location.
pub(crate) fn client_timeouts(settings: ConnectionSettings) -> ClientTimeouts {
    ClientTimeouts {
        body: settings.body_timeout,
        send: settings.send_timeout,
        keep_alive: settings.keep_alive_timeout,
    }
}

/// True if there are other settings than room for headers, which Envoy has for all hosts.
pub(in crate::snippet) fn has_others(settings: ConnectionSettings) -> bool {
    let room = ConnectionSettings {
        header_buffer: settings.header_buffer,
        large_header_buffers: settings.large_header_buffers,
        ..ConnectionSettings::default()
    };
    settings != room
}

/// True if it takes more than Envoy does for all hosts.
pub(in crate::snippet) fn is_beyond_envoy(
    room: ConnectionSettings,
    of_all: Option<HeaderBuffers>,
) -> bool {
    let bytes = |buffers: HeaderBuffers| buffers.size.saturating_mul(buffers.number.into());
    let most = of_all.map_or(OF_ENVOY, bytes);
    let first = room.header_buffer.map_or(0, u64::from);
    let large = room.large_header_buffers;
    first > most || large.is_some_and(|large| bytes(large) > most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<ConnectionSettings> {
        let mut room = ConnectionSettings::default();
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
            ConnectionSettings {
                header_buffer: Some(64 << 10),
                large_header_buffers: Some(large),
                ..ConnectionSettings::default()
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
    fn the_longest_time_and_the_most_requests_are_said() {
        for (bad, part) in [
            ("send_timeout 1h", "10 minutes"),
            ("keepalive_timeout 20m", "10 minutes"),
            ("client_body_timeout 601", "10 minutes"),
            ("client_header_timeout 1d", "10 minutes"),
            ("keepalive_time 2d", "a day"),
            ("keepalive_requests 1000001", "1 to 1000000"),
        ] {
            let words: Vec<&str> = bad.split(' ').collect();
            assert_eq!(read(bad), None, "{bad}");
            assert!(beyond(&words).unwrap().contains(part), "{bad}");
        }
        assert_eq!(LONGEST_WAIT, 10 * 60_000);
        assert_eq!(LONGEST_LIFE, 86_400_000);
        assert_eq!(MOST_REQUESTS, 1_000_000);
        assert_eq!(beyond(&["send_timeout", "10m"]), None);
        assert_eq!(beyond(&["send_timeout", "$a"]), None);
    }

    #[test]
    fn clients_are_waited_for_within_limits() {
        let all = "client_header_timeout 10s;client_body_timeout 10;send_timeout 500ms;keepalive_timeout 0;\
                   keepalive_time 1d;keepalive_requests 100000";
        let settings = read(all).unwrap();
        assert_eq!(
            settings,
            ConnectionSettings {
                header_timeout: Some(10_000),
                body_timeout: Some(10_000),
                send_timeout: Some(500),
                keep_alive_timeout: Some(0),
                keep_alive_time: Some(86_400_000),
                keep_alive_requests: Some(100_000),
                ..ConnectionSettings::default()
            }
        );
        assert!(has_others(settings));
        assert!(!has_others(read("client_header_buffer_size 1k").unwrap()));
        for bad in [
            "client_body_timeout 601s",
            "client_header_timeout 1h",
            "send_timeout -1",
            "keepalive_timeout 75s 60s",
            "keepalive_timeout $a",
            "keepalive_time 2d",
            "keepalive_requests 0",
            "keepalive_requests +5",
            "keepalive_requests 1000001",
            "keepalive_timeout 5;keepalive_timeout 5",
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
