//! Packaging: the Helm chart, the kustomize base and the images, without a cluster.
//!
//! Templates are rendered by a port of Go's template engine (`gotmpl`) with the few functions of Helm that the chart uses,
//! written again in `functions.rs`. Not covered: an API server's validation of the objects, and Helm's own install, upgrade and
//! hooks.

mod admission;
mod base;
mod chart;
mod egress;
mod flags;
mod functions;
mod images;
mod pods;
mod rbac;
mod service;
mod values;
mod wiring;
