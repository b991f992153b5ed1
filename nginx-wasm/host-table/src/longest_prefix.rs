//! The longest of many prefixes.

/// Values by prefix.
#[derive(Clone, Debug)]
pub(crate) struct LongestPrefix<T> {
    /// In order of the prefixes.
    entries: Box<[Entry<T>]>,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    prefix: Box<[u8]>,
    /// Index of the longest other prefix that begins this one.
    parent: Option<usize>,
    value: T,
}

impl<T> LongestPrefix<T> {
    /// The first value of each prefix counts.
    pub(crate) fn new(mut values: Vec<(Box<[u8]>, T)>) -> Self {
        values.sort_by(|(a, _), (b, _)| a.cmp(b));
        values.dedup_by(|(later, _), (first, _)| later == first);
        let mut entries: Vec<Entry<T>> = Vec::with_capacity(values.len());
        for (prefix, value) in values {
            let begins = |index: &usize| {
                let entry = entries.get(*index);
                entry.is_some_and(|entry| prefix.starts_with(&entry.prefix))
            };
            let last = entries.len().checked_sub(1);
            let parents = std::iter::successors(last, |index| entries.get(*index)?.parent);
            let parent = parents.into_iter().find(begins);
            entries.push(Entry {
                prefix,
                parent,
                value,
            });
        }
        LongestPrefix {
            entries: entries.into(),
        }
    }

    /// The value of the longest prefix of a text: one binary search, then a step for each prefix within another one.
    pub(crate) fn find(&self, text: &[u8]) -> Option<&T> {
        let after = self.entries.partition_point(|entry| *entry.prefix <= *text);
        let last = self.entries.get(after.checked_sub(1)?)?;
        // The greatest entry that does not sort after the text: a prefix of the text is that entry, or a prefix of it, too.
        let shared = text.iter().zip(&*last.prefix).take_while(|(a, b)| a == b);
        let shared = shared.count();
        let parent = |entry: &&Entry<T>| self.entries.get(entry.parent?);
        let mut candidates = std::iter::successors(Some(last), parent);
        let found = candidates.find(|entry| entry.prefix.len() <= shared);
        found.map(|entry| &entry.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text of up to so many letters of a small alphabet.
    fn texts(length: usize) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        let mut last = all.clone();
        for _ in 0..length {
            let longer = last.iter().flat_map(|text| {
                [b'/', b'a', b'b'].map(|letter| [text.as_slice(), &[letter]].concat())
            });
            last = longer.collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    #[test]
    fn it_is_the_one_that_a_look_at_all_of_them_finds() {
        let prefixes = texts(3);
        // Sets of prefixes by a sequence that has no pattern.
        let mut state = 1_u32;
        for _ in 0..300 {
            let mut chosen = Vec::new();
            for prefix in &prefixes {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if state >> 30 == 0 {
                    chosen.push((prefix.clone().into_boxed_slice(), prefix.clone()));
                }
            }
            let found = LongestPrefix::new(chosen.clone());
            for text in texts(5) {
                let all = chosen.iter().map(|(_, prefix)| prefix);
                let longest = all
                    .filter(|prefix| text.starts_with(prefix))
                    .max_by_key(|prefix| prefix.len());
                assert_eq!(found.find(&text), longest, "{text:?} of {chosen:?}");
            }
        }
    }
}
