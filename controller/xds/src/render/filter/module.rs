//! The filter as a dynamic module of Envoy.

use envoy_types::pb::envoy::extensions::dynamic_modules::v3::DynamicModuleConfig;
use envoy_types::pb::envoy::extensions::filters::http::dynamic_modules::v3::DynamicModuleFilter;
use envoy_types::pb::google::protobuf::{Any, BytesValue};
use prost::Name;

use crate::MODULE_NAME;
use crate::render::proto::any;

/// Prefix of the filter's metrics: as in wasm.
const METRICS: &str = "wasmcustom";

/// The filter of this name. Each Envoy has the module in its own search path.
pub(super) fn filter(name: &str, bootstrap_config: &[u8]) -> Option<Any> {
    let module = DynamicModuleConfig {
        name: MODULE_NAME.to_owned(),
        // It keeps its tables across configurations.
        do_not_close: true,
        metrics_namespace: METRICS.to_owned(),
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
