//! The tests. Their names say that it is a fake that they run against; what else they ran against is in their output.

mod away;
mod certgen;
mod classes;
mod demo;
mod election;
mod events;
mod lint;
mod malformed;
mod metrics;
mod refusals;
mod rights;
mod scopes;
mod secrets;
mod settings;
mod status;
mod watching;
mod weights;
