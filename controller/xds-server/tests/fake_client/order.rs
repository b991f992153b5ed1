//! Make before break: a route never leads to a cluster that is not ready, a cluster never leaves before its routes.

use std::time::Duration;

use sluice_xds::ResourceType::{Cluster, Endpoints, Listener, Route};
use sluice_xds::Update;
use sluice_xds_server::Store;

use crate::client::{FakeClient, connect, remove, set};
use crate::store;

async fn client(store: &Store) -> FakeClient {
    let mut client = FakeClient::open(&connect(store).await).await;
    client.subscribe(Cluster, &[]).await;
    assert_eq!(client.accept().await, "cluster");
    client.subscribe(Listener, &[]).await;
    assert_eq!(client.accept().await, "listener");
    client.subscribe(Route, &["http"]).await;
    assert_eq!(client.accept().await, "route -http");
    client
}

fn everything(content: &str) -> Update {
    let mut update = set(Route, content, &["http"]);
    update.merge(set(Listener, content, &["http"]));
    update.merge(set(Endpoints, content, &["a"]));
    update.merge(set(Cluster, content, &["a"]));
    update
}

#[tokio::test]
async fn routes_follow_the_endpoints_of_a_new_cluster() {
    let store = store();
    let mut client = client(&store).await;
    store.apply(everything("1"));
    assert_eq!(client.accept().await, "cluster +a");
    client.silent().await;
    client.subscribe(Endpoints, &["a"]).await;
    assert_eq!(client.accept().await, "endpoints +a");
    assert_eq!(client.accept().await, "listener +http");
    assert_eq!(client.accept().await, "route +http");
}

#[tokio::test]
async fn a_changed_cluster_comes_with_its_endpoints() {
    let store = store();
    let mut client = client(&store).await;
    store.apply(everything("1"));
    client.subscribe(Endpoints, &["a"]).await;
    for _ in 0..4 {
        client.accept().await;
    }
    client.silent().await;
    store.apply(set(Cluster, "2", &["a"]));
    assert_eq!(client.accept().await, "cluster +a");
    assert_eq!(client.accept().await, "endpoints +a");
    client.silent().await;
}

#[tokio::test]
async fn a_client_that_never_asks_for_endpoints_gets_its_routes_all_the_same() {
    let store = store();
    let mut client = client(&store).await;
    let generation = store.apply(everything("1"));
    assert_eq!(client.accept().await, "cluster +a");
    assert_eq!(client.accept().await, "listener +http");
    assert_eq!(client.accept().await, "route +http");
    assert!(store.answered(generation, Duration::from_secs(5)).await);
}

#[tokio::test]
async fn what_is_gone_leaves_last() {
    let store = store();
    let mut client = client(&store).await;
    store.apply(everything("1"));
    client.subscribe(Endpoints, &["a"]).await;
    for _ in 0..4 {
        client.accept().await;
    }
    let mut update = set(Route, "2", &["http"]);
    update.merge(remove(Cluster, &["a"]));
    update.merge(remove(Endpoints, &["a"]));
    store.apply(update);
    let routes = client.receive().await;
    client.silent().await;
    client.ack(&routes).await;
    let clusters = client.receive().await;
    assert_eq!(clusters.removed_resources, ["a"]);
    client.unsubscribe(Endpoints, &["a"]).await;
    client.ack(&clusters).await;
    client.silent().await;
}
