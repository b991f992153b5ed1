//! Answers of services, for as long as their owner lets them be remembered.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sluice_ir::Memory as Terms;
use tokio::time::Instant;

use super::ask::Answer;

/// Answers that are kept, at most; half of them in each of two generations, the older of which goes as a whole.
const MOST: usize = 32 * 1024;

#[derive(Default)]
pub(super) struct Memory(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    now: HashMap<Key, Kept>,
    before: HashMap<Key, Kept>,
}

/// The location, and what its requests have to agree in.
pub(super) type Key = (String, String);

#[derive(Clone)]
struct Kept {
    answer: Arc<Answer>,
    until: Instant,
}

impl Memory {
    pub(super) fn recall(&self, key: &Key) -> Option<Arc<Answer>> {
        let generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = generations.now.get(key).or_else(|| generations.before.get(key))?;
        (kept.until > Instant::now()).then(|| Arc::clone(&kept.answer))
    }

    /// As nginx: not what sets a cookie or says that it is private.
    pub(super) fn keep(&self, key: Key, terms: &Terms, answer: &Arc<Answer>) {
        let Some(time) = time(terms, answer) else { return };
        let kept = Kept { answer: Arc::clone(answer), until: Instant::now() + time };
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if generations.now.len() >= MOST / 2 {
            generations.before = std::mem::take(&mut generations.now);
        }
        generations.now.insert(key, kept);
    }
}

fn time(terms: &Terms, answer: &Answer) -> Option<Duration> {
    if answer.values("set-cookie").next().is_some() {
        return None;
    }
    let words = answer.values("cache-control").flat_map(|value| value.split(','));
    let words: Vec<String> = words.map(|word| word.trim().to_ascii_lowercase()).collect();
    if words.iter().any(|word| matches!(word.as_str(), "no-cache" | "no-store" | "private")) {
        return None;
    }
    let said = words.iter().find_map(|word| word.strip_prefix("max-age=")?.parse::<u32>().ok());
    let usual = terms.statuses.get(&answer.status).copied().unwrap_or(terms.others);
    let seconds = said.unwrap_or(usual);
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use sluice_ir::Expression;

    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)]) -> Arc<Answer> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Arc::new(Answer { status, headers })
    }

    fn terms() -> Terms {
        Terms { key: Expression::default(), statuses: [(200, 300)].into(), others: 0 }
    }

    fn key(location: &str) -> Key {
        (location.to_owned(), "fixed".to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_remembered_for_its_time_and_for_its_location() {
        let memory = Memory::default();
        memory.keep(key("a/"), &terms(), &answer(200, &[]));
        assert!(memory.recall(&key("a/")).is_some() && memory.recall(&key("b/")).is_none());
        tokio::time::advance(Duration::from_secs(301)).await;
        assert!(memory.recall(&key("a/")).is_none());
    }

    #[test]
    fn what_is_somebodys_own_is_not_remembered() {
        assert_eq!(time(&terms(), &answer(200, &[])), Some(Duration::from_secs(300)));
        assert_eq!(time(&terms(), &answer(401, &[])), None);
        assert_eq!(
            time(&terms(), &answer(200, &[("cache-control", "max-age=5")])),
            Some(Duration::from_secs(5))
        );
        for own in [("set-cookie", "a=b"), ("cache-control", "Private"), ("cache-control", "max-age=0")] {
            assert_eq!(time(&terms(), &answer(200, &[own])), None, "{own:?}");
        }
    }
}
