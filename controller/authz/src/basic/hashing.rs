//! Slow hashes, on threads of their own: as many as the machine has, in fair turns.
//!
//! ```text
//!   matches --add--> Turns (whose turn it is) --begin--> a thread: Hash::matches --oneshot--> the answer
//!              full: no answer, at once             gone meanwhile: not computed
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sluice_basic_auth::Hash;
use sluice_fair::{Limits, Turns};
use sluice_tasks::Tasks;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Jobs that wait; a tenant's are dropped for another's where there is no room.
const WAITING: usize = 1024;
/// The queue of one tenant's share of the threads.
const WAITING_OF_ONE: usize = 64;
/// A longer wait is answered with 503.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Microseconds; what takes no longer is not worth a thread.
const FAST: u64 = 100;

/// All hashing threads are busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Busy;

/// Threads that compare passwords, for as long as the process lives.
pub(super) struct Hashing(Arc<Shared>);

struct Shared {
    turns: Mutex<Turns<Job>>,
    wake: Condvar,
}

struct Job {
    hash: Hash,
    password: Vec<u8>,
    answer: oneshot::Sender<bool>,
}

impl Hashing {
    pub(super) fn start(threads: usize, tasks: &Tasks) -> anyhow::Result<Self> {
        let workers_of_one = threads.div_ceil(2);
        let limits = Limits {
            workers: threads,
            workers_of_one,
            waiting: WAITING,
            waiting_of_one: WAITING_OF_ONE,
        };
        let turns = Mutex::new(Turns::new(limits));
        let hashing = Hashing(Arc::new(Shared {
            turns,
            wake: Condvar::new(),
        }));
        for _ in 0..threads {
            let shared = Arc::clone(&hashing.0);
            tasks.spawn_thread("hashing", move || shared.work())?;
        }
        Ok(hashing)
    }

    /// True if the password matches the hash.
    pub(super) async fn matches(
        &self,
        tenant: &str,
        hash: Hash,
        password: Vec<u8>,
    ) -> Result<bool, Busy> {
        let cost = hash.cost();
        if cost <= FAST {
            return Ok(hash.matches(&password));
        }
        let (answer, answered) = oneshot::channel();
        self.0.add(
            tenant,
            cost,
            Job {
                hash,
                password,
                answer,
            },
        )?;
        match timeout(MAX_WAIT, answered).await {
            Ok(Ok(right)) => Ok(right),
            // Dropped in favour of another tenant, or too late.
            Ok(Err(_)) | Err(_) => Err(Busy),
        }
    }
}

impl Shared {
    fn add(&self, tenant: &str, cost: u64, job: Job) -> Result<(), Busy> {
        let mut turns = self.turns();
        // Clients that went away leave their places.
        if turns.waiting() >= WAITING_OF_ONE {
            turns.forget(|job| job.answer.is_closed());
        }
        let lost = turns.add(tenant, cost, job).map_err(|_| Busy)?;
        drop(turns);
        drop(lost);
        self.wake.notify_one();
        Ok(())
    }

    fn work(&self) {
        loop {
            let (tenant, job) = self.next();
            if !job.answer.is_closed() {
                let compare = || job.hash.matches(&job.password);
                let right = catch_unwind(AssertUnwindSafe(compare)).unwrap_or_default();
                // The request may be gone.
                job.answer.send(right).ok();
            }
            self.turns().done(&tenant);
            // The next namespace in turn may run now.
            self.wake.notify_one();
        }
    }

    /// Waits for a job.
    fn next(&self) -> (String, Job) {
        let mut turns = self.turns();
        loop {
            if let Some(next) = turns.begin() {
                return next;
            }
            turns = self
                .wake
                .wait(turns)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn turns(&self) -> MutexGuard<'_, Turns<Job>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    const SLOW: &str = "$2y$06$abcdefghijklmnopqrstuuUq7qXkDOZJ5Q8HA9wCOH0FErWp6q0b6";

    fn slow() -> Hash {
        Hash::parse(SLOW).unwrap()
    }

    #[tokio::test]
    async fn a_password_is_compared_on_a_thread_and_a_cheap_one_at_once() {
        let hashing = Hashing::start(2, &Tasks::default()).unwrap();
        let known =
            Hash::parse("$2y$05$abcdefghijklmnopqrstuuUq7qXkDOZJ5Q8HA9wCOH0FErWp6q0b6").unwrap();
        assert_eq!(
            hashing.matches("a", known.clone(), b"bar".to_vec()).await,
            Ok(true)
        );
        assert_eq!(
            hashing.matches("a", known, b"baz".to_vec()).await,
            Ok(false)
        );
        let plain = Hash::parse("{PLAIN}bar").unwrap();
        let nobody = Hashing::start(0, &Tasks::default()).unwrap();
        assert_eq!(nobody.matches("a", plain, b"bar".to_vec()).await, Ok(true));
    }

    /// Without threads nothing moves, so what is seen does not depend on time.
    #[tokio::test(start_paused = true)]
    async fn who_finds_no_room_is_told_at_once_and_who_waits_too_long_as_well() {
        let nobody = Hashing::start(0, &Tasks::default()).unwrap();
        let mut waiting: Vec<_> = (0..WAITING_OF_ONE)
            .map(|_| Box::pin(nobody.matches("crowd", slow(), b"bar".to_vec())))
            .collect();
        for job in &mut waiting {
            assert!(poll_once(job.as_mut()).await.is_pending());
        }
        assert_eq!(nobody.matches("crowd", slow(), Vec::new()).await, Err(Busy));
        {
            let mut other = pin!(nobody.matches("shop", slow(), Vec::new()));
            assert!(
                poll_once(other.as_mut()).await.is_pending(),
                "another tenant has room"
            );
        }
        waiting.pop();
        let mut next = pin!(nobody.matches("crowd", slow(), Vec::new()));
        assert!(
            poll_once(next.as_mut()).await.is_pending(),
            "who went away has left its place"
        );
        assert_eq!(next.await, Err(Busy), "nobody has come");
    }

    async fn poll_once<F: Future>(mut future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
    }
}
