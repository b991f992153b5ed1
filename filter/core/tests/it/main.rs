//! What the core decides, from the wire's documents to candidates and cookies.

mod canaries;
mod known_bugs;
mod outcomes;
mod properties;
mod sessions;
mod site;
