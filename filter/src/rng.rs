//! The filter's randomness: for spreading load, not for secrets.

use std::hash::{BuildHasher, RandomState};

use sluice_filter_core::Rng;

/// SplitMix64 (Steele, Lea, Flood 2014), seeded by the host's random numbers.
#[derive(Debug)]
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    /// `RandomState` is the standard library's way to the host's `random_get`.
    pub(crate) fn seeded() -> Self {
        SplitMix64(RandomState::new().hash_one(0))
    }
}

impl Rng for SplitMix64 {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
