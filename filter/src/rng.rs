//! Seed of the filter's randomness.

use std::hash::{BuildHasher, RandomState};

use sluice_filter_core::SplitMix64;

/// `RandomState` is the standard library's way to the host's `random_get`.
pub(crate) fn seeded_rng() -> SplitMix64 {
    SplitMix64(RandomState::new().hash_one(0))
}
