//! Ingresses that are not served and close nothing. The hosts that one names have nothing to do with each other: else an Ingress that
//! is refused for naming too many would have all of them translated for each change of one.
//!
//! What an Ingress is without effect for may only change with itself and with settings that all share: the route groups of its hosts
//! do not know of it.

use sluice_translate_engine::{DependencyTracker, Ingress, Kind, ObjectRef, Reporter, Secrets};

use crate::Options;
use crate::annotations::{Annotations, Context};
use crate::global::Globals;
use crate::servers::{MAX_ANNOTATION_BYTES_OF_ALL_PATHS, MAX_PATHS, unservable_spec};

/// Annotations that are read, however many paths there are.
const MOST_BYTES: usize = MAX_ANNOTATION_BYTES_OF_ALL_PATHS / MAX_PATHS;

/// True if no path of an Ingress is served as its owner wrote it.
pub(crate) fn is_unserved(ingress: &Ingress, options: &Options) -> bool {
    let spec = ingress.spec.as_ref();
    spec.is_some_and(|spec| unservable_spec(spec, options).is_some())
}

/// True if an Ingress that is not served may close paths, because it restricts access or because of another object.
pub(crate) fn may_close(
    ingress: &Ingress,
    tracker: DependencyTracker<'_>,
    options: &Options,
    globals: &Globals,
) -> bool {
    let annotations = ingress.annotations.iter();
    let bytes: usize = annotations.map(|(key, text)| key.len() + text.len()).sum();
    // What is longer may not be read, and snippets may be read for each Service by itself.
    let mut annotations = ingress.annotations.iter();
    if bytes > MOST_BYTES || annotations.any(|(key, _)| key.ends_with("-snippet")) {
        return true;
    }
    let object = ObjectRef {
        kind: Kind::Ingress,
        key: ingress.key(),
    };
    let (mut secrets, mut reports) = (Secrets::default(), Vec::new());
    let context = Context {
        tracker: &tracker,
        options,
        globals,
    };
    let reporter = Reporter::new(object, &mut reports);
    let annotations = Annotations::read(ingress, context, &mut secrets, reporter);
    let closes = annotations.restricts_clients() && annotations.canary.is_none();
    closes || !tracker.into_dependencies().is_empty()
}
