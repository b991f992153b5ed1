//! The project's own acceptance cases, and proof that the runner which plays them can say no.

mod balancers;
mod explained;
mod ingress;
mod lists;
mod words;
