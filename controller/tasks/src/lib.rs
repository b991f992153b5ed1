//! The tasks of this process. Each has a name, and the first that fails ends the process: a controller that lives on
//! without one of them would look healthy and change nothing any more.
//!
//! ```text
//!   spawn, spawn_finite, spawn_thread --panic, unexpected end--> Failure --> run: says why, ends, exit code 1
//!                                                                   \-----> /healthz
//! ```
//!
//! Nothing else spawns (`tests/tidy`), but for servers' connections: those belong to their server, and a panic there costs
//! one connection. Work that many ask for is done once for all of them (shared_answer.rs), and is no task: it goes on while
//! somebody waits for it.

#[cfg(debug_assertions)]
pub mod fault;
mod shared_answer;

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use futures::FutureExt as _;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tracing::{debug, error};

pub use shared_answer::SharedAnswer;

/// A task that ends may end because of another one's panic, which is on its way: that one is the reason then.
const SETTLE: Duration = Duration::from_millis(100);

/// A task's name, for people.
type Name = Cow<'static, str>;

/// The tasks. A handle, cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tasks(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    failure: watch::Sender<Option<Failure>>,
    stopping: AtomicBool,
}

/// A task that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    task: Name,
    cause: Cause,
}

impl Failure {
    /// True if the task has ended without a panic and without an error.
    #[must_use]
    pub fn is_unexplained(&self) -> bool {
        self.cause == Cause::End
    }
}

/// Why a task is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cause {
    /// With this message.
    Panic(String),
    /// It has given up, and says why.
    Error(String),
    /// For no reason that it knows.
    End,
}

/// When a task may end without a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    WithTheProcess,
    AtAnyTime,
}

impl Tasks {
    /// Starts a task that lives as long as the process.
    pub fn spawn(
        &self,
        name: impl Into<Name>,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        self.start(name.into(), Ends::WithTheProcess, task.map(Ok))
    }

    /// Starts a task that lives as long as the process, or gives up with an error.
    pub fn spawn_fallible(
        &self,
        name: impl Into<Name>,
        task: impl Future<Output = anyhow::Result<()>> + Send + 'static,
    ) -> JoinHandle<()> {
        self.start(name.into(), Ends::WithTheProcess, task)
    }

    /// Starts a task that ends when it is done.
    pub fn spawn_finite(
        &self,
        name: impl Into<Name>,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        self.start(name.into(), Ends::AtAnyTime, task.map(Ok))
    }

    /// Starts a thread that lives as long as the process.
    pub fn spawn_thread(
        &self,
        name: &'static str,
        work: impl FnOnce() + Send + 'static,
    ) -> anyhow::Result<()> {
        let (sender, ended) = oneshot::channel();
        let thread = move || drop(sender.send(catch_unwind(AssertUnwindSafe(work))));
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(thread)
            .context("cannot start a thread")?;
        self.spawn(name, async {
            if let Ok(Err(panic)) = ended.await {
                std::panic::resume_unwind(panic);
            }
        });
        Ok(())
    }

    /// From here on tasks may end; they still may not panic.
    pub fn stop(&self) {
        self.0.stopping.store(true, Ordering::Relaxed);
    }

    /// The first panic, or the first end where there was none.
    pub fn failure(&self) -> Option<Failure> {
        self.0.failure.borrow().clone()
    }

    /// Waits for a failure.
    pub async fn failed(&self) -> Failure {
        let mut failures = self.0.failure.subscribe();
        // The sender is `self`: the channel does not end while this waits.
        failures.wait_for(Option::is_some).await.ok();
        tokio::time::sleep(SETTLE).await;
        match self.failure() {
            Some(failure) => failure,
            None => std::future::pending().await,
        }
    }

    fn start(
        &self,
        name: Name,
        ends: Ends,
        task: impl Future<Output = anyhow::Result<()>> + Send + 'static,
    ) -> JoinHandle<()> {
        debug!("task {name} starts");
        let tasks = self.clone();
        tokio::spawn(async move {
            #[cfg(debug_assertions)]
            let task = fault::may_strike(&name, task);
            let ended = AssertUnwindSafe(task).catch_unwind().await;
            tasks.ended(name, ends, ended);
        })
    }

