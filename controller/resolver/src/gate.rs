//! Fair turns of namespaces at waiting for others: DNS queries.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sluice_fair::{Limits, Turns};
use tokio::sync::oneshot;

/// Lets so many in at a time, and of one namespace a quarter of them.
#[derive(Clone, Debug)]
pub(super) struct Gate(Arc<Mutex<Turns<oneshot::Sender<Pass>>>>);

/// A held place, until this is dropped.
#[derive(Debug)]
pub(super) struct Pass {
    gate: Gate,
    namespace: String,
}

impl Gate {
    /// With room for so many that wait, of one namespace for a sixteenth of them.
    pub(super) fn new(workers: usize, waiting: usize) -> Self {
        let (workers_of_one, waiting_of_one) = ((workers / 4).max(1), (waiting / 16).max(1));
        Gate(Arc::new(Mutex::new(Turns::new(Limits {
            workers,
            workers_of_one,
            waiting,
            waiting_of_one,
        }))))
    }

    /// Waits for a turn of this namespace. `None`: there is no room to wait in.
    pub(super) async fn enter(&self, namespace: &str) -> Option<Pass> {
        let (sender, turn) = oneshot::channel();
        // The evicted waiter hears that its sender is gone.
        let gone = self.turns().add(namespace, 1, sender).ok()?;
        drop(gone);
        self.begin();
        turn.await.ok()
    }

    fn begin(&self) {
        loop {
            let begun = self.turns().begin();
            let Some((namespace, turn)) = begun else {
                return;
            };
            if turn.is_closed() {
                // Its waiter is gone.
                self.turns().done(&namespace);
                continue;
            }
            // Where that has just come to be so, the pass comes back, and gives the turn to the next.
            turn.send(Pass {
                gate: self.clone(),
                namespace,
            })
            .ok();
        }
    }

    fn turns(&self) -> MutexGuard<'_, Turns<oneshot::Sender<Pass>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.gate.turns().done(&self.namespace);
        self.gate.begin();
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    const WAITING: usize = 1600;

    /// Polls the turn once.
    async fn is_in(turn: &mut (impl Future<Output = Option<Pass>> + Unpin)) -> Option<Pass> {
        match futures::poll!(turn) {
            Poll::Ready(pass) => pass,
            Poll::Pending => None,
        }
    }

    #[tokio::test]
    async fn a_crowd_has_a_quarter_of_the_turns_and_whoever_comes_late_has_one_at_once() {
        let gate = Gate::new(8, WAITING);
        let mut crowd: Vec<_> = (0..100).map(|_| Box::pin(gate.enter("crowd"))).collect();
        let mut passes = Vec::new();
        for turn in &mut crowd {
            passes.extend(is_in(turn).await);
        }
        assert_eq!(passes.len(), 2);
        let shop = is_in(&mut Box::pin(gate.enter("shop"))).await;
        assert!(shop.is_some(), "another namespace has room");
        // Those who go give their turns to others, and so do those who do not wait any more.
        crowd.drain(2..50);
        passes.clear();
        let mut let_in = 0;
        for turn in crowd.iter_mut().skip(2) {
            let_in += usize::from(is_in(turn).await.is_some());
        }
        assert_eq!(let_in, 50, "each gives its turn to the next");
    }

    #[tokio::test]
    async fn who_has_no_room_to_wait_in_is_told_so() {
        let gate = Gate::new(4, WAITING);
        let mut crowd: Vec<_> = (0..WAITING)
            .map(|_| Box::pin(gate.enter("crowd")))
            .collect();
        let mut refused = 0;
        let mut passes = Vec::new();
        for turn in &mut crowd {
            match futures::poll!(turn) {
                Poll::Ready(Some(pass)) => passes.push(pass),
                Poll::Ready(None) => refused += 1,
                Poll::Pending => {}
            }
        }
        assert_eq!((passes.len(), refused), (1, WAITING - WAITING / 16 - 1));
        assert!(is_in(&mut Box::pin(gate.enter("shop"))).await.is_some());
    }
}
