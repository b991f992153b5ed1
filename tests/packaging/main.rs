//! Packaging: the Helm chart, the kustomize base and the images, without a cluster.
//!
//! Templates are rendered by a port of Go's template engine (`gotmpl`) with the few functions of Helm that the chart uses,
//! written again in `functions.rs`; the real Helm and kubectl are asked about the same values in `helm.rs` and `kubectl.rs`. Not
//! covered: an API server's validation of the objects, and Helm's own install and upgrade.

mod admission;
mod alerts;
mod base;
mod cases;
mod chart;
mod commands;
mod egress;
mod flags;
mod functions;
mod helm;
mod images;
mod jobs;
mod krew;
mod kubectl;
mod metrics;
mod pods;
mod rbac;
mod readme;
mod refusals;
mod service;
mod typed;
mod values;
mod wiring;
mod workflows;
