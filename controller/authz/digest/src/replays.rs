//! Answers that were used: each nonce with each count opens once.
//!
//! As in RFC 4303, 3.4.3: the greatest count, and a bit for each of those before it, because requests of one client overtake each
//! other. Of each tenant the most recent nonces are kept. Those that are not known any more were there before the last that was
//! forgotten; they open nothing.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::{LIFETIME, Nonce};

/// Nonces of one tenant at a time: some 300 KiB.
const NONCES: usize = 4096;

/// Counts that were used, for each tenant.
#[derive(Default)]
pub struct Replays(HashMap<String, Used>);

#[derive(Default)]
struct Used {
    nonces: BTreeMap<Nonce, Counts>,
    forgotten: Option<Nonce>,
}

#[derive(Default)]
struct Counts {
    greatest: u32,
    /// Bit n: `greatest - n` was used.
    recent: u64,
}

impl Replays {
    /// True if the nonce is recent and was not used with this count. It is then.
    pub fn admit(&mut self, tenant: &str, nonce: Nonce, count: u32, now: u64) -> bool {
        // Clocks of replicas differ, so it may be of the future.
        if nonce.issued.abs_diff(now) > LIFETIME {
            return false;
        }
        if !self.0.contains_key(tenant) {
            self.0.retain(|_, used| used.is_recent(now));
        }
        let used = self.0.entry(tenant.to_owned()).or_default();
        used.admit(nonce, count, now)
    }
}

impl Used {
    fn admit(&mut self, nonce: Nonce, count: u32, now: u64) -> bool {
        if let Some(counts) = self.nonces.get_mut(&nonce) {
            return counts.admit(count);
        }
        if self.has_forgotten(nonce) {
            return false;
        }
        while let Some((&oldest, _)) = self.nonces.first_key_value()
            && (self.nonces.len() >= NONCES || is_over(oldest, now))
        {
            self.nonces.remove(&oldest);
            self.forgotten = self.forgotten.max(Some(oldest));
        }
        !self.has_forgotten(nonce) && self.nonces.entry(nonce).or_default().admit(count)
    }

    fn has_forgotten(&self, nonce: Nonce) -> bool {
        Some(nonce) <= self.forgotten
    }

    fn is_recent(&self, now: u64) -> bool {
        let last = self.nonces.last_key_value().map(|(nonce, _)| *nonce);
        last.max(self.forgotten)
            .is_some_and(|nonce| !is_over(nonce, now))
    }
}

impl Counts {
    fn admit(&mut self, count: u32) -> bool {
        if let Some(ahead) = count.checked_sub(self.greatest).filter(|ahead| *ahead > 0) {
            self.recent = self.recent.checked_shl(ahead).unwrap_or(0) | 1;
            self.greatest = count;
            return true;
        }
        let bit = 1u64.checked_shl(self.greatest - count).unwrap_or(0);
        let is_new = bit != 0 && self.recent & bit == 0;
        self.recent |= bit;
        is_new
    }
}

fn is_over(nonce: Nonce, now: u64) -> bool {
    nonce.issued + LIFETIME < now
}

impl fmt::Debug for Replays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replays")
            .field("tenants", &self.0.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn nonce(issued: u64, number: u64) -> Nonce {
        Nonce {
            issued,
            salt: number.to_be_bytes(),
        }
    }

    #[test]
    fn a_nonce_opens_for_its_lifetime() {
        let mut replays = Replays::default();
        let mut admit = |issued| replays.admit("a", nonce(issued, 0), 1, 1000);
        assert!(admit(1000) && admit(1000 - LIFETIME) && admit(1000 + LIFETIME));
        assert!(!admit(999 - LIFETIME) && !admit(1001 + LIFETIME) && !admit(0) && !admit(u64::MAX));
    }

    #[test]
    fn requests_may_overtake_each_other_but_come_once() {
        let mut replays = Replays::default();
        let mut admit = |count| replays.admit("a", nonce(1000, 0), count, 1000);
        assert!(admit(3) && admit(1) && admit(2) && admit(4));
        assert!(!admit(1) && !admit(2) && !admit(3) && !admit(4));
        assert!(admit(100) && admit(99) && admit(37) && !admit(36));
        assert!(
            admit(u32::MAX) && !admit(u32::MAX) && admit(u32::MAX - 63) && !admit(u32::MAX - 64)
        );
    }

    #[test]
    fn forgotten_nonces_are_closed_and_other_tenants_keep_theirs() {
        let mut replays = Replays::default();
        assert!(replays.admit("small", nonce(1000, 0), 1, 1000));
        let many = NONCES as u64 + 10;
        for number in 0..many {
            assert!(replays.admit("large", nonce(1000, number), 1, 1000));
        }
        assert_eq!(replays.0["large"].nonces.len(), NONCES);
        assert!((0..many).all(|number| !replays.admit("large", nonce(1000, number), 1, 1000)));
        assert!(
            !replays.admit("large", nonce(1000, 9), 2, 1000),
            "it was forgotten"
        );
        assert!(replays.admit("large", nonce(1000, 10), 2, 1000));
        assert!(replays.admit("small", nonce(1000, 0), 2, 1000));
    }

    #[test]
    fn what_is_over_takes_no_memory() {
        let mut replays = Replays::default();
        for number in 0..10 {
            replays.admit(&number.to_string(), nonce(1000, number), 1, 1000);
            replays.admit("a", nonce(1000, number), 1, 1000);
        }
        replays.admit("a", nonce(1100, 0), 1, 1100);
        replays.admit("b", nonce(1100, 0), 1, 1100);
        assert_eq!((replays.0.len(), replays.0["a"].nonces.len()), (2, 1));
    }

    proptest! {
        #[test]
        fn nothing_is_admitted_twice(
            steps in prop::collection::vec((900u64..1100, 0u64..3, 1u32..200, 0u64..3), 0..400),
        ) {
            let (mut replays, mut admitted, mut now) = (Replays::default(), HashSet::new(), 1000);
            for (issued, number, count, later) in steps {
                now += later;
                if replays.admit("a", nonce(issued, number), count, now) {
                    prop_assert!(admitted.insert((issued, number, count)));
                }
            }
        }
    }
}
