//! The memory that all workers of a data plane share: nothing can be deleted from it, so every user of it has a fixed number of
//! keys and a largest value.

use crate::Rng;

/// Limit of attempts of an exchange. An exchange is lost only to another worker that won, so this many in a row do not happen.
pub(crate) const EXCHANGES: usize = 1000;

/// The memory that all workers of a data plane share.
pub trait Shared {
    /// A value and the number of its version; `Ok(None)` where there is none yet.
    fn read(&self, key: &str) -> Result<Option<(Vec<u8>, u32)>, Unavailable>;

    /// Replaces the value of this version; without a version, only where there is none yet.
    fn exchange(
        &self,
        key: &str,
        value: &[u8],
        version: Option<u32>,
    ) -> Result<Exchange, Unavailable>;
}

/// Result of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// The new value is there.
    Done,
    /// Another client's is.
    Lost,
}

/// This host shares nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable;

/// Secret that the first worker draws for all, so that nobody finds clients of one hash.
#[derive(Debug)]
pub(crate) struct Seed {
    draw: u64,
    known: Option<u64>,
}

impl Seed {
    pub(crate) fn new(rng: &mut impl Rng) -> Self {
        Seed {
            draw: rng.next_u64(),
            known: None,
        }
    }

    /// The same for all workers: the first one's.
    pub(crate) fn read(&mut self, key: &str, shared: &impl Shared) -> Result<u64, Unavailable> {
        if let Some(seed) = self.known {
            return Ok(seed);
        }
        for _ in 0..2 {
            if let Some((bytes, _)) = shared.read(key)? {
                let seed = u64::from_le_bytes(bytes.try_into().map_err(|_| Unavailable)?);
                return Ok(*self.known.insert(seed));
            }
            shared.exchange(key, &self.draw.to_le_bytes(), None)?;
        }
        Err(Unavailable)
    }
}

/// Changes a shared value as long as it takes; without a new value, not at all. `false` when others were always faster.
pub(crate) fn change(
    key: &str,
    shared: &impl Shared,
    mut new: impl FnMut(&[u8]) -> Result<Option<Vec<u8>>, Unavailable>,
) -> Result<bool, Unavailable> {
    for _ in 0..EXCHANGES {
        let (bytes, version) = shared
            .read(key)?
            .map_or((Vec::new(), None), |(b, v)| (b, Some(v)));
        let Some(changed) = new(&bytes)? else {
            return Ok(true);
        };
        if shared.exchange(key, &changed, version)? == Exchange::Done {
            return Ok(true);
        }
    }
    Ok(false)
}
