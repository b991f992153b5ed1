//! Copies of requests, on their way to a mirror: behind the choice of its endpoint, where they are requests of their own.

use std::borrow::Cow;

use sluice_filter_config::host_contract::{Copies, MIRROR_TARGET_HEADER};

use crate::Stream;

/// Prepares the headers of a copy. `has_body`: more than headers comes.
pub fn prepare_copy(copies: Copies, stream: &impl Stream, has_body: bool) {
    if let Some(target) = stream.first_header(MIRROR_TARGET_HEADER) {
        stream.set_request_header(":path", &path(&target));
        stream.remove_request_header(MIRROR_TARGET_HEADER);
    }
    if copies.are_bodiless() && has_body {
        stream.set_request_header("content-length", b"0");
    }
}

fn path(target: &[u8]) -> Cow<'_, [u8]> {
    let Some(end) = target.iter().position(|&byte| byte == b' ') else {
        return Cow::Borrowed(target);
    };
    let (fixed, target) = target.split_at(end);
    let query = target.iter().position(|&byte| byte == b'?');
    let query = query.and_then(|at| target.get(at..)).unwrap_or_default();
    Cow::Owned([fixed, query].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_path_has_the_query_of_the_request() {
        for (target, expected) in [
            ("/a%2fb?c=d", "/a%2fb?c=d"),
            ("/fixed /a?c=d", "/fixed?c=d"),
            ("/fixed /a", "/fixed"),
            ("/fixed /a?c?d", "/fixed?c?d"),
            ("/fixed ", "/fixed"),
            ("/fixed", "/fixed"),
        ] {
            assert_eq!(path(target.as_bytes()), expected.as_bytes(), "{target:?}");
        }
    }
}
