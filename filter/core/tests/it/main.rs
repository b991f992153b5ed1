//! Decisions of the core, from wire documents to candidates and cookies.

mod backups;
mod canaries;
mod known_bugs;
mod outcomes;
mod properties;
mod sessions;
mod site;
