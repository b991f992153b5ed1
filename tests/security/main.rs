//! The security rules, one file a rule, on every data plane and in two namespaces. docs/security.md says what each rule
//! promises and to whom.
//!
//! A test here states its rule over all inputs that it can think of; one that can only name a single string belongs to the
//! unit that had the fault. What needs no data plane is called as the controller calls it.

mod r09_references;
mod r12_tenancy;
mod setup;
