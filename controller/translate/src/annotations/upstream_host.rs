//! `upstream-vhost`: the `Host` that pods see, which may name the route.

use sluice_ir::Expression;
use sluice_syntax::settings::upstream::host_value;

use super::view::View;
use crate::route_names::RouteNames;

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
        names_route = RouteNames::are_in(text);
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
    use sluice_translate_engine::{ObjectKey, Port};

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
