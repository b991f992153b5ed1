//! Times of the last publications: when each came, and when all data planes had answered it.

use sluice_xds_delta::Generation;
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// Publications that are remembered. Looking for a culprit publishes some dozens.
const MOST: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Publications(VecDeque<Publication>);

#[derive(Clone, Copy, Debug)]
struct Publication {
    generation: Generation,
    at: Instant,
    answered: Option<Instant>,
}

/// Answers of data planes to what was published in some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// Nothing has changed for them.
    Unchanged,
    /// Some have not answered, or none is connected.
    Waiting,
    /// All had answered when so much time had passed since the begin.
    After(Duration),
}

impl Publications {
    pub(crate) fn note(&mut self, generation: Generation, at: Instant) {
        if self
            .0
            .back()
            .is_some_and(|last| last.generation >= generation)
        {
            return;
        }
        self.0.push_back(Publication {
            generation,
            at,
            answered: None,
        });
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }

    /// All data planes have answered everything up to a generation.
    pub(crate) fn answered(&mut self, settled: Generation, now: Instant) {
        let open = self.0.iter_mut().rev();
        for publication in open.take_while(|publication| publication.answered.is_none()) {
            if publication.generation <= settled {
                publication.answered = Some(now);
            }
        }
    }

    /// How long what comes after a generation has been published.
    pub(crate) fn behind(&self, settled: Generation, now: Instant) -> Duration {
        let first = self.0.iter().find(|it| it.generation > settled);
        first.map_or(Duration::ZERO, |it| now.saturating_duration_since(it.at))
    }

    pub(crate) fn acknowledged(&self, during: &RangeInclusive<Instant>) -> Acknowledged {
        let published = self.0.iter().filter(|it| during.contains(&it.at));
        let answers: Vec<Option<Instant>> = published.map(|it| it.answered).collect();
        let all: Option<Vec<Instant>> = answers.into_iter().collect();
        match all.as_ref().map(|all| all.iter().max()) {
            None => Acknowledged::Waiting,
            Some(None) => Acknowledged::Unchanged,
            Some(Some(last)) => {
                Acknowledged::After(last.saturating_duration_since(*during.start()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publication_is_acknowledged_when_the_last_part_of_it_is() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let first = Generation::default().next();
        let (second, third) = (first.next(), first.next().next());
        let mut all = Publications::default();
        for (generation, seconds) in [(first, 1), (second, 2), (third, 20)] {
            all.note(generation, at(seconds));
        }
        let during = at(0)..=at(5);
        assert_eq!(all.acknowledged(&during), Acknowledged::Waiting);
        all.answered(first, at(3));
        assert_eq!(all.acknowledged(&during), Acknowledged::Waiting);
        assert_eq!(all.behind(first, at(30)), Duration::from_secs(28));
        all.answered(second, at(7));
        all.answered(second, at(9));
        let after = Acknowledged::After(Duration::from_secs(7));
        assert_eq!(all.acknowledged(&during), after);
        assert_eq!(all.acknowledged(&(at(10)..=at(30))), Acknowledged::Waiting);
        let nothing = at(10)..=at(15);
        assert_eq!(all.acknowledged(&nothing), Acknowledged::Unchanged);
        assert_eq!(all.behind(third, at(30)), Duration::ZERO);
    }

    #[test]
    fn so_many_are_remembered() {
        let (now, mut generation) = (Instant::now(), Generation::default());
        let mut all = Publications::default();
        for _ in 0..2 * MOST {
            generation = generation.next();
            all.note(generation, now);
        }
        assert_eq!(all.0.len(), MOST);
    }
}
