//! Living workers.

use super::LAPSE;
use crate::Timestamp;

/// When each worker was heard of last.
#[derive(Debug, Default)]
pub(super) struct Workers(Vec<Heard>);

#[derive(Clone, Copy, Debug)]
struct Heard {
    worker: u32,
    at: Timestamp,
}

impl Workers {
    const WIDTH: usize = 12;

    pub(super) fn read(bytes: &[u8]) -> Self {
        Workers(
            bytes
                .chunks_exact(Self::WIDTH)
                .filter_map(Heard::read)
                .collect(),
        )
    }

    pub(super) fn write(&self) -> Vec<u8> {
        self.0.iter().flat_map(Heard::write).collect()
    }

    /// A worker says that it lives. Those that are gone are forgotten.
    pub(super) fn beat(&mut self, worker: u32, now: Timestamp) {
        self.0
            .retain(|heard| heard.worker != worker && heard.lives(now));
        self.0.push(Heard { worker, at: now });
    }

    pub(super) fn lives(&self, worker: u32, now: Timestamp) -> bool {
        self.0
            .iter()
            .any(|heard| heard.worker == worker && heard.lives(now))
    }
}

impl Heard {
    /// A clock that was set back makes no one immortal.
    fn lives(&self, now: Timestamp) -> bool {
        now.since(self.at).max(self.at.since(now)) < LAPSE
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (worker, rest) = bytes.split_first_chunk()?;
        let (nanos, _) = rest.split_first_chunk()?;
        let at = Timestamp::from_nanos(u64::from_le_bytes(*nanos));
        Some(Heard {
            worker: u32::from_le_bytes(*worker),
            at,
        })
    }

    fn write(&self) -> impl Iterator<Item = u8> {
        self.worker
            .to_le_bytes()
            .into_iter()
            .chain(self.at.nanos().to_le_bytes())
    }
}
