//! Unsupported features, by the annotation that asks for them.

use std::borrow::Cow;
use std::fmt;

use sluice_ir::{ListenerName, ReasonCode, RouteId, StreamPort};

/// Scope of an unsupported feature.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// A route.
    Route(RouteId),
    /// A listener beside those for http and https.
    Listener(ListenerName),
    /// All hosts: a key of the operator's ConfigMap.
    Setting(&'static str),
    /// A TCP or UDP port.
    Port(StreamPort),
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Route(route) => write!(f, "route {}", route.as_str()),
            Element::Listener(name) => write!(f, "listener {name}"),
            Element::Setting(key) => write!(f, "data.{key}"),
            Element::Port(port) => write!(f, "data.{}", port.number),
        }
    }
}

/// A setting that the nginx data plane does not serve as written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unsupported {
    /// Scope of the setting.
    pub element: Element,
    /// The setting.
    pub what: Cow<'static, str>,
    /// Without it nothing must be served: the route answers 503, and every request gets 403 where it is for all hosts.
    pub closes: bool,
}

impl Unsupported {
    /// Reason, as a report has it.
    #[must_use]
    pub fn reason(&self) -> String {
        match self.element {
            Element::Port(_) => format!("expected {}", self.what),
            Element::Route(_) | Element::Listener(_) | Element::Setting(_) => {
                format!("{}: not served by the nginx data plane", self.what)
            }
        }
    }

    /// Reason code, as a report has it.
    #[must_use]
    pub fn code(&self) -> ReasonCode {
        match self.element {
            Element::Port(_) => ReasonCode::Conflicted,
            Element::Route(_) | Element::Listener(_) | Element::Setting(_) => {
                ReasonCode::Unsupported
            }
        }
    }

    /// Consequence, as a report has it.
    #[must_use]
    pub fn consequence(&self) -> &'static str {
        match (&self.element, self.closes) {
            (Element::Route(_), true) => "the route answers 503",
            (Element::Route(_), false) => "the route is served without",
            (Element::Setting(_), true) => "every request answers 403",
            (Element::Setting(_), false) => "everything is served without",
            (Element::Listener(_), _) => "listener not served",
            (Element::Port(_), _) => "port not served",
        }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}; {}",
            self.element,
            self.reason(),
            self.consequence()
        )
    }
}
