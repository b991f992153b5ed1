//! A client that speaks delta xDS as it is told to, over a real connection.

use std::collections::HashMap;
use std::time::Duration;

use envoy_types::pb::envoy::config::core::v3::Node;
use envoy_types::pb::envoy::service::discovery::v3::aggregated_discovery_service_client::AggregatedDiscoveryServiceClient;
use envoy_types::pb::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse,
};
use envoy_types::pb::google::rpc::Status as Reason;
use sluice_xds::{ResourceType, Update};
use sluice_xds_server::Store;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};

/// Long enough for the server to have said what it has to say.
const SILENCE: Duration = Duration::from_millis(60);

pub(crate) async fn connect(store: &Store) -> Channel {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let routes = sluice_xds_server::discovery_service(store, |session| drop(tokio::spawn(session)));
    let server = tonic::transport::Server::builder().add_routes(routes);
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    Endpoint::from_shared(format!("http://{address}"))
        .unwrap()
        .connect()
        .await
        .unwrap()
}

pub(crate) struct FakeClient {
    requests: mpsc::Sender<DeltaDiscoveryRequest>,
    responses: Streaming<DeltaDiscoveryResponse>,
}

impl FakeClient {
    pub(crate) async fn open(channel: &Channel) -> FakeClient {
        let (requests, stream) = mpsc::channel(16);
        let mut client = AggregatedDiscoveryServiceClient::new(channel.clone());
        let responses = client
            .delta_aggregated_resources(ReceiverStream::new(stream))
            .await
            .unwrap()
            .into_inner();
        FakeClient {
            requests,
            responses,
        }
    }

    pub(crate) async fn send(&self, request: DeltaDiscoveryRequest) {
        self.requests.send(request).await.unwrap();
    }

    pub(crate) async fn subscribe(&self, kind: ResourceType, names: &[&str]) {
        self.send(subscription(kind, names)).await;
    }

    pub(crate) async fn unsubscribe(&self, kind: ResourceType, names: &[&str]) {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        self.send(DeltaDiscoveryRequest {
            resource_names_unsubscribe: names,
            ..subscription(kind, &[])
        })
        .await;
    }

    /// Comes back with what it had.
    pub(crate) async fn resume(
        &self,
        kind: ResourceType,
        names: &[&str],
        had: &HashMap<String, String>,
    ) {
        let had = had.clone();
        self.send(DeltaDiscoveryRequest {
            initial_resource_versions: had,
            ..subscription(kind, names)
        })
        .await;
    }

    pub(crate) async fn receive(&mut self) -> DeltaDiscoveryResponse {
        let response = tokio::time::timeout(Duration::from_secs(5), self.responses.message()).await;
        response
            .expect("a response")
            .unwrap()
            .expect("an open stream")
    }

    /// Nothing comes.
    pub(crate) async fn silent(&mut self) {
        if let Ok(response) = tokio::time::timeout(SILENCE, self.responses.message()).await {
            panic!(
                "expected nothing, got {:?}",
                summary(&response.unwrap().unwrap())
            );
        }
    }

    pub(crate) async fn ack(&self, response: &DeltaDiscoveryResponse) {
        self.send(answer(response)).await;
    }

    pub(crate) async fn nack(&self, response: &DeltaDiscoveryResponse, reason: &str) {
        let reason = Reason {
            message: reason.to_owned(),
            ..Reason::default()
        };
        self.send(DeltaDiscoveryRequest {
            error_detail: Some(reason),
            ..answer(response)
        })
        .await;
    }

    /// Receives, accepts and summarises.
    pub(crate) async fn accept(&mut self) -> String {
        let response = self.receive().await;
        self.ack(&response).await;
        summary(&response)
    }
}

pub(crate) fn subscription(kind: ResourceType, names: &[&str]) -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest {
        node: Some(Node {
            id: "fake".to_owned(),
            ..Node::default()
        }),
        type_url: kind.type_url(),
        resource_names_subscribe: names.iter().map(|name| (*name).to_owned()).collect(),
        ..DeltaDiscoveryRequest::default()
    }
}

fn answer(response: &DeltaDiscoveryResponse) -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest {
        type_url: response.type_url.clone(),
        response_nonce: response.nonce.clone(),
        ..DeltaDiscoveryRequest::default()
    }
}

/// `cluster +a +b -c`
pub(crate) fn summary(response: &DeltaDiscoveryResponse) -> String {
    let kind = ResourceType::from_type_url(&response.type_url);
    let kind = kind.map_or_else(|| response.type_url.clone(), |kind| kind.to_string());
    let set = response
        .resources
        .iter()
        .map(|resource| format!(" +{}", resource.name));
    let removed = response
        .removed_resources
        .iter()
        .map(|name| format!(" -{name}"));
    kind + &set.chain(removed).collect::<String>()
}

pub(crate) fn versions(response: &DeltaDiscoveryResponse) -> HashMap<String, String> {
    response
        .resources
        .iter()
        .map(|resource| (resource.name.clone(), resource.version.clone()))
        .collect()
}

/// Sets resources of one type to a content.
pub(crate) fn set(kind: ResourceType, content: &str, names: &[&str]) -> Update {
    let mut update = Update::default();
    names
        .iter()
        .for_each(|name| update.set(kind, name, content.as_bytes().to_vec()));
    update
}

pub(crate) fn remove(kind: ResourceType, names: &[&str]) -> Update {
    let mut update = Update::default();
    names.iter().for_each(|name| update.remove(kind, name));
    update
}
