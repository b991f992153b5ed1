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
use sluice_ir::Policy;

use crate::render::encoded::SENT_TARGET;
use crate::render::proto::extension;

const STATE: &str = "sluice.target";
/// Path and query, in a route whose policy needs them.
pub(in crate::render) const KEPT: &str = "%FILTER_STATE(sluice.target:PLAIN)%";

/// None where nobody asks for it.
pub(super) fn filter(policy: &Policy) -> Option<TypedExtensionConfig> {
    policy.mirrors.iter().find(|mirror| mirror.path.is_some())?;
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
    Some(extension("target", keep))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_under_the_name_that_it_is_kept_by() {
        assert_eq!(KEPT, format!("%FILTER_STATE({STATE}:PLAIN)%"));
    }
}
