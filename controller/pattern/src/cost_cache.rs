//! Cache of the costs of patterns: an Ingress is translated again with each change of it, and its patterns are what they were. A large
//! one takes milliseconds to measure, and there may be thousands.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::Subject;

/// Patterns that are remembered, of up to [`crate::MAX_PATTERN_BYTES`] each. With more, all are measured anew.
const MOST: usize = 4096;

type Known = HashMap<(Subject, String), Result<u64, String>>;

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// The cost of a pattern, measured now or before.
pub(crate) fn cost_of(
    pattern: &str,
    subject: Subject,
    measure: impl FnOnce() -> Result<u64, String>,
) -> Result<u64, String> {
    let key = (subject, pattern.to_owned());
    if let Some(known) = known().get(&key) {
        return known.clone();
    }
    // Without the lock: others go on.
    let result = measure();
    let mut known = known();
    if known.len() >= MOST {
        known.clear();
    }
    known.insert(key, result.clone());
    result
}

/// A panic of another thread leaves it whole.
fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, as all share what is known.
    #[test]
    fn a_pattern_is_measured_once_and_no_more_are_remembered_than_there_is_room_for() {
        let pattern = "/measured-once";
        let refused = || Err("too large".to_owned());
        assert!(cost_of(pattern, Subject::Path, refused).is_err());
        let again = cost_of(pattern, Subject::Path, || panic!("it is known"));
        assert_eq!(again, refused());
        assert_eq!(cost_of(pattern, Subject::Text, || Ok(1)), Ok(1));
        for number in 0..2 * MOST {
            cost_of(&format!("/many/{number}"), Subject::Path, || Ok(1)).unwrap();
            assert!(known().len() <= MOST);
        }
    }
}
