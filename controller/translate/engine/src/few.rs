//! A map of few entries, most often one: a Service has one slice for each hundred endpoints. A `BTreeMap` has room for eleven from the
//! beginning, which ten thousand such maps never use.

/// Entries in the order of their keys.
#[derive(Clone, Debug)]
pub(crate) struct Few<K, V>(Vec<(K, V)>);

impl<K, V> Default for Few<K, V> {
    fn default() -> Self {
        Few(Vec::new())
    }
}

impl<K: Ord, V> Few<K, V> {
    /// Sets the value of a key.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        match self.place(&key) {
            Ok(place) => self.0[place] = (key, value),
            Err(place) => {
                if self.0.is_empty() {
                    self.0.reserve_exact(1);
                }
                self.0.insert(place, (key, value));
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &K) {
        if let Ok(place) = self.place(key) {
            self.0.remove(place);
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.place(key).ok().map(|place| &self.0[place].1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    fn place(&self, key: &K) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.cmp(key))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Every sequence of six steps over three keys.
    #[test]
    fn it_is_a_map() {
        const STEPS: u32 = 6;
        for sequence in 0..6_u32.pow(STEPS) {
            let (mut few, mut map) = (Few::default(), BTreeMap::new());
            for step in 0..STEPS {
                let (key, inserts) = (
                    sequence / 6_u32.pow(step) % 3,
                    sequence / 6_u32.pow(step) % 6 < 3,
                );
                if inserts {
                    few.insert(key, step);
                    map.insert(key, step);
                } else {
                    few.remove(&key);
                    map.remove(&key);
                }
                assert!(few.keys().eq(map.keys()) && few.values().eq(map.values()));
                assert_eq!(few.is_empty(), map.is_empty());
                assert!((0..3).all(|key| few.get(&key) == map.get(&key)));
            }
        }
    }
}
