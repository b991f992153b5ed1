//! What is installed: the Helm chart, the kustomize base and the images, without a cluster.
//!
//! Templates are rendered by a port of Go's template engine (`gotmpl`) with the few functions of Helm that the chart
//! uses, written again in `functions.rs`. What this cannot see is how an API server takes the objects, and what Helm itself
//! would do with an install, an upgrade or a hook.

mod admission;
mod base;
mod chart;
mod egress;
mod flags;
mod functions;
mod images;
mod pods;
mod rbac;
mod values;
mod wiring;
