//! Iteration over a list of candidates, `a:1,b:2`, one for each try.

use std::ops::Range;

/// Position of a request in its list.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    current: Option<Range<usize>>,
    /// Tries that nginx should have left at the next call.
    expected: usize,
}

impl Candidates {
    /// Number of candidates in a list.
    pub(crate) fn count(list: &[u8]) -> usize {
        list.split(|byte| *byte == b',').count()
    }

    /// The candidate for the next try; `tries` is the number that nginx has left.
    ///
    /// When a pooled connection turns out to be closed, nginx gives the try back: it has one more left than expected. The
    /// candidate itself may be healthy, so it is returned again. Where nginx has more tries than there are candidates, they begin
    /// again.
    pub(crate) fn next<'l>(&mut self, list: &'l [u8], tries: usize) -> Option<&'l [u8]> {
        let start = match &self.current {
            None => 0,
            Some(current) if tries > self.expected => current.start,
            Some(current) if current.end < list.len() => current.end + 1,
            // The last one was no address.
            Some(_) if self.expected == usize::MAX => list.len(),
            Some(_) => 0,
        };
        let rest = list.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest
            .iter()
            .position(|byte| *byte == b',')
            .unwrap_or(rest.len());
        self.current = Some(start..start + length);
        // Only `tried` makes the next call a new try.
        self.expected = usize::MAX;
        rest.get(..length)
    }

    /// A try has failed or the request is over; nginx has this many tries left.
    pub(crate) fn tried(&mut self, left: usize) {
        self.expected = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[u8] = b"10.0.0.1:80,10.0.0.2:80,[::1]:8080";

    #[test]
    fn each_try_takes_the_next_candidate() {
        let mut candidates = Candidates::default();
        let mut tries = Candidates::count(LIST);
        let mut seen = Vec::new();
        while tries > 0 {
            seen.extend(candidates.next(LIST, tries));
            tries -= 1;
            candidates.tried(tries);
        }
        assert_eq!(seen, [&b"10.0.0.1:80"[..], b"10.0.0.2:80", b"[::1]:8080"]);
    }

    #[test]
    fn more_tries_than_candidates_begin_again() {
        let mut candidates = Candidates::default();
        for left in [2, 1, 0] {
            assert_eq!(candidates.next(b"x", left + 1), Some(&b"x"[..]));
            candidates.tried(left);
        }
    }

    #[test]
    fn returned_try_takes_the_same_candidate() {
        let mut candidates = Candidates::default();
        assert_eq!(candidates.next(LIST, 3), Some(&b"10.0.0.1:80"[..]));
        candidates.tried(2);
        assert_eq!(candidates.next(LIST, 3), Some(&b"10.0.0.1:80"[..]));
        candidates.tried(2);
        assert_eq!(candidates.next(LIST, 2), Some(&b"10.0.0.2:80"[..]));
    }

    #[test]
    fn skipped_candidate_is_not_a_try() {
        let mut candidates = Candidates::default();
        assert_eq!(candidates.next(b"x,y", 2), Some(&b"x"[..]));
        assert_eq!(candidates.next(b"x,y", 2), Some(&b"y"[..]));
        assert_eq!(candidates.next(b"x,y", 2), None);
    }
}
