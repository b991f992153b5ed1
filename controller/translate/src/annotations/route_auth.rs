//! External authentication whose URLs name the route: `auth-url: http://auth.sso.svc/check/$service_name`.

use sluice_ir::{Expression, ExternalAuth};
use sluice_syntax::settings::ext_auth::{parameter, sign_in};

use super::view::View;
use crate::ext_auth_url;
use crate::route_names::RouteNames;

/// Texts of the URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RouteAuth {
    url: String,
    sign_in: Option<String>,
    parameter: Option<String>,
}

impl RouteAuth {
    /// `None`: no URL names the route. What is wrong in them is reported where the service is read, and closes all routes.
    pub(super) fn read(view: &View<'_, '_>) -> Option<Self> {
        let url = view.text("auth-url")?;
        let sign_in = view.text("auth-signin");
        let names_route = RouteNames::are_in(url) || sign_in.is_some_and(RouteNames::are_in);
        let parameter = view
            .text("auth-signin-redirect-param")
            .and_then(|text| parameter(text).ok());
        names_route.then(|| RouteAuth {
            url: url.to_owned(),
            sign_in: sign_in.map(str::to_owned),
            parameter,
        })
    }

    /// Writes the URLs of a route into the service, if it is that of these texts. A URL that cannot be written, also because
    /// the route leads to no Service, is none, so that the service is not asked, and lets nobody in.
    pub(crate) fn write(&self, names: Option<&RouteNames>, service: &mut ExternalAuth) {
        let longest = RouteNames::longest();
        if ext_auth_url::with_names(&self.url, &longest).ok().as_ref() != Some(&service.url) {
            return;
        }
        let names = names.filter(|names| names.are_plain());
        let url = names.and_then(|names| ext_auth_url::with_names(&self.url, names).ok());
        service.url = url.unwrap_or(Expression(Vec::new()));
        service.signin_url = self.sign_in.as_deref().and_then(|text| {
            let names = names?;
            sign_in(text, self.parameter.as_deref(), |name| names.get(name)).ok()
        });
    }
}

#[cfg(test)]
mod tests {
    use sluice_syntax::settings::ext_auth::request_uri;
    use sluice_translate_engine::{ObjectKey, Port};

    use super::*;

    const URL: &str =
        "http://auth.sso.svc/$namespace/${ingress_name}?s=$Service_Name:$service_port$request_uri";

    fn service(url: &str) -> ExternalAuth {
        ExternalAuth {
            url: ext_auth_url::with_names(url, &RouteNames::longest()).unwrap(),
            backend: None,
            method: None,
            signin_url: None,
            upstream_headers: Vec::new(),
            host: None,
            headers: Vec::new(),
            redirect_url: request_uri(),
            always_set_cookie: false,
            cache: None,
        }
    }

    fn written(url: &str, ingress: &str) -> ExternalAuth {
        let texts = RouteAuth {
            url: URL.to_owned(),
            sign_in: Some("https://l.test/$service_name".to_owned()),
            parameter: Some("to".to_owned()),
        };
        let names = RouteNames::new(
            &ObjectKey::new("shop", ingress),
            &ObjectKey::new("shop", "web"),
            &Port::Number(8080),
        );
        let mut service = service(url);
        texts.write(Some(&names), &mut service);
        service
    }

    #[test]
    fn names_of_a_route_are_text_in_its_urls() {
        let service = written(URL, "web-ingress");
        let shown = |it: &Expression| serde_json::to_value(it).unwrap();
        let url = "http://auth.sso.svc/shop/web-ingress?s=web:8080$request_uri";
        assert_eq!(shown(&service.url), url);
        let sign_in = "https://l.test/web?to=$scheme://$http_host$escaped_request_uri";
        assert_eq!(shown(&service.signin_url.unwrap()), sign_in);
    }

    #[test]
    fn a_name_that_is_no_name_makes_no_url_and_another_service_stays_what_it_is() {
        let refused = written(URL, "a?b\r\nc");
        assert_eq!((refused.url.0.len(), refused.signin_url), (0, None));
        let other = "http://operator.svc/";
        assert_eq!(written(other, "web-ingress"), service(other));
    }
}
