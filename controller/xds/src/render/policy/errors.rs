//! Answers that clients do not get: what a pod says is thrown away, and the request goes on to an error service.
//!
//! Envoy takes the request as a new one, as a `GET` of `/` at [`ERROR_HOST`], with the query, and its headers as the first pod saw them. What
//! has to be known of the request as it came is kept in metadata, which the new one does not have: it is said here, in headers. What the
//! first request would have got from its route on the way to a pod it has only where it has reached one.

use std::collections::BTreeSet;

use envoy_types::pb::envoy::config::core::v3::{HeaderValueOption, TypedExtensionConfig};
use envoy_types::pb::envoy::config::route::v3::RedirectAction;
use envoy_types::pb::envoy::config::route::v3::redirect_action::PathRewriteSpecifier;
use envoy_types::pb::envoy::extensions::filters::http::custom_response::v3::CustomResponse;
use envoy_types::pb::envoy::extensions::filters::http::header_to_metadata::v3::Config as HeaderToMetadata;
use envoy_types::pb::envoy::extensions::filters::http::header_to_metadata::v3::config::{KeyValuePair, Rule};
use envoy_types::pb::envoy::extensions::http::custom_response::local_response_policy::v3::LocalResponsePolicy;
use envoy_types::pb::envoy::extensions::http::custom_response::redirect_policy::v3::RedirectPolicy;
use envoy_types::pb::envoy::extensions::http::custom_response::redirect_policy::v3::redirect_policy::RedirectActionSpecifier;
use envoy_types::pb::envoy::r#type::matcher::v3::{
    HttpResponseLocalReplyMatchInput, HttpResponseStatusCodeMatchInput,
};
use envoy_types::pb::xds::core::v3::TypedExtensionConfig as XdsExtension;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::predicate::single_predicate::Matcher as Matched;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::predicate::{
    MatchType, PredicateList, SinglePredicate,
};
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::{FieldMatcher, Predicate};
use envoy_types::pb::xds::r#type::matcher::v3::matcher::on_match::OnMatch as Then;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::{MatcherList, MatcherType, OnMatch};
use envoy_types::pb::xds::r#type::matcher::v3::string_matcher::MatchPattern;
use envoy_types::pb::xds::r#type::matcher::v3::{Matcher, StringMatcher};
use prost::{Message, Name};
use sluice_ir::{
    BackendId, DirectResponse, ErrorPages, Forwarded, Header, HeaderName, ResponseContent, RouteId,
};

use crate::render::forwarded;
use crate::render::header::{set, set_header};
use crate::render::proto::{extension, number, xds_extension};
use crate::settings::{
    CHALLENGE_HEADER, ERROR_HEADER, ERROR_HOST, OTHER_HOSTS, PATH_HEADER, ROUTE_KEY, SCOPE_HEADER,
    SIGN_IN_KEY,
};

/// Of the request as it came.
const URI: &str = "uri";
const ASKED: &str = "asked";
/// Of the answer that is thrown away: without it no browser asks for a password.
const CHALLENGE: &str = "challenge";

/// Namespace of the metadata of authorization.
const AUTHORIZATION: &str = "envoy.filters.http.ext_authz";

/// nginx sends a response with a lower status as it stands.
const FIRST_ERROR: u16 = 400;
const UNAUTHORIZED: u16 = 401;

/// As in nginx, where `error_page` of a location is for a `return` there that has a status alone, and not for one of the server.
pub(super) fn replaces(pages: &ErrorPages, direct: &DirectResponse) -> bool {
    direct.content == ResponseContent::Page
        && !direct.precedes_preflight
        && direct.status >= FIRST_ERROR
        && pages.statuses.contains(&direct.status)
}

/// `signs_in_again`: clients whom an upstream answers 401 are sent to the sign-in page. `auth_headers`: what clients must not say to the
/// error service, either.
pub(super) fn filters(
    (route, signs_in_again): (&RouteId, bool),
    pages: &ErrorPages,
    auth_headers: &[HeaderName],
    forwarded: &Forwarded,
) -> Vec<TypedExtensionConfig> {
    let replaced = |page| replaced(signs_in_again.then(sign_in), pages, page);
    match &pages.backend {
        Some(service) => {
            let policy = policy(service, &pages.headers, auth_headers, forwarded);
            vec![
                extension("asked", kept(route)),
                extension("errors", replaced(xds_extension("replaced", policy))),
                // Behind the one in front: answers come here first.
                extension("challenge", challenge()),
            ]
        }
        None => {
            let not_found = LocalResponsePolicy {
                status_code: number(404),
                ..Default::default()
            };
            vec![extension(
                "errors",
                replaced(xds_extension("replaced", not_found)),
            )]
        }
    }
}

