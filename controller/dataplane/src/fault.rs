//! Fault injection for tests, in builds with debug assertions only ([`sluice_tasks::fault`]).
//!
//! | line | meaning |
//! |---|---|
//! | `spoil TEXT` | an nginx configuration that contains this text also gets an unknown directive |

use std::borrow::Cow;

use sluice_tasks::fault;

/// The configuration that `nginx -t` gets.
pub(crate) fn spoiled(configuration: &str) -> Cow<'_, str> {
    match fault::all("spoil ")
        .into_iter()
        .find(|text| configuration.contains(text))
    {
        Some(text) => format!("{configuration}\nno_such_directive {text:?};\n").into(),
        None => configuration.into(),
    }
}
