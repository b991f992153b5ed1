//! Responses before everything else of a route: an Envoy route for each, which only some requests match.

use envoy_types::pb::envoy::config::core::v3::DataSource;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::{DirectResponseAction, HeaderMatcher, Route};
use envoy_types::pb::google::protobuf::Struct;
use sluice_ir::{
    Comparison, Condition, DirectResponse, Expression, ExpressionPart, HttpRoute, RequestTest,
    ResponseContent, ServerName, Variable,
};
use sluice_pattern::{Subject, escape};

use super::matching::{PROTO, decoded, is, matches, no, only_for};
use super::redirect::to_url;
use crate::render::format::format;
use crate::render::header::{self, set};
use crate::render::local_reply::TEXT_METADATA;

/// `route` takes what the HTTP route takes, and does nothing yet.
pub(super) fn routes(route: &Route, http_route: &HttpRoute, server: &ServerName) -> Vec<Route> {
    let mut route = route.clone();
    header::modify_response(&mut route, http_route.filters.iter());
    let direct = http_route.direct_responses.iter();
    direct
        .map(|direct| answering(&route, direct, server))
        .collect()
}

fn answering(route: &Route, direct: &DirectResponse, server: &ServerName) -> Route {
    let answer = match &direct.content {
        ResponseContent::Location(url) => {
            let url = format(&with_name(url, server));
            to_url(route, direct.status, &url)
        }
        ResponseContent::Page => with_body(route, direct.status, None),
        ResponseContent::Text { media_type, text } => {
            let mut answer = with_body(route, direct.status, Some(text));
            let content_type = set("content-type", &header::literal(media_type));
            answer.response_headers_to_add.push(content_type);
            let metadata = answer.metadata.get_or_insert_default();
            let text = (TEXT_METADATA.to_owned(), Struct::default());
            metadata.filter_metadata.extend([text]);
            answer
        }
    };
    direct.conditions.iter().map(matcher).fold(answer, only_for)
}

/// Without a port, which Envoy's own variable has.
fn with_name(url: &Expression, server: &ServerName) -> Expression {
    let ServerName::Exact(name) = server else {
        return url.clone();
    };
    let parts = url.0.iter().map(|part| match part {
        ExpressionPart::Variable(Variable::Hostname) => {
            ExpressionPart::Text(name.as_str().to_owned())
        }
        ExpressionPart::Text(_) | ExpressionPart::Variable(_) => part.clone(),
    });
    Expression(parts.collect())
}

fn with_body(route: &Route, status: u16, text: Option<&String>) -> Route {
    let body = text.map(|text| DataSource {
        specifier: Some(Specifier::InlineString(text.clone())),
        ..DataSource::default()
    });
    let response = DirectResponseAction {
        status: status.into(),
        body,
        ..DirectResponseAction::default()
    };
    Route {
        action: Some(Action::DirectResponse(response)),
        ..route.clone()
    }
}

fn matcher(condition: &Condition) -> HeaderMatcher {
    let matcher = match &condition.test {
        RequestTest::Host(host) => {
            let host = escape(host.as_str());
            matches(":authority", &format!(r"(?i){host}\.?(?::\d*)?"))
        }
        RequestTest::Path(path) => {
            let path = escape(&decoded(path));
            matches(":path", &format!(r"{path}(?:\?(?s:.*))?"))
        }
        RequestTest::Cookie { name, value } => cookie(name, value),
        RequestTest::Scheme(comparison) => compared(PROTO, comparison),
        RequestTest::Method(comparison) => compared(":method", comparison),
        RequestTest::RequestUri(comparison) => compared(":path", comparison),
        RequestTest::Header { name, value } => compared(&name.as_str().to_ascii_lowercase(), value),
    };
    if condition.negated {
        negated(matcher)
    } else {
        matcher
    }
}

/// Takes what a matcher does not take.
fn negated(matcher: HeaderMatcher) -> HeaderMatcher {
    HeaderMatcher {
        invert_match: !matcher.invert_match,
        ..matcher
    }
}

/// To nginx a header that is missing is empty.
fn compared(header: &str, comparison: &Comparison) -> HeaderMatcher {
    let found = |pattern, subject| matches(header, &sluice_pattern::re2(pattern, subject, false));
    let matcher = match comparison {
        Comparison::Equals(text) => is(header, text),
        Comparison::Matches(pattern) => found(pattern, Subject::Text),
        Comparison::MatchesIgnoreCase(pattern) => found(pattern, Subject::TextInAnyCase),
    };
    HeaderMatcher {
        treat_missing_header_as_empty: true,
        ..matcher
    }
}

/// nginx looks for the name in any case, and takes the first cookie that has it.
fn cookie(name: &str, value: &str) -> HeaderMatcher {
    let name = escape(name);
    if value.is_empty() {
        let any = matches(
            "cookie",
            &format!("(?:(?s:.*)[;, ])?(?i:{name}) *=[^;](?s:.*)"),
        );
        return no(any);
    }
    let value = escape(value);
    let has = matches(
        "cookie",
        &format!("(?:(?s:.*)[;, ])?(?i:{name}) *={value}(?:;(?s:.*))?"),
    );
    HeaderMatcher {
        treat_missing_header_as_empty: true,
        ..has
    }
}
