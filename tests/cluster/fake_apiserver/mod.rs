//! The tests. Their names say that it is a fake that they run against; what else they ran against is in their output.

mod apiserver_errors;
mod apiserver_outage;
mod certgen;
mod check;
mod configmap;
mod demo;
mod election;
mod events;
mod ingress_classes;
mod kubectl;
mod lint;
mod malformed;
mod metrics;
mod namespace_scope;
mod permissions;
mod secrets;
mod status;
mod watch;
mod weights;