fn kept(route: &RouteId) -> HeaderToMetadata {
    let rule = |header: &str, key: &str, value: &str| Rule {
        header: header.to_owned(),
        on_header_present: Some(KeyValuePair {
            metadata_namespace: "sluice".to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
            ..KeyValuePair::default()
        }),
        ..Rule::default()
    };
    let always = rule(":method", ROUTE_KEY, route.as_str());
    // Of a path that was decoded: as it was sent.
    let sent = rule(PATH_HEADER, URI, "");
    let request_rules = vec![
        rule(":path", URI, ""),
        sent,
        rule(":authority", ASKED, ""),
        always,
    ];
    HeaderToMetadata {
        request_rules,
        ..HeaderToMetadata::default()
    }
}

/// The challenge in the answer of a pod or of access control.
fn challenge() -> HeaderToMetadata {
    let rule = Rule {
        header: "www-authenticate".to_owned(),
        on_header_present: Some(KeyValuePair {
            metadata_namespace: "sluice".to_owned(),
            key: CHALLENGE.to_owned(),
            ..KeyValuePair::default()
        }),
        ..Rule::default()
    };
    HeaderToMetadata {
        response_rules: vec![rule],
        ..HeaderToMetadata::default()
    }
}

/// `sign_in` comes first, as `error_page` of `auth-signin` does in ingress-nginx.
fn replaced(
    sign_in: Option<FieldMatcher>,
    pages: &ErrorPages,
    page: XdsExtension,
) -> CustomResponse {
    let of_pages = FieldMatcher {
        predicate: replaceable(pages),
        on_match: Some(then(page)),
    };
    let list = MatcherType::MatcherList(MatcherList {
        matchers: sign_in.into_iter().chain([of_pages]).collect(),
    });
    CustomResponse {
        custom_response_matcher: Some(Matcher {
            matcher_type: Some(list),
            ..Matcher::default()
        }),
    }
}

/// The redirect to the sign-in page, whose URL authorization has said, in the place of an upstream's 401.
fn sign_in() -> FieldMatcher {
    let url = format!("%DYNAMIC_METADATA({AUTHORIZATION}:{SIGN_IN_KEY})%");
    let redirect = LocalResponsePolicy {
        status_code: number(302),
        response_headers_to_add: vec![set("location", &url)],
        ..LocalResponsePolicy::default()
    };
    FieldMatcher {
        predicate: Some(both(is_local(false), is_status(UNAUTHORIZED))),
        on_match: Some(then(xds_extension("sign_in", redirect))),
    }
}

fn then(action: XdsExtension) -> OnMatch {
    OnMatch {
        on_match: Some(Then::Action(action)),
        ..OnMatch::default()
    }
}

fn replaceable(pages: &ErrorPages) -> Option<Predicate> {
    let status = one_of(&pages.statuses)?;
    if !pages.keeps_upstreams {
        return Some(status);
    }
    Some(both(is_local(true), status))
}

/// A response of the data plane's own, or one of an upstream.
fn is_local(is_local: bool) -> Predicate {
    equals(
        "own",
        HttpResponseLocalReplyMatchInput {},
        &is_local.to_string(),
    )
}

fn both(one: Predicate, other: Predicate) -> Predicate {
    Predicate {
        match_type: Some(MatchType::AndMatcher(PredicateList {
            predicate: vec![one, other],
        })),
    }
}

/// Compared one by one: a pattern of many would be larger than Envoy takes.
fn one_of(statuses: &BTreeSet<u16>) -> Option<Predicate> {
    let mut all: Vec<_> = statuses.iter().copied().map(is_status).collect();
    // Envoy wants two alternatives at least.
    if all.len() < 2 {
        return all.pop();
    }
    Some(Predicate {
        match_type: Some(MatchType::OrMatcher(PredicateList { predicate: all })),
    })
}

fn is_status(status: u16) -> Predicate {
    let input = HttpResponseStatusCodeMatchInput {};
    equals("status", input, &status.to_string())
}

fn equals<M: Message + Name>(name: &str, input: M, value: &str) -> Predicate {
    let pattern = StringMatcher {
        match_pattern: Some(MatchPattern::Exact(value.to_owned())),
        ..StringMatcher::default()
    };
    let single = SinglePredicate {
        input: Some(xds_extension(name, input)),
        matcher: Some(Matched::ValueMatch(pattern)),
    };
    Predicate {
        match_type: Some(MatchType::SinglePredicate(single)),
    }
}

