//! Connection managers as resources of their own: ECDS.
//!
//! A listener for TLS has a chain for each certificate. When one is new, Envoy hashes all of them, which takes 4.5 ms for each that holds a
//! connection manager and 0.2 ms for each that names one (2026-11-30). The name is that of the content: when a manager changes, the chains do,
//! and Envoy drains their connections. So no connection keeps settings of before.

use std::collections::BTreeMap;

use envoy_types::pb::envoy::config::core::v3::{ExtensionConfigSource, TypedExtensionConfig};
use envoy_types::pb::envoy::config::listener::v3::Filter;
use envoy_types::pb::envoy::config::listener::v3::filter::ConfigType;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::HttpConnectionManager;
use prost::{Message, Name};

use super::digest::digest;
use super::proto::{ads_awaited, any};

/// Managers by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedManagers(BTreeMap<String, TypedExtensionConfig>);

impl SharedManagers {
    /// Adds a manager, and returns the filter that names it.
    pub(super) fn filter(&mut self, manager: &HttpConnectionManager) -> Filter {
        let name = format!("manager/{}", digest(&manager.encode_to_vec()));
        let source = ExtensionConfigSource {
            config_source: Some(ads_awaited()),
            type_urls: vec![HttpConnectionManager::type_url()],
            ..ExtensionConfigSource::default()
        };
        self.0
            .entry(name.clone())
            .or_insert_with(|| TypedExtensionConfig {
                name: name.clone(),
                typed_config: any(manager.clone()),
            });
        Filter {
            name,
            config_type: Some(ConfigType::ConfigDiscovery(source)),
        }
    }

    /// Each with its name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &TypedExtensionConfig)> {
        self.0
            .iter()
            .map(|(name, manager)| (name.as_str(), manager))
    }
}
