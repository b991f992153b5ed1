//! `upstream-vhost`: the `Host` that pods see, which may name the route.

use sluice_ir::{Expression, Header, HeaderName};
use sluice_syntax::settings::upstream::host_value;
use sluice_syntax::variables::{Segment, segments};
use sluice_translate_engine::{ObjectKey, Port};

use super::view::View;

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
    fn longest() -> Self {
        let name = "x".repeat(253);
        RouteNames {
            ingress: ObjectKey::new(name.clone(), name.clone()),
            service: name.clone(),
            port: name,
        }
    }

    /// To nginx, the case of a variable does not matter.
    fn get(&self, variable: &str) -> Option<&str> {
        Some(match variable.to_ascii_lowercase().as_str() {
            "namespace" => &self.ingress.namespace,
            "ingress_name" => &self.ingress.name,
            "service_name" => &self.service,
            "service_port" => &self.port,
            _ => return None,
        })
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

/// A `Host` that names the route: `$service_name.$namespace.svc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RouteHost(String);

impl RouteHost {
    /// The `Host` on a route.
    pub(crate) fn on(&self, route: &RouteNames) -> Option<Expression> {
        host_value(&self.0, |name| route.get(name)).ok()
    }
}

/// The `Host` of all routes, or that of each.
pub(super) fn upstream_host(view: &mut View<'_, '_>) -> (Option<Expression>, Option<RouteHost>) {
    let (mut names_route, longest) = (false, RouteNames::longest());
    let read = view.read("upstream-vhost", |text| {
        names_route = segments(text)
            .any(|segment| matches!(segment, Segment::Variable { name, .. } if longest.get(name).is_some()));
        let host = host_value(text, |name| longest.get(name))?;
        Ok((text, host))
    });
    match read {
        Some((text, _)) if names_route => (None, Some(RouteHost(text.to_owned()))),
        Some((_, host)) => (Some(host), None),
        None => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_of_a_route_is_text_in_any_case() {
        let ingress = ObjectKey::new("shop", "web-ingress");
        let service = ObjectKey::new("shop", "web");
        let route = RouteNames::new(&ingress, &service, &Port::Number(8080));
        let host =
            RouteHost("$Service_Name.${namespace}.svc:$service_port-$ingress_name".to_owned());
        assert_eq!(
            host.on(&route),
            Some(Expression::literal("web.shop.svc:8080-web-ingress"))
        );
    }
}
