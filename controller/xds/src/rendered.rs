//! Everything that is served for a configuration, for golden files and for `sluice render`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sluice_ir::Config;

use crate::{Change, Name, ResourceType, Settings, message_json, publication};

/// All resources of one configuration, as they are sent to an Envoy with the filter as wasm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedResources(BTreeMap<(ResourceType, Name), Vec<u8>>);

impl RenderedResources {
    /// Renders all of them: what is published when there was nothing before.
    #[must_use]
    pub fn render(config: &Config, settings: &Settings) -> Self {
        let mut update = publication::additions(&Config::default(), config);
        update.merge(publication::routing(config, settings));
        let set = update
            .changes
            .into_iter()
            .filter_map(|(key, change)| match change {
                Change::Set(bytes) | Change::SetFilter { wasm: bytes, .. } => Some((key, bytes)),
                Change::Remove | Change::Keep => None,
            });
        RenderedResources(set.collect())
    }

    /// Each resource with its type, its name and its encoded message.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceType, &str, &[u8])> {
        self.0
            .iter()
            .map(|((kind, name), bytes)| (*kind, &**name, bytes.as_slice()))
    }

    /// The same as protobuf's JSON, by type and name. Decoded from the bytes that are sent.
    ///
    /// # Errors
    /// A message of a type that `descriptors.bin` lacks.
    pub fn to_json(&self) -> Result<Value, serde_json::Error> {
        let mut types: BTreeMap<ResourceType, Map<String, Value>> = BTreeMap::new();
        for (kind, name, bytes) in self.iter() {
            let resources = types.entry(kind).or_default();
            let message = message_json::to_json(&kind.type_url(), bytes)?;
            resources.insert(name.to_owned(), message);
        }
        Ok(types
            .into_iter()
            .map(|(kind, resources)| (kind.to_string(), Value::Object(resources)))
            .collect())
    }
}
