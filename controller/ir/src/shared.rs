//! Maps that share what they have in common. A copy costs nothing, and what differs between two of one origin is found at
//! the cost of what differs.

use std::sync::Arc;

use imbl::ordmap::DiffItem;

/// Small values by name, in the order of the names.
pub type SharedMap<K, V> = imbl::OrdMap<K, V>;

/// The same for values that are not small.
pub type Shared<K, V> = SharedMap<K, Arc<V>>;

/// Change of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed<'a, K, V> {
    /// Its name.
    pub name: &'a K,
    /// Value before; `None`: it is new.
    pub before: Option<&'a V>,
    /// Value now; `None`: it is gone.
    pub now: Option<&'a V>,
}

/// The values that are not the same in both, in the order of their names.
pub fn changed<'a, K: Ord, V: Eq>(
    before: &'a SharedMap<K, V>,
    now: &'a SharedMap<K, V>,
) -> impl Iterator<Item = Changed<'a, K, V>> {
    before.diff(now).map(|item| match item {
        DiffItem::Add(name, value) => Changed {
            name,
            before: None,
            now: Some(value),
        },
        DiffItem::Update {
            old: (_, old),
            new: (name, new),
        } => Changed {
            name,
            before: Some(old),
            now: Some(new),
        },
        DiffItem::Remove(name, value) => Changed {
            name,
            before: Some(value),
            now: None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_other_or_gone_is_named_and_nothing_else() {
        let before: Shared<u32, u32> = (0..1000).map(|n| (n, Arc::new(n))).collect();
        let mut now = before.clone();
        now.insert(3, Arc::new(3));
        now.insert(5, Arc::new(50));
        now.remove(&700);
        now.insert(2000, Arc::new(0));
        let said: Vec<_> = changed(&before, &now)
            .map(|item| (*item.name, item.before.map(|v| **v), item.now.map(|v| **v)))
            .collect();
        assert_eq!(
            said,
            [
                (5, Some(5), Some(50)),
                (700, Some(700), None),
                (2000, None, Some(0))
            ]
        );
    }
}
