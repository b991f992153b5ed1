//! The times that share a value.

use sluice_filter_config as wire;

use crate::Timestamp;

/// A limit in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    period: u32,
    /// Between two requests.
    gap: u64,
    /// How far the time of a client may be ahead when it sends one more.
    depth: u64,
}

impl From<wire::Rate> for Bucket {
    fn from(rate: wire::Rate) -> Self {
        let period = u64::from(rate.seconds.get()).saturating_mul(1_000_000_000);
        let gap = (period / u64::from(rate.requests.get())).max(1);
        Bucket {
            period: rate.seconds.get(),
            gap,
            depth: gap.saturating_mul(rate.burst.into()),
        }
    }
}

/// Times of clients, each by itself for each of its limits. Those that are over are not listed.
#[derive(Debug, Default)]
pub(super) struct Slot(Vec<Used>);

#[derive(Clone, Copy, Debug)]
struct Used {
    key: u64,
    until: u64,
    /// In microseconds: it only says how much `until` is.
    gap: u32,
}

impl Slot {
    /// More are not kept, so the value has at most 1280 bytes.
    pub(super) const MOST: usize = 64;
    const WIDTH: usize = 20;

    pub(super) fn read(bytes: &[u8], now: Timestamp) -> Self {
        let used = bytes.chunks_exact(Self::WIDTH).filter_map(Used::read);
        Slot(used.filter(|used| used.until > now.nanos()).collect())
    }

    pub(super) fn write(&self) -> Vec<u8> {
        self.0.iter().flat_map(Used::write).collect()
    }

    /// Counts a request in all of these buckets, or, where one of them is full, in none.
    pub(super) fn admit(&mut self, client: u64, buckets: &[Bucket], now: Timestamp) -> bool {
        let now = now.nanos();
        let fits = |bucket: &Bucket| self.until(client, *bucket, now) - now <= bucket.depth;
        if !buckets.iter().all(fits) {
            return false;
        }
        for bucket in buckets {
            let until = self.until(client, *bucket, now).saturating_add(bucket.gap);
            self.set(key(client, *bucket), until, bucket.gap, now);
        }
        true
    }

    /// Not before now. What no request can have written, before a clock was set back or a limit became smaller, is a used burst.
    fn until(&self, client: u64, bucket: Bucket, now: u64) -> u64 {
        let key = key(client, bucket);
        let used = self.0.iter().find(|used| used.key == key);
        let full = now.saturating_add(bucket.depth);
        match used.map(|used| used.until) {
            Some(until) if until > full.saturating_add(bucket.gap) => full,
            until => until.unwrap_or_default().max(now),
        }
    }

    fn set(&mut self, key: u64, until: u64, gap: u64, now: u64) {
        self.0.retain(|used| used.key != key);
        if self.0.len() >= Self::MOST {
            let fewest = (0..self.0.len()).min_by_key(|at| {
                let used = self.0.get(*at);
                used.map_or(0, |used| used.requests(now))
            });
            fewest.map(|at| self.0.remove(at));
        }
        let gap = u32::try_from(gap.div_ceil(1000)).unwrap_or(u32::MAX);
        self.0.push(Used { key, until, gap });
    }
}

fn key(client: u64, bucket: Bucket) -> u64 {
    client ^ u64::from(bucket.period)
}

impl Used {
    /// In thousandths.
    fn requests(&self, now: u64) -> u64 {
        self.until.saturating_sub(now) / u64::from(self.gap.max(1))
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (key, rest) = bytes.split_first_chunk()?;
        let (until, rest) = rest.split_first_chunk()?;
        let (gap, _) = rest.split_first_chunk()?;
        Some(Used {
            key: u64::from_le_bytes(*key),
            until: u64::from_le_bytes(*until),
            gap: u32::from_le_bytes(*gap),
        })
    }

    fn write(&self) -> impl Iterator<Item = u8> {
        let times = self
            .key
            .to_le_bytes()
            .into_iter()
            .chain(self.until.to_le_bytes());
        times.chain(self.gap.to_le_bytes())
    }
}
