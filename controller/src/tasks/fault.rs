//! Faults for tests, in builds with debug assertions only: the file that `SLUICE_FAULTS` names holds a fault a line.
//!
//! | line | meaning |
//! |---|---|
//! | `kill TASK` | the task of this name panics |
//! | `hold PLACE` | who comes to this place in the code waits there for as long as the line stands |
//! | `spoil TEXT` | a configuration of nginx that has this text has a directive, too, that nginx does not know |
//! | `spoil-xds TEXT` | a cluster or a listener that has this text cannot be read by Envoys |
//! | `spoil-secret NAMESPACE/NAME` | the certificate in this Secret is none when Envoys get it |

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use sluice_ir::{Config, SecretValue};
use sluice_xds::Update;
use tracing::info;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(20);

static FILE: LazyLock<Option<PathBuf>> = LazyLock::new(|| std::env::var_os("SLUICE_FAULTS").map(Into::into));

/// The task, until it ends or its fault strikes.
pub(super) async fn may_strike(name: &str, task: impl Future<Output = ()>) {
    let Some(file) = FILE.as_deref() else { return task.await };
    let struck = async {
        while !stands(file, &format!("kill {name}")) {
            tokio::time::sleep(LOOK).await;
        }
        // Here and not later: as with a panic of its own, the task is dropped while it unwinds.
        panic!("injected fault");
    };
    tokio::select! {
        () = task => {}
        () = struck => {}
    }
}

/// Blocks this thread for as long as a test holds the place.
pub(crate) fn hold(place: &str) {
    let Some(file) = FILE.as_deref() else { return };
    let line = format!("hold {place}");
    if stands(file, &line) {
        info!("held: {place}");
    }
    while stands(file, &line) {
        std::thread::sleep(LOOK);
    }
}

/// A configuration of nginx, as nginx is asked about it.
pub(crate) fn spoiled(configuration: &str) -> Cow<'_, str> {
    let faults = FILE.as_deref().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    let mut texts = faults.lines().filter_map(|line| line.strip_prefix("spoil "));
    match texts.find(|text| configuration.contains(text)) {
        Some(text) => format!("{configuration}\nno_such_directive {text:?};\n").into(),
        None => configuration.into(),
    }
}

/// Makes clusters and listeners that have the text unreadable to Envoy.
pub(crate) fn spoil(update: Update) -> Update {
    match named("spoil-xds ") {
        Some(text) => update.spoiled(&text),
        None => update,
    }
}

/// A configuration, as Envoys are given it: the certificate of the Secret is none.
pub(crate) fn for_envoys(config: &Config) -> Cow<'_, Config> {
    let mut spoiled = Cow::Borrowed(config);
    let Some(secret) = named("spoil-secret ") else { return spoiled };
    for (id, value) in &config.secrets {
        if let (true, SecretValue::Certificate { key, .. }) = (id.as_str() == secret, value) {
            let value = SecretValue::Certificate { chain: "none".to_owned(), key: key.clone() };
            spoiled.to_mut().secrets.insert(id.clone(), value);
        }
    }
    spoiled
}

fn named(fault: &str) -> Option<String> {
    let faults = std::fs::read_to_string(FILE.as_deref()?).ok()?;
    faults.lines().find_map(|line| line.strip_prefix(fault)).map(str::to_owned)
}

fn stands(file: &Path, fault: &str) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text.lines().any(|line| line == fault))
}
