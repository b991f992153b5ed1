//! An answer that is computed once for all who ask for it at the same time, and for a second after that.
//!
//! Anybody in the pod network may ask for metrics and readiness, as often as they like; what that costs does not depend on
//! how often they do. Who asks and leaves has not begun another computation: the next one waits for the same.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long an answer is everybody's.
const FRESH: Duration = Duration::from_secs(1);

type Computation<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The last answer, and the next one. A handle, cheap to clone.
pub struct SharedAnswer<T>(Arc<Mutex<State<T>>>);

struct State<T> {
    last: Option<(Instant, T)>,
    /// Since when it runs. Of this there is one at most.
    running: Option<(Instant, Computation<T>)>,
}

impl<T: Clone> SharedAnswer<T> {
    /// An answer that was given less than a second ago; otherwise it is computed.
    pub async fn get<F>(&self, compute: impl Fn() -> F) -> T
    where
        F: Future<Output = T> + Send + 'static,
    {
        let asked = Instant::now();
        let mut state = self.0.lock().await;
        loop {
            if let Some((given, answer)) = &state.last
                && given.elapsed() < FRESH
            {
                return answer.clone();
            }
            state.last = None;
            let begin = || (Instant::now(), Box::pin(compute()) as Computation<T>);
            let (began, running) = state.running.get_or_insert_with(begin);
            let began = *began;
            let answer = running.as_mut().await;
            state.running = None;
            // One that somebody began long ago and left alone is no answer of now.
            if began + FRESH > asked {
                state.last = Some((Instant::now(), answer));
            }
        }
    }
}

impl<T> Default for SharedAnswer<T> {
    fn default() -> Self {
        let state = State {
            last: None,
            running: None,
        };
        SharedAnswer(Arc::new(Mutex::new(state)))
    }
}

impl<T> Clone for SharedAnswer<T> {
    fn clone(&self) -> Self {
        SharedAnswer(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Semaphore;
    use tokio::task::JoinSet;

    use super::*;

    /// Counts what was begun. Nothing ends before it may.
    #[derive(Clone)]
    struct Work {
        answer: SharedAnswer<usize>,
        begun: Arc<AtomicUsize>,
        may_end: Arc<Semaphore>,
    }

    impl Work {
        fn new() -> Self {
            Work {
                answer: SharedAnswer::default(),
                begun: Arc::default(),
                may_end: Arc::new(Semaphore::new(0)),
            }
        }

        async fn ask(self) -> usize {
            let (begun, may_end) = (&self.begun, &self.may_end);
            let compute = || {
                let number = begun.fetch_add(1, Ordering::SeqCst) + 1;
                let may_end = may_end.clone();
                async move {
                    may_end.acquire().await.unwrap().forget();
                    number
                }
            };
            self.answer.get(compute).await
        }

        fn begun(&self) -> usize {
            self.begun.load(Ordering::SeqCst)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn however_many_ask_it_is_computed_once_a_second() {
        let work = Work::new();
        for round in 1..4 {
            let mut all = JoinSet::new();
            for _ in 0..100 {
                all.spawn(work.clone().ask());
            }
            tokio::task::yield_now().await;
            work.may_end.add_permits(1);
            let answers = all.join_all().await;
            assert!(answers.iter().all(|answer| *answer == round), "{answers:?}");
            assert_eq!(work.clone().ask().await, round, "of now");
            assert_eq!(work.begun(), round);
            tokio::time::advance(FRESH).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_and_leaves_begins_nothing_anew_and_leaves_nothing_old_behind() {
        let work = Work::new();
        for _ in 0..100 {
            let mut one = JoinSet::new();
            one.spawn(work.clone().ask());
            tokio::task::yield_now().await;
            one.shutdown().await;
        }
        assert_eq!(work.begun(), 1);
        work.may_end.add_permits(1);
        assert_eq!(work.clone().ask().await, 1);

        tokio::time::advance(FRESH).await;
        let mut one = JoinSet::new();
        one.spawn(work.clone().ask());
        tokio::task::yield_now().await;
        one.shutdown().await;
        tokio::time::advance(FRESH).await;
        work.may_end.add_permits(2);
        assert_eq!(work.clone().ask().await, 3, "the second is of long ago");
    }
}
