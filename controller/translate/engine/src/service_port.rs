//! Ports of Services, as objects name them.

use std::fmt;

/// A port of a Service, as an object names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Port {
    /// By its number.
    Number(i32),
    /// By its name.
    Name(String),
    /// The first port of the Service: that of a default backend.
    First,
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Port::Number(number) => write!(f, "{number}"),
            Port::Name(name) => f.write_str(name),
            Port::First => f.write_str("first"),
        }
    }
}
