//! `$sluice_authority`: the host whose server answers, with the port that the client wrote.
//!
//! A target in absolute form names the server, whatever is in `Host` then: that counts only where it names the same one.

use sluice_ngx::Computed;

pub(crate) const COMPUTED: Computed = Computed {
    name: "sluice_authority",
    write: |request, value| {
        value.extend_from_slice(authority(request.host(), request.host_header()));
        true
    },
};

/// Of the host in lower case without a port, and the header.
fn authority<'a>(host: &'a [u8], header: &'a [u8]) -> &'a [u8] {
    if header.is_empty() || names(header, host) {
        header
    } else {
        host
    }
}

/// `host`, with a dot at its end or without, and a port or none.
fn names(header: &[u8], host: &[u8]) -> bool {
    let Some((name, rest)) = header.split_at_checked(host.len()) else {
        return false;
    };
    let rest = rest.strip_prefix(b".").unwrap_or(rest);
    let is_port = || match rest.split_first() {
        Some((b':', port)) => port.iter().all(u8::is_ascii_digit),
        Some(_) => false,
        None => true,
    };
    !host.is_empty() && name.eq_ignore_ascii_case(host) && is_port()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(host: &str, header: &str, expected: &str) {
        let found = authority(host.as_bytes(), header.as_bytes());
        assert_eq!(String::from_utf8_lossy(found), expected, "{host} {header}");
    }

    #[test]
    fn a_header_that_names_the_server_counts_as_it_was_written() {
        for header in ["a.example", "A.example", "a.example.", "a.example:81"] {
            is("a.example", header, header);
        }
        is("a.example", "a.example.:", "a.example.:");
        is("[::1]", "[::1]:80", "[::1]:80");
    }

    #[test]
    fn another_name_in_the_header_does_not_count() {
        for header in [
            "b.example",
            "a.example.evil",
            "a.example:8x",
            "a.example..",
            "a.exampl",
            "a.example:80:80",
        ] {
            is("a.example", header, "a.example");
        }
    }

    #[test]
    fn without_a_header_there_is_none() {
        is("a.example", "", "");
        is("", "", "");
    }
}
