//! The filter as a dynamic module of Envoy.

use std::path::Path;

use envoy_types::pb::envoy::config::core::v3::async_data_source::Specifier as Source;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::core::v3::{AsyncDataSource, DataSource};
use envoy_types::pb::envoy::extensions::dynamic_modules::v3::DynamicModuleConfig;
use envoy_types::pb::envoy::extensions::filters::http::dynamic_modules::v3::DynamicModuleFilter;
use envoy_types::pb::google::protobuf::{Any, BytesValue};
use prost::Name;

use crate::render::proto::any;

/// Prefix of the filter's metrics: as in wasm.
const METRICS: &str = "wasmcustom";

/// The filter of this name, from a file on Envoy's machine.
pub(super) fn filter(name: &str, path: &Path, bootstrap_config: &[u8]) -> Option<Any> {
    let file = DataSource {
        specifier: Some(Specifier::Filename(path.to_string_lossy().into_owned())),
        ..DataSource::default()
    };
    let module = DynamicModuleConfig {
        // It keeps its tables across configurations.
        do_not_close: true,
        metrics_namespace: METRICS.to_owned(),
        module: Some(AsyncDataSource {
            specifier: Some(Source::Local(file)),
        }),
        ..DynamicModuleConfig::default()
    };
    any(DynamicModuleFilter {
        dynamic_module_config: Some(module),
        filter_name: name.to_owned(),
        // Bytes arrive in the filter as they are.
        filter_config: any(BytesValue {
            value: bootstrap_config.to_vec(),
        }),
        ..DynamicModuleFilter::default()
    })
}

/// Its type, for those that name what they accept.
pub(super) fn type_url() -> String {
    DynamicModuleFilter::type_url()
}
