//! The filter as wasm, with its limits.

use envoy_types::pb::envoy::config::core::v3::async_data_source::Specifier as Source;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier as Code;
use envoy_types::pb::envoy::config::core::v3::{AsyncDataSource, DataSource};
use envoy_types::pb::envoy::extensions::filters::http::wasm::v3::Wasm;
use envoy_types::pb::envoy::extensions::wasm::v3::plugin_config::Vm;
use envoy_types::pb::envoy::extensions::wasm::v3::{
    CapabilityRestrictionConfig, FailurePolicy, PluginConfig, SanitizationConfig, VmConfig,
};
use envoy_types::pb::google::protobuf::{Any, BytesValue};
use prost::{Message, Name};

use crate::render::proto::any;
use crate::render::{FILTER, MIRROR_FILTER};

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

/// Callbacks and host functions of the VM of [mirrors](super::MIRRORS). It sees bodies, which would cost each request a callback for each part.
const OF_MIRRORS: &[&str] = &[
    // Called by Envoy.
    "proxy_on_configure",
    "proxy_on_request_body",
    "proxy_on_request_headers",
    "proxy_on_vm_start",
    // Called by the filter.
    "proxy_get_buffer_bytes",
    "proxy_get_header_map_value",
    "proxy_get_property",
    "proxy_log",
    "proxy_remove_header_map_value",
    "proxy_replace_header_map_value",
    "proxy_set_buffer_bytes",
    // Called by Rust's standard library.
    "environ_get",
    "environ_sizes_get",
    "fd_write",
    "proc_exit",
    "random_get",
];

/// The plugin of this name. All of one configuration are in one VM, and those of mirrors in another; the filter asks for the plugin's name,
/// and knows by it.
pub(super) fn filter(name: &str, code: Code, bootstrap_config: &[u8]) -> Any {
    let (vm_id, capabilities) = if super::MIRRORS.contains(&name) {
        (MIRROR_FILTER, OF_MIRRORS)
    } else {
        (FILTER, CAPABILITIES)
    };
    let plugin = PluginConfig {
        name: name.to_owned(),
        root_id: FILTER.to_owned(),
        // Bytes arrive in the filter as they are.
        configuration: any(BytesValue {
            value: bootstrap_config.to_vec(),
        }),
        // A trap takes the VM down; the next request gets a new one.
        failure_policy: FailurePolicy::FailReload.into(),
        vm: Some(Vm::VmConfig(vm(vm_id, code))),
        ..PluginConfig::default()
    };
    let mut value = wasm(plugin).encode_to_vec();
    // Capabilities are a protobuf map, a `HashMap` here, whose order differs from one encoding to the next. Messages
    // that are encoded one after the other are merged by whoever decodes them, so each goes on its own, in our order.
    for capability in capabilities {
        value.extend(wasm(allowing(capability)).encode_to_vec());
    }
    Any {
        type_url: Wasm::type_url(),
        value,
    }
}

fn wasm(plugin: PluginConfig) -> Wasm {
    Wasm {
        config: Some(plugin),
    }
}

fn vm(id: &str, code: Code) -> VmConfig {
    let code = Source::Local(DataSource {
        specifier: Some(code),
        ..DataSource::default()
    });
    VmConfig {
        vm_id: id.to_owned(),
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
    fn the_same_input_gives_the_same_bytes_with_every_capability() {
        let render = || filter(FILTER, Code::Filename("/filter.wasm".to_owned()), b"{}");
        let first = render();
        for _ in 0..10 {
            assert_eq!(render(), first);
        }
        let decoded = Wasm::decode(first.value.as_slice()).unwrap();
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