fn policy(
    service: &BackendId,
    headers: &[Header],
    auth_headers: &[HeaderName],
    forwarded: &Forwarded,
) -> RedirectPolicy {
    let redirect = RedirectAction {
        host_redirect: ERROR_HOST.to_owned(),
        path_rewrite_specifier: Some(PathRewriteSpecifier::PathRedirect("/".to_owned())),
        ..RedirectAction::default()
    };
    RedirectPolicy {
        request_headers_to_add: request_headers(service, headers)
            .into_iter()
            .chain(auth_headers.iter().map(|name| blank(name.as_str())))
            .chain([forwarded::host(forwarded, &kept_value(ASKED))])
            .collect(),
        redirect_action_specifier: Some(RedirectActionSpecifier::RedirectAction(redirect)),
        ..RedirectPolicy::default()
    }
}

/// Request headers of ingress-nginx to an error service. `X-Request-ID` is there anyway.
fn request_headers(service: &BackendId, headers: &[Header]) -> Vec<HeaderValueOption> {
    let mut all = vec![
        set(ERROR_HEADER, service.as_str()),
        set(SCOPE_HEADER, OTHER_HOSTS),
        set("x-code", "%RESPONSE_CODE%"),
        set("x-format", "%REQ(accept)%"),
        set("x-original-uri", &kept_value(URI)),
        // Empty without one, whatever a client says.
        HeaderValueOption {
            keep_empty_value: true,
            ..set(CHALLENGE_HEADER, &kept_value(CHALLENGE))
        },
    ];
    all.extend(headers.iter().map(set_header));
    all
}

/// Of what [`kept`] keeps.
fn kept_value(key: &str) -> String {
    format!("%DYNAMIC_METADATA(sluice:{key})%")
}

/// There is no way to take a header away here.
fn blank(header: &str) -> HeaderValueOption {
    HeaderValueOption {
        keep_empty_value: true,
        ..set(header, "")
    }
}

#[cfg(test)]
mod tests {
    use sluice_ir::Expression;

    use super::*;
    use crate::render::forwarded::BELIEVED_HOST;

    #[test]
    fn the_error_service_hears_last_which_host_was_asked_for() {
        // Whatever a service of `auth-url` may say.
        let auth = [HeaderName::parse("x-forwarded-host").unwrap()];
        for (trust_forwarded, host) in [(false, kept_value(ASKED)), (true, BELIEVED_HOST.into())] {
            let forwarded = Forwarded {
                trust_forwarded,
                ..Forwarded::default()
            };
            let policy = policy(&BackendId::new("n/pages/80"), &[], &auth, &forwarded);
            let last = policy.request_headers_to_add.last().cloned();
            assert_eq!(last, Some(set("x-forwarded-host", &host)));
        }
    }

    #[test]
    fn the_sign_in_page_comes_before_error_pages_and_is_for_responses_of_pods() {
        let pages = ErrorPages {
            keeps_upstreams: false,
            statuses: [401].into(),
            backend: None,
            headers: Vec::new(),
        };
        let predicates = |signs_in_again| {
            let replaced = xds_extension("replaced", LocalResponsePolicy::default());
            let config = super::replaced(signs_in_again, &pages, replaced);
            let matcher = config.custom_response_matcher.unwrap();
            let Some(MatcherType::MatcherList(list)) = matcher.matcher_type else {
                panic!("no list")
            };
            let predicates = list.matchers.into_iter().map(|matcher| matcher.predicate);
            predicates.collect::<Vec<_>>()
        };
        let page = Some(is_status(401));
        let of_pods = Some(both(is_local(false), is_status(401)));
        assert_eq!(predicates(Some(sign_in())), [of_pods, page.clone()]);
        assert_eq!(predicates(None), vec![page]);
    }

    #[test]
    fn responses_of_a_location_are_replaced_that_have_a_status_of_an_error_alone() {
        let pages = ErrorPages {
            keeps_upstreams: false,
            statuses: (300..600).filter(|status| status % 2 == 0).collect(),
            backend: None,
            headers: Vec::new(),
        };
        let text = Expression::literal("text");
        let contents = [
            ResponseContent::Page,
            ResponseContent::Location(text.clone()),
            ResponseContent::Text {
                media_type: "text/plain".to_owned(),
                text,
            },
        ];
        for status in 200..600 {
            for (place, content) in contents.iter().enumerate() {
                for precedes_preflight in [false, true] {
                    let direct = DirectResponse {
                        conditions: Vec::new(),
                        status,
                        precedes_preflight,
                        of_operator: false,
                        content: content.clone(),
                        headers: None,
                    };
                    let is_one =
                        place == 0 && !precedes_preflight && status >= 400 && status % 2 == 0;
                    assert_eq!(replaces(&pages, &direct), is_one, "{direct:?}");
                }
            }
        }
    }
}
