//! Answers that clients do not get: what a pod says is thrown away, and the request goes on to an error service.
//!
//! Envoy takes the request as a new one, as a `GET` of `/` at [`HOST`], and its headers as the first pod saw them. What
//! has to be known of the request as it came is kept in metadata.

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
use envoy_types::pb::envoy::r#type::matcher::v3::HttpResponseStatusCodeMatchInput;
use envoy_types::pb::xds::core::v3::TypedExtensionConfig as XdsExtension;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::predicate::single_predicate::Matcher as Matched;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::predicate::{
    MatchType, SinglePredicate,
};
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::{FieldMatcher, Predicate};
use envoy_types::pb::xds::r#type::matcher::v3::matcher::on_match::OnMatch as Then;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::{MatcherList, MatcherType, OnMatch};
use envoy_types::pb::xds::r#type::matcher::v3::regex_matcher::{EngineType, GoogleRe2};
use envoy_types::pb::xds::r#type::matcher::v3::string_matcher::MatchPattern;
use envoy_types::pb::xds::r#type::matcher::v3::{Matcher, RegexMatcher, StringMatcher};
use prost::{Message, Name};
use sluice_ir::{BackendId, ErrorPages, LocationId, Place};

use crate::render::header::{literal, set};
use crate::render::wire::{any, extension, number};
use crate::settings::{ASKED_HOST_HEADER, ERROR_HEADER, ERROR_HOST, LOCATION_KEY, OTHER_HOSTS, SCOPE_HEADER};

/// Of the request as it came.
const URI: &str = "uri";
const ASKED: &str = "asked";

pub(super) fn filters(location: &LocationId, pages: &ErrorPages) -> Vec<TypedExtensionConfig> {
    match &pages.backend {
        Some(service) => {
            let policy = policy(service, &pages.place);
            vec![extension("asked", kept(location)), extension("errors", replaced(&pages.statuses, policy))]
        }
        None => {
            let not_found = LocalResponsePolicy { status_code: number(404), ..Default::default() };
            vec![extension("errors", replaced(&pages.statuses, not_found))]
        }
    }
}

fn kept(location: &LocationId) -> HeaderToMetadata {
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
    let always = rule(":method", LOCATION_KEY, location.as_str());
    let request_rules = vec![rule(":path", URI, ""), rule(":authority", ASKED, ""), always];
    HeaderToMetadata { request_rules, ..HeaderToMetadata::default() }
}

fn replaced<M: Message + Name>(statuses: &BTreeSet<u16>, policy: M) -> CustomResponse {
    let statuses: Vec<_> = statuses.iter().map(u16::to_string).collect();
    let pattern = StringMatcher {
        match_pattern: Some(MatchPattern::SafeRegex(RegexMatcher {
            regex: statuses.join("|"),
            engine_type: Some(EngineType::GoogleRe2(GoogleRe2 {})),
        })),
        ..StringMatcher::default()
    };
    let status = xds_extension("status", HttpResponseStatusCodeMatchInput {});
    let predicate = SinglePredicate { input: Some(status), matcher: Some(Matched::ValueMatch(pattern)) };
    let then =
        OnMatch { on_match: Some(Then::Action(xds_extension("replaced", policy))), ..OnMatch::default() };
    let only = FieldMatcher {
        predicate: Some(Predicate { match_type: Some(MatchType::SinglePredicate(predicate)) }),
        on_match: Some(then),
    };
    let list = MatcherType::MatcherList(MatcherList { matchers: vec![only] });
    CustomResponse {
        custom_response_matcher: Some(Matcher { matcher_type: Some(list), ..Matcher::default() }),
    }
}

fn policy(service: &BackendId, place: &Place) -> RedirectPolicy {
    let root = RedirectAction {
        host_redirect: ERROR_HOST.to_owned(),
        strip_query: true,
        path_rewrite_specifier: Some(PathRewriteSpecifier::PathRedirect("/".to_owned())),
        ..RedirectAction::default()
    };
    RedirectPolicy {
        request_headers_to_add: told(service, place),
        redirect_action_specifier: Some(RedirectActionSpecifier::RedirectAction(root)),
        ..RedirectPolicy::default()
    }
}

/// As ingress-nginx tells its error services. `X-Request-ID` is there anyway.
fn told(service: &BackendId, place: &Place) -> Vec<HeaderValueOption> {
    let kept = |key: &str| format!("%DYNAMIC_METADATA(sluice:{key})%");
    vec![
        set(ERROR_HEADER, service.as_str()),
        set(SCOPE_HEADER, OTHER_HOSTS),
        set(ASKED_HOST_HEADER, &kept(ASKED)),
        set("x-code", "%RESPONSE_CODE%"),
        set("x-format", "%REQ(accept)%"),
        set("x-original-uri", &kept(URI)),
        set("x-namespace", &literal(&place.namespace)),
        set("x-ingress-name", &literal(&place.ingress)),
        set("x-service-name", &literal(&place.service)),
        set("x-service-port", &literal(&place.port)),
    ]
}

/// The same as [`extension`] under another name.
fn xds_extension<M: Message + Name>(name: &str, config: M) -> XdsExtension {
    XdsExtension { name: name.to_owned(), typed_config: any(config) }
}
