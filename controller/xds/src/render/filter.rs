//! The filter: ECDS.

use envoy_types::pb::envoy::config::core::v3::async_data_source::Specifier as Code;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::core::v3::{AsyncDataSource, DataSource, TypedExtensionConfig};
use envoy_types::pb::envoy::extensions::filters::http::wasm::v3::Wasm;
use envoy_types::pb::envoy::extensions::wasm::v3::plugin_config::Vm;
use envoy_types::pb::envoy::extensions::wasm::v3::{
    CapabilityRestrictionConfig, FailurePolicy, PluginConfig, SanitizationConfig, VmConfig,
};
use envoy_types::pb::google::protobuf::{Any, BytesValue};
use prost::{Message, Name};

use super::proto::any;
use super::{FILTER, LOOKUP_FILTER};
use crate::{FilterCode, Settings};

/// Callbacks and host functions of the VM. To Envoy the rest does not exist: a callback that is missing
/// here is never called, and a host function answers with an error. Each callback costs close to a microsecond for each
/// request, so the beginning and the end of contexts, where the filter does nothing, are not here; Envoy logs every request.
pub const CAPABILITIES: &[&str] = &[
    // Called by Envoy.
    "proxy_on_configure",
    "proxy_on_http_call_response",
    "proxy_on_log",
    "proxy_on_request_headers",
    "proxy_on_response_headers",
    "proxy_on_tick",
    "proxy_on_vm_start",
    // Called by the filter.
    "proxy_add_header_map_value",
    "proxy_continue_stream",
    "proxy_define_metric",
    "proxy_get_buffer_bytes",
    "proxy_get_current_time_nanoseconds",
    "proxy_get_header_map_pairs",
    "proxy_get_header_map_value",
    "proxy_get_property",
    "proxy_get_shared_data",
    "proxy_http_call",
    "proxy_increment_metric",
    "proxy_log",
    "proxy_remove_header_map_value",
    "proxy_replace_header_map_value",
    "proxy_send_local_response",
    "proxy_set_effective_context",
    "proxy_set_property",
    "proxy_set_shared_data",
    "proxy_set_tick_period_milliseconds",
    // Called by Rust's standard library.
    "environ_get",
    "environ_sizes_get",
    "fd_write",
    "proc_exit",
    "random_get",
];

/// The filter's code, its limits and its bootstrap configuration.
#[must_use]
pub fn filter(settings: &Settings) -> TypedExtensionConfig {
    named(FILTER, settings)
}

/// The same in the same VM, for requests whose host has no scope, or whose path is encoded. The filter asks for the plugin's
/// name, and knows by it.
#[must_use]
pub fn lookup_filter(settings: &Settings) -> TypedExtensionConfig {
    named(LOOKUP_FILTER, settings)
}

fn named(name: &str, settings: &Settings) -> TypedExtensionConfig {
    let plugin = PluginConfig {
        name: name.to_owned(),
        root_id: FILTER.to_owned(),
        // Bytes arrive in the filter as they are.
        configuration: any(BytesValue {
            value: settings.bootstrap_config.clone(),
        }),
        // A trap takes the VM down; the next request gets a new one.
        failure_policy: FailurePolicy::FailReload.into(),
        vm: Some(Vm::VmConfig(vm(&settings.filter))),
        ..PluginConfig::default()
    };
    let mut value = wasm(plugin).encode_to_vec();
    // Capabilities are a protobuf map, a `HashMap` here, whose order differs from one encoding to the next. Messages
    // that are encoded one after the other are merged by whoever decodes them, so each goes on its own, in our order.
    for capability in CAPABILITIES {
        value.extend(wasm(allowing(capability)).encode_to_vec());
    }
    TypedExtensionConfig {
        name: name.to_owned(),
        typed_config: Some(Any {
            type_url: Wasm::type_url(),
            value,
        }),
    }
}

fn wasm(plugin: PluginConfig) -> Wasm {
    Wasm {
        config: Some(plugin),
    }
}

fn vm(code: &FilterCode) -> VmConfig {
    let source = match code {
        FilterCode::File(path) => Specifier::Filename(path.to_string_lossy().into_owned()),
        FilterCode::Inline(wasm) => Specifier::InlineBytes(wasm.clone()),
    };
    let code = Code::Local(DataSource {
        specifier: Some(source),
        ..DataSource::default()
    });
    VmConfig {
        vm_id: FILTER.to_owned(),
        runtime: "envoy.wasm.runtime.v8".to_owned(),
        code: Some(AsyncDataSource {
            specifier: Some(code),
        }),
        ..VmConfig::default()
    }
}

fn allowing(capability: &str) -> PluginConfig {
    let allowed_capabilities = [(capability.to_owned(), SanitizationConfig::default())].into();
    let capabilities = CapabilityRestrictionConfig {
        allowed_capabilities,
    };
    let vm = VmConfig {
        capability_restriction_config: Some(capabilities),
        ..VmConfig::default()
    };
    PluginConfig {
        vm: Some(Vm::VmConfig(vm)),
        ..PluginConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_settings_give_the_same_bytes_with_every_capability() {
        let settings = Settings::new(FilterCode::File("/filter.wasm".into()), b"{}".to_vec());
        let first = filter(&settings);
        for _ in 0..10 {
            assert_eq!(filter(&settings), first);
        }
        let decoded = Wasm::decode(first.typed_config.unwrap().value.as_slice()).unwrap();
        let Some(Vm::VmConfig(vm)) = decoded.config.unwrap().vm else {
            panic!("no VM")
        };
        assert_eq!(vm.vm_id, "sluice");
        let allowed = vm
            .capability_restriction_config
            .unwrap()
            .allowed_capabilities;
        assert_eq!(allowed.len(), CAPABILITIES.len());
    }
}
