//! A cluster as a source.

pub(crate) mod kube;
