//! The tests. Their names say that it is a fake that they run against; what else they ran against is in their output.

mod classes;
mod election;
mod events;
mod rights;
mod scopes;
mod secrets;
mod status;
mod watching;
