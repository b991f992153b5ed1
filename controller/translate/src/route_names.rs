//! Names of a route in the values of its headers.

use sluice_ir::{Expression, Header, HeaderName};
use sluice_syntax::expression;
use sluice_syntax::variables::{Segment, segments};
use sluice_translate_engine::{ObjectKey, Port};

/// Names of a route: ingress-nginx has them as variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RouteNames {
    ingress: ObjectKey,
    service: String,
    port: String,
}

impl RouteNames {
    /// The names of a path of an Ingress that leads to a port of a Service.
    pub(crate) fn new(ingress: &ObjectKey, service: &ObjectKey, port: &Port) -> Self {
        RouteNames {
            ingress: ingress.clone(),
            service: service.name.to_string(),
            port: port.to_string(),
        }
    }

    /// The longest that Kubernetes has, in place of names that are not known yet.
    pub(crate) fn longest() -> Self {
        let name = "x".repeat(253);
        RouteNames {
            ingress: ObjectKey::new(name.clone(), name.clone()),
            service: name.clone(),
            port: name,
        }
    }

    /// To nginx, the case of a variable does not matter.
    pub(crate) fn get(&self, variable: &str) -> Option<&str> {
        Some(match variable.to_ascii_lowercase().as_str() {
            "namespace" => &self.ingress.namespace,
            "ingress_name" => &self.ingress.name,
            "service_name" => &self.service,
            "service_port" => &self.port,
            _ => return None,
        })
    }

    /// True if a location has one value of a variable in ingress-nginx: a name of the route, or of the location itself.
    pub(crate) fn is_constant(variable: &str) -> bool {
        const OF_LOCATION: [&str; 3] = ["location_path", "proxy_upstream_name", "server_name"];
        let is_of_location = |name: &&str| variable.eq_ignore_ascii_case(name);
        RouteNames::longest().get(variable).is_some() || OF_LOCATION.iter().any(is_of_location)
    }

    /// True if a text has one of them.
    pub(crate) fn are_in(text: &str) -> bool {
        let longest = RouteNames::longest();
        segments(text).any(|segment| {
            matches!(segment, Segment::Variable { name, .. } if longest.get(name).is_some())
        })
    }

    /// True if each is as Kubernetes has it: nothing of them ends a part of a URL.
    pub(crate) fn are_plain(&self) -> bool {
        let all = [
            &*self.ingress.namespace,
            &*self.ingress.name,
            self.service.as_str(),
            self.port.as_str(),
        ];
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-.".contains(letter);
        all.iter().all(|name| name.chars().all(is_plain))
    }

    /// True if it leads to this port of this Service.
    pub(crate) fn are_of(&self, service: &ObjectKey, port: &Port) -> bool {
        let is_service =
            self.ingress.namespace == service.namespace && self.service == *service.name;
        is_service && self.port == port.to_string()
    }

    /// ingress-nginx's name of the upstream.
    pub(crate) fn upstream(&self) -> String {
        format!("{}-{}-{}", self.ingress.namespace, self.service, self.port)
    }

    /// Headers with the names, for error services.
    pub(crate) fn headers(&self) -> Vec<Header> {
        let header = |name, value: &str| Header {
            name: HeaderName::from_static(name),
            value: Expression::literal(value),
        };
        vec![
            header("X-Namespace", &self.ingress.namespace),
            header("X-Ingress-Name", &self.ingress.name),
            header("X-Service-Name", &self.service),
            header("X-Service-Port", &self.port),
        ]
    }
}

/// A header whose value names the route: `l5d-dst-override: $service_name.$namespace.svc.cluster.local:$service_port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RouteHeader {
    name: HeaderName,
    text: String,
}

impl RouteHeader {
    /// `None`: the text is no value of a header, or has variables that are not supported beside the names.
    pub(crate) fn parse(name: HeaderName, text: &str) -> Option<Self> {
        let header = RouteHeader {
            name,
            text: text.to_owned(),
        };
        header.on(&RouteNames::longest()).map(|_| header)
    }

    /// The header on a route.
    pub(crate) fn on(&self, route: &RouteNames) -> Option<Header> {
        let value = expression::for_headers_with(&self.text, |name| route.get(name)).ok()?;
        let name = self.name.clone();
        Some(Header { name, value })
    }
}
