//! Randomness: for spreading load, not for secrets.

/// A source of randomness, given by the caller.
pub trait Rng {
    /// The next 64 random bits.
    fn next_u64(&mut self) -> u64;

    /// A number below `bound`, or zero when there is nothing below it.
    fn below(&mut self, bound: usize) -> usize {
        // Multiply-shift: unbiased enough for any bound that fits in memory, and without a division.
        let wide = u128::from(self.next_u64()) * (bound as u128);
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number from 0 to below 1.
    fn fraction(&mut self) -> f64 {
        // The 53 bits that a double holds.
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// `SplitMix64` (Steele, Lea, Flood 2014). The state is the seed: equal seeds give equal numbers.
#[derive(Debug)]
pub struct SplitMix64(pub u64);

impl Rng for SplitMix64 {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