    fn ended(
        &self,
        task: Name,
        ends: Ends,
        ended: Result<anyhow::Result<()>, Box<dyn Any + Send>>,
    ) {
        let may_end = ends == Ends::AtAnyTime || self.0.stopping.load(Ordering::Relaxed);
        let cause = match ended {
            Err(panic) => Cause::Panic(message(panic.as_ref())),
            Ok(Err(error)) => Cause::Error(format!("{error:#}")),
            Ok(Ok(())) if may_end => return,
            Ok(Ok(())) => Cause::End,
        };
        let failure = Failure { task, cause };
        // Other failures are reported when the process ends. An end that follows another task's error is not reported.
        if matches!(failure.cause, Cause::Panic(_)) {
            error!("{failure}");
        }
        self.0.failure.send_if_modified(|known| {
            let is_news = known
                .as_ref()
                .is_none_or(|known| known.cause == Cause::End && failure.cause != Cause::End);
            if is_news {
                *known = Some(failure);
            }
            is_news
        });
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Panic(message) => write!(f, "task {:?} panicked: {message}", self.task),
            Cause::Error(error) => f.write_str(error),
            Cause::End => write!(f, "task {:?} ended unexpectedly", self.task),
        }
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    async fn first_failure(tasks: &Tasks) -> String {
        tasks.failed().await.to_string()
    }

    #[tokio::test]
    async fn a_panic_is_a_failure_whatever_panics() {
        let tasks = Tasks::default();
        tasks.spawn("a", async { panic!("why {}", 1) });
        assert_eq!(first_failure(&tasks).await, "task \"a\" panicked: why 1");
        let tasks = Tasks::default();
        tasks.spawn_finite("b", async { panic!("why") });
        assert_eq!(first_failure(&tasks).await, "task \"b\" panicked: why");
        let tasks = Tasks::default();
        tasks.spawn_thread("c", || panic!("why")).unwrap();
        assert_eq!(first_failure(&tasks).await, "task \"c\" panicked: why");
    }

    #[tokio::test]
    async fn an_end_is_a_failure_unless_it_was_to_be_expected() {
        let tasks = Tasks::default();
        tasks.spawn_finite("a", async {}).await.unwrap();
        assert_eq!(tasks.failure(), None);
        tasks.spawn("b", async {});
        assert_eq!(first_failure(&tasks).await, "task \"b\" ended unexpectedly");
        let tasks = Tasks::default();
        tasks.spawn_thread("c", || ()).unwrap();
        assert_eq!(first_failure(&tasks).await, "task \"c\" ended unexpectedly");
    }

    #[tokio::test]
    async fn a_task_that_gives_up_says_why() {
        let tasks = Tasks::default();
        let given_up = async { anyhow::bail!("it did not start") };
        tasks.spawn_fallible("a", given_up).await.unwrap();
        assert_eq!(first_failure(&tasks).await, "it did not start");
    }

    #[tokio::test]
    async fn a_panic_is_the_reason_and_not_what_ended_because_of_it() {
        let tasks = Tasks::default();
        let (sender, ended) = oneshot::channel::<()>();
        // Its values are dropped before anybody hears of the panic.
        tasks.spawn("cause", async {
            let _sender = sender;
            panic!("why");
        });
        tasks.spawn("consequence", async { drop(ended.await) });
        assert_eq!(first_failure(&tasks).await, "task \"cause\" panicked: why");
    }

    #[tokio::test]
    async fn when_all_stops_tasks_end_but_do_not_panic() {
        let tasks = Tasks::default();
        tasks.stop();
        tasks.spawn("a", async {}).await.unwrap();
        assert_eq!(tasks.failure(), None);
        tasks.spawn("b", async { panic!("why") }).await.unwrap();
        tasks.spawn("c", async { panic!("why") }).await.unwrap();
        assert_eq!(
            first_failure(&tasks).await,
            "task \"b\" panicked: why",
            "the first one counts"
        );
    }
}
