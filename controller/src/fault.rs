//! Faults of what data planes are given, for tests, in builds with debug assertions only ([`sluice_tasks::fault`]).
//!
//! | line | meaning |
//! |---|---|
//! | `spoil TEXT` | a configuration of nginx that has this text has a directive, too, that nginx does not know |
//! | `spoil-xds TEXT` | a cluster or a listener that has this text cannot be read by Envoys |
//! | `spoil-secret NAMESPACE/NAME` | the certificate in this Secret is none when Envoys get it |

use std::borrow::Cow;

use sluice_ir::{Config, SecretValue};
use sluice_tasks::fault;
use sluice_xds::Update;

/// A configuration of nginx, as nginx is asked about it.
pub(crate) fn spoiled(configuration: &str) -> Cow<'_, str> {
    match fault::all("spoil ")
        .into_iter()
        .find(|text| configuration.contains(text))
    {
        Some(text) => format!("{configuration}\nno_such_directive {text:?};\n").into(),
        None => configuration.into(),
    }
}

/// Makes clusters and listeners that have the text unreadable to Envoy.
pub(crate) fn spoil(update: Update) -> Update {
    match fault::all("spoil-xds ").first() {
        Some(text) => update.spoiled(text),
        None => update,
    }
}

/// A configuration, as Envoys are given it: the certificate of the Secret is none.
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
