//! The filter: each client gets it in the form that it takes.

use envoy_types::pb::envoy::config::core::v3::{Node, TypedExtensionConfig};
use envoy_types::pb::google::protobuf::value::Kind;
use envoy_types::pb::google::protobuf::{Struct, Value};
use prost::Message;
use sluice_ir::Config;
use sluice_xds::ResourceType::Extension;
use sluice_xds::{Change, FILTER_METADATA, FilterCode, Settings, publication};
use sluice_xds_server::Store;

use crate::client::{FakeClient, connect, subscription, versions};

/// The type of the filter that a client gets whose metadata say this.
async fn got(client: &mut FakeClient, form: Option<Kind>) -> (String, String) {
    let metadata = form.map(|form| Struct {
        fields: [(FILTER_METADATA.to_owned(), Value { kind: Some(form) })].into(),
    });
    let mut request = subscription(Extension, &["sluice"]);
    request.node = Some(Node {
        metadata,
        ..request.node.unwrap_or_default()
    });
    client.send(request).await;
    let response = client.receive().await;
    client.ack(&response).await;
    let value = &response.resources[0].resource.as_ref().unwrap().value;
    let filter = TypedExtensionConfig::decode(value.as_slice()).unwrap();
    assert_eq!(filter.name, "sluice");
    let type_url = filter.typed_config.unwrap().type_url;
    let kind = type_url.rsplit('.').next().unwrap_or_default();
    (kind.to_owned(), versions(&response)["sluice"].clone())
}

#[tokio::test]
async fn the_filter_comes_in_the_form_that_a_client_takes() {
    let store = Store::new();
    let settings = Settings::new(FilterCode::File("/filter.wasm".into()), b"{}".to_vec());
    store.apply(publication::routing(&Config::default(), &settings));
    let channel = connect(&store).await;
    let text = |text: &str| Some(Kind::StringValue(text.to_owned()));
    let mut seen = Vec::new();
    for (form, expected) in [
        (None, "Wasm"),
        (text("module"), "DynamicModuleFilter"),
        (text("wasm"), "Wasm"),
        (text("surprise"), "Wasm"),
        (Some(Kind::BoolValue(true)), "Wasm"),
    ] {
        let mut client = FakeClient::open(&channel).await;
        let (kind, version) = got(&mut client, form.clone()).await;
        assert_eq!(kind, expected, "{form:?}");
        seen.push(version);
    }
    seen.dedup();
    assert_eq!(seen.len(), 1, "one version of both forms: {seen:?}");
}

#[tokio::test]
async fn another_form_is_a_new_version_for_all() {
    let store = Store::new();
    let settings = Settings::new(FilterCode::File("/filter.wasm".into()), b"{}".to_vec());
    let routing = publication::routing(&Config::default(), &settings);
    store.apply(routing.clone());
    let mut client = FakeClient::open(&connect(&store).await).await;
    let (_, first) = got(&mut client, Some(Kind::StringValue("module".to_owned()))).await;
    store.apply(routing.clone());
    client.silent().await;
    let mut other = routing;
    for change in other.changes.values_mut() {
        if let Change::SetFilter { module, .. } = change {
            *module = TypedExtensionConfig::default().encode_to_vec();
        }
    }
    store.apply(other);
    let response = client.receive().await;
    assert_ne!(versions(&response)["sluice"], first);
}
