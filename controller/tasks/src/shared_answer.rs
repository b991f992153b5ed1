//! An answer that is computed once for all who ask for it within a second.
//!
//! Anybody in the pod network may ask for metrics and health, as often as they like; what that costs does not depend on how
//! often they do. An answer is for those who ask within a second after its computation has begun. Others wait until it has
//! ended, and then for the next one: there is one at a time, also when those who began it have left.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::time::Instant;

/// How long an answer is everybody's.
const FRESH: Duration = Duration::from_secs(1);

/// When it began, and the answer; `None`: it panicked.
type Computation<T> = Shared<BoxFuture<'static, (Instant, Option<T>)>>;

/// The last computation. A handle, cheap to clone.
#[derive(Clone, Debug)]
pub struct SharedAnswer<T>(Arc<Mutex<Option<Computation<T>>>>);

impl<T: Clone + Send + Sync + 'static> SharedAnswer<T> {
    /// The answer of a computation that began less than a second ago, or begins now. When it panics, so do all who wait for it, and who
    /// asks after that begins anew.
    pub async fn get<F>(&self, compute: impl Fn() -> F) -> T
    where
        F: Future<Output = T> + Send + 'static,
    {
        let asked = Instant::now();
        loop {
            let (began, answer) = self.current(asked, &compute).await;
            let Some(answer) = answer else {
                resume_unwind(Box::new("the computation that was waited for panicked"))
            };
            if asked < began + FRESH {
                return answer;
            }
        }
    }

    /// The last computation if it runs or is fresh, otherwise a new one.
    fn current<F>(&self, asked: Instant, compute: impl Fn() -> F) -> Computation<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh =
            |(began, answer): &(Instant, Option<T>)| answer.is_some() && asked < *began + FRESH;
        if let Some(last) = &*last
            && last.peek().is_none_or(is_fresh)
        {
            return last.clone();
        }
        let began = Instant::now();
        let computed = AssertUnwindSafe(compute()).catch_unwind();
        let computed = computed.map(move |answer| (began, answer.ok()));
        last.insert(computed.boxed().shared()).clone()
    }
}

impl<T> Default for SharedAnswer<T> {
    fn default() -> Self {
        SharedAnswer(Arc::default())
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

    /// Asks, and leaves before there is an answer.
    async fn ask_and_leave(work: &Work) {
        let mut one = JoinSet::new();
        one.spawn(work.clone().ask());
        tokio::task::yield_now().await;
        one.shutdown().await;
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_and_leaves_begins_nothing_anew_and_leaves_nothing_old_behind() {
        let work = Work::new();
        for _ in 0..100 {
            ask_and_leave(&work).await;
        }
        assert_eq!(work.begun(), 1);
        work.may_end.add_permits(1);
        assert_eq!(work.clone().ask().await, 1);

        tokio::time::advance(FRESH).await;
        ask_and_leave(&work).await;
        tokio::time::advance(FRESH).await;
        work.may_end.add_permits(2);
        assert_eq!(work.clone().ask().await, 3, "the second is of long ago");
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_ends_nothing_that_others_wait_for() {
        let (work, mut others) = (Work::new(), JoinSet::new());
        let mut first = JoinSet::new();
        first.spawn(work.clone().ask());
        tokio::task::yield_now().await;
        for _ in 0..10 {
            others.spawn(work.clone().ask());
        }
        tokio::task::yield_now().await;
        first.shutdown().await;
        work.may_end.add_permits(1);
        assert_eq!(others.join_all().await, [1; 10]);
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_takes_long_runs_alone() {
        let (work, mut all) = (Work::new(), JoinSet::new());
        for _ in 0..3 {
            all.spawn(work.clone().ask());
            tokio::task::yield_now().await;
            tokio::time::advance(FRESH).await;
        }
        assert_eq!(work.begun(), 1);
        work.may_end.add_permits(1);
        assert_eq!(all.join_next().await.unwrap().unwrap(), 1);
        work.may_end.add_permits(1);
        assert_eq!(all.join_all().await, [2; 2], "begun after they asked");
        assert_eq!(work.begun(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_no_answer_to_who_asks_later() {
        let (answer, asked) = (SharedAnswer::default(), AtomicUsize::new(0));
        let compute = || {
            let number = asked.fetch_add(1, Ordering::SeqCst);
            async move { assert_ne!(number, 0) }
        };
        let both =
            AssertUnwindSafe(async { tokio::join!(answer.get(compute), answer.get(compute)) });
        assert!(both.catch_unwind().await.is_err());
        answer.get(compute).await;
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }
}
