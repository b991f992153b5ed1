//! The controller in a cluster: the binaries as they are built, a real Envoy, real pods, and the fake API server. With
//! KUBECONFIG set, every test runs a second time, against the API server that it names. Each says which of the two ran.

mod each_apiserver;
mod fake_apiserver;
mod setup;
