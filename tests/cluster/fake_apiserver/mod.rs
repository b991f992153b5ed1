//! The tests. Their names say that it is a fake that they run against; what else they ran against is in their output.

mod certgen;
mod classes;
mod election;
mod events;
mod lint;
mod rights;
mod scopes;
mod secrets;
mod status;
mod watching;
