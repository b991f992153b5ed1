//! Faults for tests, in builds with debug assertions only: the file that `SLUICE_FAULTS` names holds a fault a line.
//!
//! | line | meaning |
//! |---|---|
//! | `kill TASK` | the task of this name panics |
//! | `hold PLACE` | who comes to this place in the code waits there for as long as the line stands |
//!
//! Code under test reads others with [`all`].

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use tracing::info;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(20);

static FILE: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::var_os("SLUICE_FAULTS").map(Into::into));

/// The task, until it ends or its fault strikes.
pub(super) async fn may_strike<T>(name: &str, task: impl Future<Output = T>) -> T {
    let Some(file) = FILE.as_deref() else {
        return task.await;
    };
    let struck = async {
        while !stands(file, &format!("kill {name}")) {
            tokio::time::sleep(LOOK).await;
        }
        // Here and not later: as with a panic of its own, the task is dropped while it unwinds.
        panic!("injected fault");
    };
    tokio::select! {
        ended = task => ended,
        () = struck => unreachable!("a fault is a panic"),
    }
}

/// Blocks this thread for as long as a test holds the place.
pub fn hold(place: &str) {
    let Some(file) = FILE.as_deref() else { return };
    let line = format!("hold {place}");
    if stands(file, &line) {
        info!("held: {place}");
    }
    while stands(file, &line) {
        std::thread::sleep(LOOK);
    }
}

/// The arguments of all faults that begin so.
#[must_use]
pub fn all(fault: &str) -> Vec<String> {
    let faults = FILE
        .as_deref()
        .and_then(|file| std::fs::read_to_string(file).ok())
        .unwrap_or_default();
    faults
        .lines()
        .filter_map(|line| line.strip_prefix(fault))
        .map(str::to_owned)
        .collect()
}

fn stands(file: &Path, fault: &str) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text.lines().any(|line| line == fault))
}
