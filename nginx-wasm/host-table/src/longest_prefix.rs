//! The longest of many prefixes.

/// Values by prefix.
#[derive(Clone, Debug)]
pub(crate) struct LongestPrefix<T> {
    /// In order.
    entries: Box<[(Box<[u8]>, T)]>,
}

impl<T> LongestPrefix<T> {
    /// The first value of each prefix counts.
    pub(crate) fn new(mut entries: Vec<(Box<[u8]>, T)>) -> Self {
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.dedup_by(|(later, _), (first, _)| later == first);
        LongestPrefix {
            entries: entries.into(),
        }
    }

    /// The value of the longest prefix of a text.
    pub(crate) fn find(&self, text: &[u8]) -> Option<&T> {
        let mut sought = text;
        loop {
            let after = self
                .entries
                .partition_point(|(prefix, _)| **prefix <= *sought);
            let (prefix, value) = self.entries.get(after.checked_sub(1)?)?;
            if sought.starts_with(prefix) {
                return Some(value);
            }
            // A prefix of the text that is before this one is no longer than what both begin with, which gets shorter.
            let shared = sought.iter().zip(&**prefix).take_while(|(a, b)| a == b);
            sought = sought.get(..shared.count())?;
        }
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
