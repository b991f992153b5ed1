//! The target of a request, as the client sent it, for what is made when the router has rewritten it.

use envoy_types::pb::envoy::config::core::v3::substitution_format_string::Format;
use envoy_types::pb::envoy::config::core::v3::{
    DataSource, SubstitutionFormatString, TypedExtensionConfig, data_source::Specifier,
};
use envoy_types::pb::envoy::extensions::filters::common::set_filter_state::v3::FilterStateValue;
use envoy_types::pb::envoy::extensions::filters::common::set_filter_state::v3::filter_state_value::{
    Key, Value,
};
use envoy_types::pb::envoy::extensions::filters::http::set_filter_state::v3::Config;
use sluice_ir::{Filter, HeaderModification, HttpRoute, Variable};

use crate::render::encoded::SENT_TARGET;
use crate::render::proto::extension;

pub(in crate::render) const STATE: &str = "sluice.target";
/// Path and query, in a route whose policy needs them.
pub(in crate::render) const KEPT: &str = "%FILTER_STATE(sluice.target:PLAIN)%";

/// None where nobody asks for it.
pub(super) fn filter(route: &HttpRoute) -> Option<TypedExtensionConfig> {
    let mut mirrors = route.policy.mirrors.iter();
    let is_asked = mirrors.any(|mirror| mirror.path.is_some());
    (is_asked || is_told(route)).then(keep)
}

/// Headers of responses tell it, and the route rewrites it.
fn is_told(route: &HttpRoute) -> bool {
    let filters = route.filters.iter().filter_map(Filter::response_headers);
    let variants = route.header_variants.iter().map(|it| &it.headers);
    let reads = |headers: &HeaderModification| headers.reads(|it| *it == Variable::RequestUri);
    route.rewrite.is_some() && filters.chain(variants).any(reads)
}

fn keep() -> TypedExtensionConfig {
    let text = DataSource {
        specifier: Some(Specifier::InlineString(SENT_TARGET.to_owned())),
        ..DataSource::default()
    };
    let target = FilterStateValue {
        key: Some(Key::ObjectKey(STATE.to_owned())),
        factory_key: "envoy.string".to_owned(),
        value: Some(Value::FormatString(SubstitutionFormatString {
            format: Some(Format::TextFormatSource(text)),
            ..SubstitutionFormatString::default()
        })),
        ..FilterStateValue::default()
    };
    let keep = Config {
        on_request_headers: vec![target],
        ..Config::default()
    };
    extension("target", keep)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_under_the_name_that_it_is_kept_by() {
        assert_eq!(KEPT, format!("%FILTER_STATE({STATE}:PLAIN)%"));
    }
}
