//! Client certificates: requests that a server accepts, and headers for pods and for authentication services.
//!
//! A certificate counts when it was checked against what the server believes, whatever name the handshake was for: the
//! listener says against what, in a header. A request without a good one never reaches a route that wants one.

use envoy_types::pb::envoy::config::route::v3::route::Action as RouteKind;
use envoy_types::pb::envoy::config::route::v3::route_match::TlsContextMatchOptions;
use envoy_types::pb::envoy::config::route::v3::{DirectResponseAction, Route};
use envoy_types::pb::google::protobuf::BoolValue;
use sluice_ir::{
    Action, CLIENT_CERTIFICATE_HEADERS, ClientCertificates, GlobalConfig, HttpRoute, RefusalPage,
    ServerName, VerifyClient,
};
use sluice_pattern::Subject;

use super::answering;
use super::direct_response;
use super::http_route;
use super::matching::{is, match_of, matches, no, only_for, only_over_tls};
use super::redirect::to_url;
use crate::render::header::{literal, set};
use crate::render::manager::trust_name;
use crate::render::policy::{POLICY, telling_certificate};
use crate::render::tracing;
use crate::settings::{MISDIRECTED_ROUTE, SUBJECT_HEADER, TRUST_HEADER};

/// The routes of a route, each for the certificates that it takes. One that is closed takes none.
pub(super) fn routes(
    http_route: &HttpRoute,
    server: &ServerName,
    clients: &ClientCertificates,
    global: &GlobalConfig,
) -> Vec<Route> {
    if http_route.action == Action::Denied {
        return http_route::routes(http_route, server, global);
    }
    let first = http_route::to_https(http_route, server, global);
    let over_https = HttpRoute {
        https_redirect: None,
        ..http_route.clone()
    };
    let mine = http_route::routes(&over_https, server, global);
    let pods = |verdict| {
        mine.iter()
            .map(move |route| telling(route.clone(), verdict, clients))
            .map(|route| telling_service(route, verdict, http_route, clients))
    };
    let named = |route| called(route, clients);
    let good_one = |route| checked(route, clients);
    let good = || pods("SUCCESS").map(good_one).map(named);
    // Who is called otherwise, and who has no name: nothing is found in an empty subject.
    let stranger = || {
        clients
            .subject
            .iter()
            .map(|_| answer(http_route, global, 403))
    };
    let nobody = || {
        if clients.subject.is_some() {
            stranger().collect()
        } else {
            pods("NONE").collect::<Vec<_>>()
        }
    };
    let presented = |route| with_certificate(route, |options| options.presented = Some(yes()));
    let refused = || refusal(http_route, server, clients, global);
    let rest: Vec<Route> = match clients.verify {
        VerifyClient::Required => good()
            .chain(stranger().map(good_one))
            .chain([refused()])
            .collect(),
        VerifyClient::Optional => {
            let others = stranger()
                .map(good_one)
                .chain([presented(refused())])
                .chain(nobody());
            good().chain(others).collect()
        }
        VerifyClient::Untrusted => good()
            .chain(pods("FAILED").map(presented).map(named))
            .chain(nobody())
            .collect(),
        VerifyClient::Off => nobody(),
    };
    first.into_iter().chain(rest).collect()
}

/// As nginx: the handshake of this connection was for another name, whose authorities are others. Browsers share connections of HTTP/2 among
/// hosts of one certificate, and open another one then. Connections for which nobody asked for a certificate all look alike, those without a
/// name too, which nginx does not send away.
pub(super) fn misdirected(clients: &ClientCertificates, global: &GlobalConfig) -> Option<Route> {
    let route = Route {
        name: MISDIRECTED_ROUTE.to_owned(),
        ..answering(421)
    };
    let asked = only_for(route, no(is(TRUST_HEADER, "")));
    let elsewhere = no(is(TRUST_HEADER, &trust_name(&clients.validation)));
    let route = only_over_tls(only_for(asked, elsewhere), &global.forwarded);
    (clients.verify != VerifyClient::Off).then_some(route)
}

fn checked(route: Route, clients: &ClientCertificates) -> Route {
    let route = with_certificate(route, |options| options.validated = Some(yes()));
    only_for(route, is(TRUST_HEADER, &trust_name(&clients.validation)))
}

/// ingress-nginx: `if ($ssl_client_s_dn !~ ...) { return 403; }`
fn called(route: Route, clients: &ClientCertificates) -> Route {
    match &clients.subject {
        Some(pattern) => {
            let whole = sluice_pattern::re2(pattern, Subject::Text, false);
            only_for(route, matches(SUBJECT_HEADER, &whole))
        }
        None => route,
    }
}

fn with_certificate(mut route: Route, say: impl FnOnce(&mut TlsContextMatchOptions)) -> Route {
    if let Some(path) = &mut route.r#match {
        say(path.tls_context.get_or_insert_default());
    }
    route
}

