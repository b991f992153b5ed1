//! A memory of limited size that tenants share: who fills it forgets its own things first.
//!
//! Each tenant has two generations. When the newer one has half of all the room, or the tenant has most of a room that is
//! full, the older one goes as a whole; what was asked for meanwhile had moved over before. Bytes are counted as they are
//! asked for, with what the tables themselves take.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::mem::{size_of, take};

/// Key of an entry: a digest, so that its size is known.
pub type Key = [u8; 32];

/// Things by key, for each tenant.
pub struct FairCache<V> {
    budget: usize,
    used: usize,
    shares: BTreeMap<String, Share<V>>,
}

struct Share<V> {
    lately: Generation<V>,
    before: Generation<V>,
}

struct Generation<V> {
    entries: HashMap<Key, (V, usize)>,
    bytes: usize,
}

impl<V> FairCache<V> {
    /// At most so many bytes.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        FairCache {
            budget,
            used: 0,
            shares: BTreeMap::new(),
        }
    }

    /// Entries; one stays for as long as it is used.
    pub fn get(&mut self, tenant: &str, key: &Key) -> Option<&V> {
        let share = self.shares.get_mut(tenant)?;
        if let Some((value, size)) = share.before.take(key) {
            share.lately.put(*key, value, size);
        }
        share.lately.entries.get(key).map(|(value, _)| value)
    }

    /// Keeps a value, which has so many bytes outside of itself. One that is too large for its share of the room is not
    /// kept.
    pub fn insert(&mut self, tenant: &str, key: Key, value: V, outside: usize) {
        let size = outside.saturating_add(overhead::<V>());
        if size > self.budget / 16 {
            return;
        }
        if !self.shares.contains_key(tenant) {
            self.used += share_overhead::<V>(tenant);
        }
        let share = self.shares.entry(tenant.to_owned()).or_default();
        let gone = share.before.take(&key).map_or(0, |(_, size)| size)
            + share.lately.put(key, value, size);
        self.used = (self.used + size).saturating_sub(gone);
        if share.lately.bytes > self.budget / 2 {
            self.used = self.used.saturating_sub(share.turn());
        }
        while self.used > self.budget && self.forget() {}
    }

    /// Bytes that are used now.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used
    }

    /// Evicts the older half of the largest share. `false`: all shares are empty.
    fn forget(&mut self) -> bool {
        let Some((tenant, share)) = self
            .shares
            .iter_mut()
            .max_by_key(|(_, share)| share.bytes())
        else {
            return false;
        };
        if share.before.bytes == 0 {
            share.turn();
        }
        let mut freed = take(&mut share.before).bytes;
        if share.bytes() == 0 {
            let tenant = tenant.clone();
            freed += share_overhead::<V>(&tenant);
            self.shares.remove(&tenant);
        }
        self.used = self.used.saturating_sub(freed);
        true
    }
}

impl<V> Share<V> {
    fn bytes(&self) -> usize {
        self.lately.bytes + self.before.bytes
    }

    /// The newer generation becomes the older one; says how much went.
    fn turn(&mut self) -> usize {
        std::mem::replace(&mut self.before, take(&mut self.lately)).bytes
    }
}

impl<V> Generation<V> {
    /// Says how much went because the key was there.
    fn put(&mut self, key: Key, value: V, size: usize) -> usize {
        let gone = self
            .entries
            .insert(key, (value, size))
            .map_or(0, |(_, size)| size);
        self.bytes = self.bytes + size - gone;
        gone
    }

    fn take(&mut self, key: &Key) -> Option<(V, usize)> {
        let found = self.entries.remove(key)?;
        self.bytes -= found.1;
        Some(found)
    }
}

impl<V> Default for Share<V> {
    fn default() -> Self {
        Share {
            lately: Generation::default(),
            before: Generation::default(),
        }
    }
}

impl<V> Default for Generation<V> {
    fn default() -> Self {
        Generation {
            entries: HashMap::new(),
            bytes: 0,
        }
    }
}

/// Of an entry: a table is half empty when it has just grown, and while it grows the old one is there, too.
fn overhead<V>() -> usize {
    3 * (size_of::<Key>() + size_of::<(V, usize)>() + 1)
}

fn share_overhead<V>(tenant: &str) -> usize {
    2 * (tenant.len() + size_of::<String>() + size_of::<Share<V>>())
}

impl<V> fmt::Debug for FairCache<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FairCache")
            .field("tenants", &self.shares.len())
            .field("used", &self.used)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(number: u64) -> Key {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&number.to_be_bytes());
        key
    }

    /// Bytes of all entries, counted anew.
    fn counted(cache: &FairCache<u64>) -> usize {
        let shares = cache.shares.iter();
        let entries = |share: &Share<u64>| {
            let all = share
                .lately
                .entries
                .values()
                .chain(share.before.entries.values());
            all.map(|(_, size)| size).sum::<usize>()
        };
        shares
            .map(|(tenant, share)| entries(share) + share_overhead::<u64>(tenant))
            .sum()
    }

    #[test]
    fn what_is_kept_is_found_by_its_tenant_and_nobody_else() {
        let mut cache = FairCache::new(1 << 20);
        cache.insert("a", key(1), 7, 10);
        assert_eq!(cache.get("a", &key(1)), Some(&7));
        assert!(cache.get("b", &key(1)).is_none() && cache.get("a", &key(2)).is_none());
        cache.insert("a", key(1), 8, 10);
        assert_eq!(cache.get("a", &key(1)), Some(&8));
        assert_eq!(cache.used(), counted(&cache));
    }

    #[test]
    fn who_fills_it_forgets_its_own_things() {
        let mut cache = FairCache::new(64 << 10);
        for number in 0..10 {
            cache.insert("small", key(number), number, 100);
        }
        for number in 0..10_000 {
            cache.insert("large", key(number), number, 100);
            assert!(cache.used() <= 64 << 10);
        }
        assert!((0..10).all(|number| cache.get("small", &key(number)) == Some(&number)));
        assert_eq!(cache.get("large", &key(9999)), Some(&9999));
        assert_eq!(cache.get("large", &key(0)), None);
    }

    #[test]
    fn what_is_asked_for_stays_and_what_is_too_large_is_not_kept() {
        let mut cache = FairCache::new(64 << 10);
        cache.insert("a", key(0), 0, 100);
        for number in 1..10_000 {
            cache.insert("a", key(number), number, 100);
            assert_eq!(cache.get("a", &key(0)), Some(&0));
        }
        cache.insert("a", key(0), 1, 64 << 10);
        assert_eq!(cache.get("a", &key(0)), Some(&0));
    }

    proptest! {
        #[test]
        fn never_more_than_the_budget_and_never_miscounted(
            steps in prop::collection::vec((0u8..6, 0u64..40, 0usize..3000, any::<bool>()), 0..400),
        ) {
            let mut cache = FairCache::new(32 << 10);
            for (tenant, number, size, asks) in steps {
                let tenant = tenant.to_string();
                if asks {
                    cache.get(&tenant, &key(number));
                } else {
                    cache.insert(&tenant, key(number), number, size);
                }
                prop_assert!(cache.used() <= 32 << 10);
                prop_assert_eq!(cache.used(), counted(&cache));
            }
        }
    }
}
