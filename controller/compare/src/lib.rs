//! The same requests to two data planes, and how their responses differ: what an Ingress loses or keeps when traffic moves.
//!
//! ```text
//!   Ingresses --probes--+                        +--client--> old --+
//!   access log ---------+--> Plan --run, pace----+                  +--facts--> judge --> Tally --> Findings --> table, JSON, ...
//!   HAR file -----------+     | site: whose it is +--client--> new --+
//!   mirrored requests --live--+                      shares: backends by weight
//! ```
//!
//! Everything in a response is a stranger's: heads and bodies are bounded, redirects are not followed, and what is printed moves no
//! cursor and is no markup. Absent: Kubernetes. Ingresses come as the model, with a name for each route.

mod access_log;
mod address;
mod body;
mod client;
mod cookies;
mod facts;
mod findings;
mod har;
mod judge;
mod known;
mod live;
mod log_format;
mod names;
mod output;
mod pace;
mod paths;
mod plan;
mod probe;
mod probes;
mod recorded;
mod response;
mod run;
mod sample;
mod shares;
mod site;
mod subject;
mod text;

pub use access_log::read_line;
pub use address::{DataPlane, Resolve};
pub use client::{Client, ClientSettings};
pub use facts::Scope;
pub use findings::{
    FailOn, Finding, Findings, Found, SharesFound, Summary, Tally, Unjudged, Verdict, not_sent,
};
pub use har::read_har;
pub use known::Known;
pub use live::{Live, MARK, Share, listen};
pub use log_format::LogFormat;
pub use output::{Output, write};
pub use plan::{LeftOut, Plan, Selection, reasons};
pub use probe::Probe;
pub use run::{Pair, Speed};
pub use shares::{Kind, Proportion};
pub use site::{Owner, Site};
pub use subject::Subject;
