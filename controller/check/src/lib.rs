//! Checks of an installation: what is wrong with it, and what to do about each.
//!
//! ```text
//!   API server, controllers --read--> Facts --+--> sections/ (kubernetes, rights, class, webhook, controller, ...)
//!                                             |        \--> Checklist --> text, JSON
//!   --pre:  Before ---------------------------+
//! ```
//!
//! Pure: facts and the time are arguments, and what could not be read is a fact, too. Every string of a cluster is somebody
//! else's; [`text`](Checklist::text) and [`json`](Checklist::json) let none of them reach a terminal as it is.

mod certificate;
mod checklist;
pub mod discovery;
mod facts;
mod metrics;
mod output;
mod permissions;
mod sections;
#[cfg(test)]
mod tests;

pub use checklist::{Check, Checklist, Section, Status};
pub use facts::{
    Account, Before, Controller, Facts, Flags, HostCertificate, Installation, Read, Served, Server,
};
pub use permissions::{INSTALLED, Needs, Right, of_installer};

/// Settings of a check.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Seconds since 1970.
    pub now: i64,
    /// Certificates that end within so many days are near their end.
    pub certificate_days: u32,
    /// Version of this program.
    pub version: &'static str,
}

/// Checks what runs.
#[must_use]
pub fn running(facts: &Facts, settings: &Settings) -> Checklist {
    let mut checklist = Checklist::default();
    sections::kubernetes(&facts.server, &mut checklist);
    sections::controller(facts, settings, &mut checklist);
    sections::rights(facts, &mut checklist);
    sections::class(facts, &mut checklist);
    sections::webhook(facts, settings, &mut checklist);
    sections::data_planes(facts, &mut checklist);
    sections::certificates(facts, settings, &mut checklist);
    sections::configuration(facts, &mut checklist);
    checklist
}

/// Checks a cluster before an installation.
#[must_use]
pub fn before(facts: &Before) -> Checklist {
    let mut checklist = Checklist::default();
    sections::kubernetes(&facts.server, &mut checklist);
    sections::rights_to_install(facts, &mut checklist);
    sections::free_class(facts, &mut checklist);
    sections::other_webhooks(&facts.webhooks, &facts.services, &mut checklist);
    checklist
}

/// Checklist of an API server that does not answer.
#[must_use]
pub fn unreachable(error: &str) -> Checklist {
    let mut checklist = Checklist::default();
    sections::unreachable(error, &mut checklist);
    checklist
}
