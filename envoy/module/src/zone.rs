//! The zone of this Envoy.

use std::env;
use std::sync::Mutex;

use sluice_filter_config::host_contract::ZONE_VARIABLE;

use crate::lock::lock;

static ZONE: Mutex<Option<String>> = Mutex::new(None);

/// A configuration says it, or says nothing.
pub(crate) fn set(zone: Option<String>) {
    *lock(&ZONE) = zone;
}

/// The zone that a configuration says, or else the environment: Envoy does not show its own to a module.
pub(crate) fn get() -> Option<String> {
    lock(&ZONE).clone().or_else(|| env::var(ZONE_VARIABLE).ok())
}
