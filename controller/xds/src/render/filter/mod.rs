//! The filter: ECDS.

mod module;
mod wasm;

use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::extensions::filters::http::wasm::v3::Wasm;
use prost::Name;

use super::{FILTER, LOOKUP_FILTER};
use crate::{FilterCode, Settings};

pub use wasm::CAPABILITIES;

/// The filter's code and its bootstrap configuration.
#[must_use]
pub fn filter(settings: &Settings) -> TypedExtensionConfig {
    named(FILTER, settings)
}

/// The same for requests whose host has no scope, whose path is encoded, or whose client has a limit.
#[must_use]
pub fn lookup_filter(settings: &Settings) -> TypedExtensionConfig {
    named(LOOKUP_FILTER, settings)
}

/// Types of the filter. A listener accepts all of them, so that it stays when the filter comes as another one.
pub(super) fn type_urls() -> Vec<String> {
    vec![Wasm::type_url(), module::type_url()]
}

fn named(name: &str, settings: &Settings) -> TypedExtensionConfig {
    let bootstrap = &settings.bootstrap_config;
    let config = match &settings.filter {
        FilterCode::WasmFile(path) => {
            let path = path.to_string_lossy().into_owned();
            Some(wasm::filter(name, Specifier::Filename(path), bootstrap))
        }
        FilterCode::Wasm(code) => {
            let code = Specifier::InlineBytes(code.clone());
            Some(wasm::filter(name, code, bootstrap))
        }
        FilterCode::Module(path) => module::filter(name, path, bootstrap),
    };
    TypedExtensionConfig {
        name: name.to_owned(),
        typed_config: config,
    }
}
