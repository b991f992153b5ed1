//! The one way to write a path, by which routes and guards are found.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice_filter_core::path::{canonical, encoded, is_plain, meaning};

fn split(target: &[u8]) -> (&[u8], &[u8]) {
    target.split_at(
        target
            .iter()
            .position(|byte| *byte == b'?')
            .unwrap_or(target.len()),
    )
}

fn decoded(path: &[u8]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), path);
    while let Some((&byte, behind)) = rest.split_first() {
        let digits = behind
            .get(..2)
            .filter(|_| byte == b'%')
            .map(String::from_utf8_lossy);
        let value = digits.map(|digits| u8::from_str_radix(&digits, 16).expect("two digits"));
        rest = if value.is_some() {
            &behind[2..]
        } else {
            behind
        };
        bytes.push(value.unwrap_or(byte));
    }
    bytes
}

/// The segments that are left when all is decoded first, and dots are resolved then.
fn segments(decoded: &[u8]) -> Vec<&[u8]> {
    let mut segments = Vec::new();
    for segment in decoded.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => drop(
                segments
                    .pop()
                    .expect("a path that leads above the root is malformed"),
            ),
            segment => segments.push(segment),
        }
    }
    segments
}

fuzz_target!(|target: &[u8]| {
    let Ok(written) = canonical(target) else {
        return;
    };
    let ((path, query), (old, same)) = (split(&written.target), split(target));
    assert_eq!(query, same, "the query stays as it was");
    assert!(
        path.starts_with(b"/") && path.iter().all(u8::is_ascii_graphic) && !path.contains(&b'#')
    );
    assert!(
        path.split(|byte| *byte == b'/')
            .all(|segment| segment != b"." && segment != b"..")
    );
    assert!(!path.windows(2).any(|two| two == b"//"), "a slash too many");
    assert_eq!(
        segments(&decoded(path)),
        segments(&decoded(old)),
        "it is another path"
    );
    let again = canonical(&written.target).expect("what was written can be read");
    assert!(
        again.target == written.target && !again.had_dots,
        "it is written in one way"
    );
    assert!(!is_plain(target) || !old.contains(&b'%'));
    let means = meaning(path);
    assert_eq!(*means, *decoded(path), "it means something else");
    assert_eq!(*encoded(&means), *path, "it is encoded otherwise");
});
