//! Fault injection for tests, in builds with debug assertions only ([`sluice_tasks::fault`]).
//!
//! | line | meaning |
//! |---|---|
//! | `spoil-xds TEXT` | Envoys cannot parse clusters and listeners that contain this text |
//! | `spoil-secret NAMESPACE/NAME` | Envoys get an invalid certificate for this Secret |

use std::borrow::Cow;

use sluice_ir::{Config, SecretValue};
use sluice_tasks::fault;
use sluice_xds::Update;

/// Makes clusters and listeners that contain the text invalid.
pub(crate) fn spoil(update: Update) -> Update {
    match fault::all("spoil-xds ").first() {
        Some(text) => update.spoiled(text),
        None => update,
    }
}

/// The configuration with an invalid certificate for the Secret.
pub(crate) fn for_envoys(config: &Config) -> Cow<'_, Config> {
    let mut spoiled = Cow::Borrowed(config);
    let Some(secret) = fault::all("spoil-secret ").into_iter().next() else {
        return spoiled;
    };
    for (id, value) in &config.secrets {
        if let (true, SecretValue::Certificate { key, .. }) = (id.as_str() == secret, value) {
            let value = SecretValue::Certificate {
                chain: "none".to_owned(),
                key: key.clone(),
            };
            spoiled.to_mut().secrets.insert(id.clone(), value);
        }
    }
    spoiled
}
