//! The filter: ECDS.

mod module;
mod wasm;

use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::extensions::filters::http::wasm::v3::Wasm;
use prost::Name;

use crate::{FilterCode, FilterForm, Settings};

use super::{BODILESS_MIRROR_FILTER, FILTER, LOOKUP_FILTER, MIRROR_FILTER};

pub use wasm::CAPABILITIES;

/// The filters in the clusters of mirrors.
const MIRRORS: [&str; 2] = [MIRROR_FILTER, BODILESS_MIRROR_FILTER];
/// All forms of the filter, by their names: one configuration each.
pub(crate) const FILTERS: [&str; 4] =
    [FILTER, LOOKUP_FILTER, MIRROR_FILTER, BODILESS_MIRROR_FILTER];

/// The filter of one of [these names](FILTERS): the code and its bootstrap configuration. [`LOOKUP_FILTER`] is for requests whose host has no
/// scope, whose path is encoded, or whose client has a limit; [`MIRRORS`] are for copies.
#[must_use]
pub fn filter(name: &str, form: FilterForm, settings: &Settings) -> TypedExtensionConfig {
    let bootstrap = &settings.bootstrap_config;
    let config = match form {
        FilterForm::Module => module::filter(name, bootstrap),
        FilterForm::Wasm => Some(wasm::filter(name, code(&settings.filter), bootstrap)),
    };
    TypedExtensionConfig {
        name: name.to_owned(),
        typed_config: config,
    }
}

/// Types of the filter. A listener accepts all of them: it is the same for every Envoy.
pub(super) fn type_urls() -> Vec<String> {
    vec![Wasm::type_url(), module::type_url()]
}

fn code(code: &FilterCode) -> Specifier {
    match code {
        FilterCode::File(path) => Specifier::Filename(path.to_string_lossy().into_owned()),
        FilterCode::Inline(wasm) => Specifier::InlineBytes(wasm.clone()),
    }
}
