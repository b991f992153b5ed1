//! Threads with an engine each. A request stays on its thread, as it does on a worker of nginx: nothing that an engine remembers is
//! touched by two threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::available_parallelism;

use anyhow::Context;
use sluice_modsecurity::{Engine, Library};
use sluice_tasks::Tasks;
use tokio::sync::oneshot;

/// For each processor: a slow rule holds the requests of its thread up. Rules that are slow on many requests at once hold all threads.
const THREADS: usize = 4;

type Job = Box<dyn FnOnce(&Arc<Engine>) + Send>;

/// All threads.
pub(super) struct Threads(Vec<Arc<Thread>>);

/// One of them.
pub(super) struct Thread {
    jobs: Sender<Job>,
    /// Jobs that wait or run.
    open: Arc<AtomicUsize>,
}

impl Threads {
    pub(super) fn start(library: &Arc<Library>, tasks: &Tasks) -> anyhow::Result<Self> {
        let count = available_parallelism().map_or(1, usize::from) * THREADS;
        let all = (0..count).map(|_| Thread::start(library, tasks));
        Ok(Threads(all.collect::<Result<_, _>>()?))
    }

    /// The thread with the fewest jobs.
    pub(super) fn idlest(&self) -> Option<Arc<Thread>> {
        let jobs = |thread: &&Arc<Thread>| thread.open.load(Ordering::Relaxed);
        self.0.iter().min_by_key(jobs).cloned()
    }
}

impl Thread {
    fn start(library: &Arc<Library>, tasks: &Tasks) -> anyhow::Result<Arc<Self>> {
        let engine = Arc::new(Engine::new(library).context("no memory for an engine")?);
        let (jobs, received) = mpsc::channel::<Job>();
        let open = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&open);
        tasks.spawn_thread("engine", move || {
            for job in received {
                job(&engine);
                counted.fetch_sub(1, Ordering::Relaxed);
            }
        })?;
        Ok(Arc::new(Thread { jobs, open }))
    }

    /// Does something on the thread; nobody waits for it.
    pub(super) fn send(&self, job: impl FnOnce(&Arc<Engine>) + Send + 'static) {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.jobs.send(Box::new(job)).ok();
    }

    /// Does something on the thread. `None`: the thread has ended. If nobody waits any more, the result is dropped there.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Arc<Engine>) -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, result) = oneshot::channel();
        self.send(move |engine| drop(sender.send(job(engine))));
        result.await.ok()
    }
}
