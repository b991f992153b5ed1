//! The counts that share a value.

/// Counts of clients, by worker.
#[derive(Debug, Default)]
pub(super) struct Slot(Vec<Count>);

/// Never zero: what is over is not listed.
#[derive(Clone, Copy, Debug)]
struct Count {
    client: u64,
    worker: u32,
    requests: u32,
}

impl Slot {
    /// More are not kept, so the value has at most a kibibyte.
    pub(super) const MOST: usize = 64;
    const WIDTH: usize = 16;

    pub(super) fn read(bytes: &[u8]) -> Self {
        Slot(
            bytes
                .chunks_exact(Self::WIDTH)
                .filter_map(Count::read)
                .collect(),
        )
    }

    pub(super) fn write(&self) -> Vec<u8> {
        self.0.iter().flat_map(Count::write).collect()
    }

    /// All of a client, of whatever worker.
    pub(super) fn total(&self, client: u64) -> u32 {
        let counts = self.0.iter().filter(|count| count.client == client);
        counts.fold(0, |total, count| total.saturating_add(count.requests))
    }

    pub(super) fn is_anybody_elses(&self, worker: u32) -> bool {
        self.0.iter().any(|count| count.worker != worker)
    }

    /// Keeps the counts of these workers.
    pub(super) fn retain(&mut self, mut lives: impl FnMut(u32) -> bool) {
        self.0.retain(|count| lives(count.worker));
    }

    /// A worker has so many requests of a client in process; `false` when there is no room to say so.
    pub(super) fn set(&mut self, client: u64, worker: u32, requests: u32) -> bool {
        self.0
            .retain(|count| (count.client, count.worker) != (client, worker));
        if requests == 0 {
            return true;
        }
        let is_room = self.0.len() < Self::MOST;
        if is_room {
            self.0.push(Count {
                client,
                worker,
                requests,
            });
        }
        is_room
    }
}

impl Count {
    fn read(bytes: &[u8]) -> Option<Self> {
        let (client, rest) = bytes.split_first_chunk()?;
        let (worker, rest) = rest.split_first_chunk()?;
        let (requests, _) = rest.split_first_chunk()?;
        Some(Count {
            client: u64::from_le_bytes(*client),
            worker: u32::from_le_bytes(*worker),
            requests: u32::from_le_bytes(*requests),
        })
    }

    fn write(&self) -> impl Iterator<Item = u8> {
        let numbers = self
            .worker
            .to_le_bytes()
            .into_iter()
            .chain(self.requests.to_le_bytes());
        self.client.to_le_bytes().into_iter().chain(numbers)
    }
}
