//! TLS of a client's connection, where `x-forwarded-proto` says what a proxy in front speaks with its client.
//!
//! The listener for https marks its connections, each once, and routes look for the mark: no request pays for it.

use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::core::v3::substitution_format_string::Format;
use envoy_types::pb::envoy::config::core::v3::{DataSource, SubstitutionFormatString};
use envoy_types::pb::envoy::config::listener::v3::Filter;
use envoy_types::pb::envoy::config::listener::v3::filter::ConfigType;
use envoy_types::pb::envoy::config::route::v3::Route;
use envoy_types::pb::envoy::extensions::filters::common::set_filter_state::v3::FilterStateValue;
use envoy_types::pb::envoy::extensions::filters::common::set_filter_state::v3::filter_state_value::{
    Key, Value,
};
use envoy_types::pb::envoy::extensions::filters::network::set_filter_state::v3::Config;
use envoy_types::pb::envoy::r#type::matcher::v3::filter_state_matcher::Matcher;
use envoy_types::pb::envoy::r#type::matcher::v3::string_matcher::MatchPattern;
use envoy_types::pb::envoy::r#type::matcher::v3::{FilterStateMatcher, StringMatcher};

use super::proto::any;

const KEY: &str = "sluice.tls";
const MARK: &str = "on";

/// Marks the connections of a listener, in front of its connection manager.
pub(super) fn mark() -> Filter {
    let text = DataSource {
        specifier: Some(Specifier::InlineString(MARK.to_owned())),
        ..DataSource::default()
    };
    let format = SubstitutionFormatString {
        format: Some(Format::TextFormatSource(text)),
        ..SubstitutionFormatString::default()
    };
    let value = FilterStateValue {
        key: Some(Key::ObjectKey(KEY.to_owned())),
        factory_key: "envoy.string".to_owned(),
        value: Some(Value::FormatString(format)),
        ..FilterStateValue::default()
    };
    let config = Config {
        on_new_connection: vec![value],
        ..Config::default()
    };
    Filter {
        name: "envoy.filters.network.set_filter_state".to_owned(),
        config_type: any(config).map(ConfigType::TypedConfig),
    }
}

/// Only for requests of connections with the mark.
pub(super) fn only_marked(mut route: Route) -> Route {
    let pattern = StringMatcher {
        match_pattern: Some(MatchPattern::Exact(MARK.to_owned())),
        ..StringMatcher::default()
    };
    let marked = FilterStateMatcher {
        key: KEY.to_owned(),
        matcher: Some(Matcher::StringMatch(pattern)),
    };
    if let Some(path) = &mut route.r#match {
        path.filter_state.push(marked);
    }
    route
}
