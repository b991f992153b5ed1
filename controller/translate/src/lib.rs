//! Kubernetes objects to the IR, pure and total.
