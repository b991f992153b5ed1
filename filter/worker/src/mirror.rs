//! Copies of requests, on their way to a mirror: behind the choice of its endpoint, where they are requests of their own.

use std::borrow::Cow;

use sluice_filter_config::host_contract::{
    BODILESS_MIRROR_FILTER, MIRROR_FILTER, MIRROR_TARGET_HEADER,
};

use crate::Stream;

/// The copies that a filter prepares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// With the bodies of their requests.
    Whole,
    /// Without bodies.
    Bodiless,
}

impl Copies {
    /// The copies of the filter of this name; `None` where it is asked for requests.
    #[must_use]
    pub fn of_filter(name: &[u8]) -> Option<Copies> {
        [
            (MIRROR_FILTER, Copies::Whole),
            (BODILESS_MIRROR_FILTER, Copies::Bodiless),
        ]
        .into_iter()
        .find_map(|(own, copies)| (own.as_bytes() == name).then_some(copies))
    }

    /// True if the host has to drop bodies.
    #[must_use]
    pub fn are_bodiless(self) -> bool {
        self == Copies::Bodiless
    }

    /// Prepares the headers of a copy. `has_body`: more than headers comes.
    pub fn prepare(self, stream: &impl Stream, has_body: bool) {
        if let Some(target) = stream.first_header(MIRROR_TARGET_HEADER) {
            stream.set_request_header(":path", &path(&target));
            stream.remove_request_header(MIRROR_TARGET_HEADER);
        }
        if self.are_bodiless() && has_body {
            stream.set_request_header("content-length", b"0");
        }
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

    #[test]
    fn a_filter_prepares_copies_by_its_name() {
        let of_filter = |name: &str| Copies::of_filter(name.as_bytes());
        assert_eq!(of_filter(MIRROR_FILTER), Some(Copies::Whole));
        assert!(of_filter(BODILESS_MIRROR_FILTER).is_some_and(Copies::are_bodiless));
        for other in ["sluice", "sluice.lookup", ""] {
            assert_eq!(of_filter(other), None, "{other:?}");
        }
    }
}
