//! Readers of a client's cookies, query, path and host.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice_filter_core::affinity::{Session, pairs};
use sluice_filter_core::variables::{argument, cookie, host, split_path, uri};

fn is_part(part: &[u8], whole: &[u8]) -> bool {
    let (start, end) = (part.as_ptr() as usize, part.as_ptr() as usize + part.len());
    let (first, last) = (
        whole.as_ptr() as usize,
        whole.as_ptr() as usize + whole.len(),
    );
    part.is_empty() || (first <= start && end <= last)
}

fuzz_target!(|data: &[u8]| {
    let Some((&length, rest)) = data.split_first() else {
        return;
    };
    let (name, header) = rest.split_at(usize::from(length % 16).min(rest.len()));
    let Ok(name) = std::str::from_utf8(name) else {
        return;
    };
    if let Some(value) = cookie(header, name) {
        assert!(is_part(value, header) && !value.contains(&b';'));
    }
    if let Some(value) = argument(header, name) {
        assert!(is_part(value, header) && !value.contains(&b'&'));
    }
    for (name, value) in pairs(header) {
        assert!(is_part(name, header) && is_part(value, header) && !value.contains(&b';'));
    }
    if let Some(session) = Session::find(header, name, b"backend") {
        assert!(!session.upstream_key.contains(&b'|'));
        assert!(session.backend_key.is_none_or(|key| !key.contains(&b'|')));
    }
    let (path, query) = split_path(header);
    assert_eq!(
        path.len() + query.map_or(0, |query| query.len() + 1),
        header.len()
    );
    assert!(uri(header).len() <= header.len() + 1);
    let host = host(header);
    assert!(host.len() <= header.len() && !host.iter().any(u8::is_ascii_uppercase));
});