/// nginx: 400 for a missing certificate and for a wrong one.
fn refusal(
    http_route: &HttpRoute,
    server: &ServerName,
    clients: &ClientCertificates,
    global: &GlobalConfig,
) -> Route {
    match &clients.error_page {
        Some(RefusalPage::Url(page)) => {
            to_url(&answer(http_route, global, 302), 302, &literal(page))
        }
        Some(RefusalPage::Response(response)) => {
            let status = u32::from(response.status);
            direct_response::route(
                &answer(http_route, global, status),
                response,
                &[],
                (server, global),
            )
        }
        None => answer(http_route, global, 400),
    }
}

fn answer(http_route: &HttpRoute, global: &GlobalConfig, status: u32) -> Route {
    let answer = DirectResponseAction {
        status,
        ..DirectResponseAction::default()
    };
    Route {
        name: http_route.id.as_str().to_owned(),
        r#match: Some(match_of(&http_route.matches)),
        action: Some(RouteKind::DirectResponse(answer)),
        tracing: tracing::of_route(&http_route.policy.tracing, global),
        ..Route::default()
    }
}

/// ingress-nginx: `ssl-client-*`. What a client says about itself is replaced.
fn telling(mut route: Route, verdict: &str, clients: &ClientCertificates) -> Route {
    let has_certificate = verdict != "NONE";
    let forwards = has_certificate && clients.forward_certificate;
    let values = [
        (true, verdict),
        (has_certificate, "%DOWNSTREAM_PEER_SUBJECT%"),
        (has_certificate, "%DOWNSTREAM_PEER_ISSUER%"),
        (forwards, "%DOWNSTREAM_PEER_CERT%"),
    ];
    for (header, (is_there, format)) in CLIENT_CERTIFICATE_HEADERS.into_iter().zip(values) {
        if is_there {
            route.request_headers_to_add.push(set(header, format));
        } else {
            route.request_headers_to_remove.push(header.to_owned());
        }
    }
    route
}

/// The same for an authentication service, which is asked before headers are set.
fn telling_service(
    mut route: Route,
    verdict: &str,
    http_route: &HttpRoute,
    clients: &ClientCertificates,
) -> Route {
    let authentication = http_route.policy.authentication.as_ref();
    if authentication.is_none_or(|authentication| authentication.external.is_none()) {
        return route;
    }
    if let Some(chain) = route.typed_per_filter_config.get_mut(POLICY)
        && let Some(telling) = telling_certificate(chain, verdict, clients.forward_certificate)
    {
        *chain = telling;
    }
    route
}

fn yes() -> BoolValue {
    BoolValue { value: true }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_ir::{BackendId, ClientValidation, PathMatch, SecretId};

    use super::*;

    /// Certificate that a route asks for (valid, any or none), and whether it forwards.
    fn shape(demand: VerifyClient, subject: Option<&str>) -> Vec<(&'static str, bool)> {
        let server = ServerName::parse("a.example").unwrap();
        let action = Action::to(BackendId::new("n/s/80"));
        let http_route = HttpRoute::new(
            &server,
            PathMatch::Prefix("/".into()),
            action,
            Arc::default(),
        );
        let trust = ClientValidation {
            ca: SecretId::new("n/ca/ca"),
            depth: 1,
        };
        let clients = ClientCertificates {
            validation: trust,
            verify: demand,
            subject: subject.map(str::to_owned),
            error_page: None,
            forward_certificate: false,
        };
        let mut shape: Vec<_> = routes(&http_route, &server, &clients, &GlobalConfig::default())
            .iter()
            .map(|route| {
                let path = route.r#match.as_ref().unwrap();
                let wanted = path.tls_context.unwrap_or_default();
                let wanted = match (wanted.validated.is_some(), wanted.presented.is_some()) {
                    (true, _) | (_, true)
                        if path
                            .headers
                            .iter()
                            .any(|header| header.name == SUBJECT_HEADER) =>
                    {
                        "called"
                    }
                    (true, _) => "good",
                    (_, true) => "any",
                    _ => "none",
                };
                (wanted, matches!(route.action, Some(RouteKind::Route(_))))
            })
            .collect();
        shape.dedup();
        shape
    }

    #[test]
    fn without_a_good_certificate_nothing_reaches_the_pods_when_one_is_required() {
        assert_eq!(
            shape(VerifyClient::Required, None),
            [("good", true), ("none", false)]
        );
        assert_eq!(
            shape(VerifyClient::Optional, None),
            [("good", true), ("any", false), ("none", true)]
        );
        assert_eq!(
            shape(VerifyClient::Untrusted, None),
            [("good", true), ("any", true), ("none", true)]
        );
        assert_eq!(shape(VerifyClient::Off, None), [("none", true)]);
    }

    #[test]
    fn without_a_name_nothing_reaches_the_pods_when_one_is_asked_for() {
        let shape = |demand| shape(demand, Some("CN=me"));
        assert_eq!(
            shape(VerifyClient::Required),
            [("called", true), ("good", false), ("none", false)]
        );
        let optional = [
            ("called", true),
            ("good", false),
            ("any", false),
            ("none", false),
        ];
        assert_eq!(shape(VerifyClient::Optional), optional);
        assert_eq!(
            shape(VerifyClient::Untrusted),
            [("called", true), ("none", false)]
        );
        assert_eq!(shape(VerifyClient::Off), [("none", false)]);
    }
}
