//! Subscriptions: a client gets what it asks for, once.

use std::collections::HashMap;
use std::time::Duration;

use envoy_types::pb::envoy::service::discovery::v3::aggregated_discovery_service_client::AggregatedDiscoveryServiceClient;
use envoy_types::pb::envoy::service::discovery::v3::{DeltaDiscoveryRequest, DiscoveryRequest};
use sluice_xds::ResourceType::{Cluster, Endpoints, Extension, Listener, Route, Scope};
use sluice_xds_server::Store;

use crate::client::{FakeClient, connect, remove, set, summary, versions};
use crate::store;

#[tokio::test]
async fn state_of_the_world_is_refused_with_advice() {
    let mut client = AggregatedDiscoveryServiceClient::new(connect(&store()).await);
    let error = client
        .stream_aggregated_resources(tokio_stream::iter([DiscoveryRequest::default()]))
        .await;
    let error = error.unwrap_err();
    assert_eq!(error.code(), tonic::Code::Unimplemented);
    assert!(error.message().contains("DELTA_GRPC"), "{error}");
}

#[tokio::test]
async fn naming_nothing_asks_for_all_clusters() {
    let store = store();
    store.apply(set(Cluster, "1", &["a", "b"]));
    let mut client = FakeClient::open(&connect(&store).await).await;
    client.subscribe(Cluster, &[]).await;
    assert_eq!(client.accept().await, "cluster +a +b");
    store.apply(set(Cluster, "1", &["c"]));
    assert_eq!(client.accept().await, "cluster +c");
    store.apply(set(Cluster, "1", &["a", "b", "c"]));
    client.silent().await;
    store.apply(remove(Cluster, &["b"]));
    assert_eq!(client.accept().await, "cluster -b");
}

#[tokio::test]
async fn a_first_wildcard_is_answered_even_with_nothing() {
    let mut client = FakeClient::open(&connect(&store()).await).await;
    client.subscribe(Listener, &["*"]).await;
    assert_eq!(client.accept().await, "listener");
    client.silent().await;
}

#[tokio::test]
async fn nothing_is_said_before_the_first_publication() {
    let store = Store::new();
    let mut client = FakeClient::open(&connect(&store).await).await;
    let had = HashMap::from([("a".to_owned(), "00000000000000aa".to_owned())]);
    client.resume(Cluster, &[], &had).await;
    store.apply(set(Cluster, "1", &["b"]));
    client.silent().await;
}

#[tokio::test]
async fn names_that_do_not_exist_are_answered_and_come_later() {
    let store = store();
    let mut client = FakeClient::open(&connect(&store).await).await;
    client.subscribe(Endpoints, &["a", "b"]).await;
    assert_eq!(client.accept().await, "endpoints -a -b");
    store.apply(set(Endpoints, "1", &["b", "c"]));
    assert_eq!(client.accept().await, "endpoints +b");
}

#[tokio::test]
async fn a_type_that_is_not_served_has_no_resources() {
    let mut client = FakeClient::open(&connect(&store()).await).await;
    let type_url = "type.googleapis.com/envoy.service.runtime.v3.Runtime".to_owned();
    let names = vec!["a".to_owned()];
    client
        .send(DeltaDiscoveryRequest {
            type_url,
            resource_names_subscribe: names,
            ..Default::default()
        })
        .await;
    assert_eq!(client.receive().await.removed_resources, ["a"]);
}

#[tokio::test]
async fn asking_again_is_answered_again() {
    let store = store();
    store.apply(set(Endpoints, "1", &["a", "b"]));
    let mut client = FakeClient::open(&connect(&store).await).await;
    client.subscribe(Endpoints, &["a"]).await;
    assert_eq!(client.accept().await, "endpoints +a");
    client.subscribe(Endpoints, &["a"]).await;
    assert_eq!(client.accept().await, "endpoints +a");
    client.silent().await;
}

#[tokio::test]
async fn asking_again_is_answered_again_also_before_the_first_answer_was_accepted() {
    let store = store();
    store.apply(set(Endpoints, "1", &["a", "b", "c"]));
    let mut client = FakeClient::open(&connect(&store).await).await;
    client.subscribe(Endpoints, &["a", "b"]).await;
    let first = client.receive().await;
    client.subscribe(Endpoints, &["b", "c"]).await;
    client.ack(&first).await;
    assert_eq!(client.accept().await, "endpoints +b +c");
    client.silent().await;
}

#[tokio::test]
async fn what_goes_before_it_was_sent_is_answered() {
    let store = store();
    store.apply(set(Endpoints, "1", &["a", "b"]));
    let mut client = FakeClient::open(&connect(&store).await).await;
    client.subscribe(Endpoints, &["a"]).await;
    let first = client.receive().await;
    client.subscribe(Endpoints, &["b"]).await;
    store.apply(remove(Endpoints, &["b"]));
    client.ack(&first).await;
    assert_eq!(client.accept().await, "endpoints -b");
    client.silent().await;
}

#[tokio::test]
async fn what_is_unsubscribed_comes_no_more() {
    let store = store();
    store.apply(set(Route, "1", &["a", "b"]));
    let mut client = FakeClient::open(&connect(&store).await).await;
    client.subscribe(Route, &["a", "b"]).await;
    assert_eq!(client.accept().await, "route +a +b");
    client.unsubscribe(Route, &["a"]).await;
    client.silent().await;
    store.apply(set(Route, "2", &["a", "b"]));
    assert_eq!(client.accept().await, "route +b");
    store.apply(remove(Route, &["a"]));
    client.silent().await;
}

#[tokio::test]
async fn a_wildcard_ends_and_what_was_named_stays() {
    let store = store();
    store.apply(set(Cluster, "1", &["a", "b"]));
    let mut client = FakeClient::open(&connect(&store).await).await;
    client.subscribe(Cluster, &["*", "a"]).await;
    assert_eq!(client.accept().await, "cluster +a +b");
    client.unsubscribe(Cluster, &["*"]).await;
    client.silent().await;
    store.apply(set(Cluster, "2", &["a", "b"]));
    assert_eq!(client.accept().await, "cluster +a");
}

#[tokio::test]
async fn who_comes_back_gets_what_changed_meanwhile() {
    let store = store();
    store.apply(set(Cluster, "1", &["changed", "gone", "same"]));
    let channel = connect(&store).await;
    let mut client = FakeClient::open(&channel).await;
    client.subscribe(Cluster, &[]).await;
    let response = client.receive().await;
    let mut had = versions(&response);
    had.insert("foreign".to_owned(), "another control plane's".to_owned());
    drop(client);
    store.apply(set(Cluster, "2", &["changed", "new"]));
    store.apply(remove(Cluster, &["gone"]));

    let mut client = FakeClient::open(&channel).await;
    client.resume(Cluster, &[], &had).await;
    assert_eq!(client.accept().await, "cluster +changed +new");
    assert_eq!(client.accept().await, "cluster -foreign -gone");
    client.silent().await;
}

#[tokio::test]
async fn who_comes_back_to_the_same_gets_nothing() {
    let store = store();
    store.apply(set(Endpoints, "1", &["a"]));
    let channel = connect(&store).await;
    let mut client = FakeClient::open(&channel).await;
    client.subscribe(Endpoints, &["a"]).await;
    let had = versions(&client.receive().await);
    let mut client = FakeClient::open(&channel).await;
    client.resume(Endpoints, &["a"], &had).await;
    client.silent().await;
}

#[tokio::test]
async fn many_changes_while_one_is_in_flight_are_one() {
    let store = store();
    let mut client = FakeClient::open(&connect(&store).await).await;
    client.subscribe(Extension, &["a", "b"]).await;
    client.accept().await;
    store.apply(set(Extension, "1", &["a"]));
    let first = client.receive().await;
    for content in ["2", "3", "4"] {
        store.apply(set(Extension, content, &["a", "b"]));
    }
    client.silent().await;
    client.ack(&first).await;
    let second = client.receive().await;
    assert_eq!(summary(&second), "extension +a +b");
    assert_eq!(second.resources[0].resource.as_ref().unwrap().value, b"4");
    client.ack(&second).await;
    client.silent().await;
}

#[tokio::test]
async fn large_contents_come_in_parts() {
    let store = store();
    let content = "x".repeat(300_000);
    store.apply(set(Cluster, &content, &["a", "b", "c", "d", "e"]));
    let mut client = FakeClient::open(&connect(&store).await).await;
    client.subscribe(Cluster, &[]).await;
    assert_eq!(client.accept().await, "cluster +a +b +c +d");
    assert_eq!(client.accept().await, "cluster +e");
}

/// With some of them a listener would open, and the hosts of the others be nobody's.
#[tokio::test]
async fn scopes_come_together() {
    let store = store();
    store.apply(set(Scope, &"x".repeat(300_000), &["a", "b", "c", "d", "e"]));
    let mut client = FakeClient::open(&connect(&store).await).await;
    client.subscribe(Scope, &[]).await;
    assert_eq!(client.accept().await, "scope +a +b +c +d +e");
}

#[tokio::test]
async fn strange_answers_are_ignored() {
    let store = store();
    store.apply(set(Cluster, "1", &["a"]));
    let mut client = FakeClient::open(&connect(&store).await).await;
    for (kind, nonce) in [
        (Cluster.type_url(), "7"),
        (String::new(), "x"),
        (Route.type_url(), ""),
    ] {
        let response_nonce = nonce.to_owned();
        client
            .send(DeltaDiscoveryRequest {
                type_url: kind,
                response_nonce,
                ..Default::default()
            })
            .await;
    }
    assert_eq!(client.accept().await, "cluster +a");
    client.unsubscribe(Cluster, &["never", "*", "*"]).await;
    client.silent().await;
}

#[tokio::test]
async fn a_client_that_kept_one_wait_from_its_end_keeps_no_other_until_it_has_caught_up() {
    const LONG: Duration = Duration::from_secs(5);
    let store = store();
    let channel = connect(&store).await;
    let mut clients = [
        FakeClient::open(&channel).await,
        FakeClient::open(&channel).await,
    ];
    for client in &mut clients {
        client.subscribe(Cluster, &[]).await;
        client.accept().await;
    }
    let [live, dead] = &mut clients;
    let publish = |content: &str| store.apply(set(Cluster, content, &["a"]));
    let generation = publish("1");
    live.accept().await;
    let unanswered = dead.receive().await;
    assert!(!store.answered(generation, Duration::from_millis(50)).await);

    let generation = publish("2");
    live.accept().await;
    assert!(
        store.answered(generation, LONG).await,
        "nobody waits for it"
    );
    assert!(!store.is_answered(generation));

    dead.ack(&unanswered).await;
    dead.accept().await;
    let generation = publish("3");
    live.accept().await;
    dead.receive().await;
    assert!(
        !store.answered(generation, Duration::from_millis(50)).await,
        "it is waited for again"
    );
}

/// Subscriptions by name, of a client that has all that there is, are shared with the cache; one of them ends, and others begin.
#[tokio::test]
async fn a_client_that_has_everything_by_name_goes_on_by_name() {
    let store = store();
    store.apply(set(Endpoints, "1", &["a", "b", "c"]));
    let mut client = FakeClient::open(&connect(&store).await).await;
    client.subscribe(Endpoints, &["a", "b", "c"]).await;
    assert_eq!(client.accept().await, "endpoints +a +b +c");
    client.silent().await;
    client.unsubscribe(Endpoints, &["b"]).await;
    client.silent().await;
    store.apply(set(Endpoints, "2", &["a", "b", "c", "d"]));
    assert_eq!(client.accept().await, "endpoints +a +c");
    client.subscribe(Endpoints, &["d"]).await;
    assert_eq!(client.accept().await, "endpoints +d");
    client.silent().await;
    store.apply(remove(Endpoints, &["c", "d"]));
    assert_eq!(client.accept().await, "endpoints -c -d");
}

#[tokio::test]
async fn several_clients_are_served_and_waited_for() {
    let store = store();
    let channel = connect(&store).await;
    assert!(
        store
            .answered(store.apply(set(Cluster, "1", &["a"])), Duration::ZERO)
            .await,
        "nobody to wait for"
    );
    let mut clients = [
        FakeClient::open(&channel).await,
        FakeClient::open(&channel).await,
    ];
    for client in &mut clients {
        client.subscribe(Cluster, &[]).await;
        assert_eq!(client.accept().await, "cluster +a");
    }
    let generation = store.apply(set(Cluster, "2", &["a"]));
    let [first, second] = &mut clients;
    first.accept().await;
    let late = second.receive().await;
    assert!(!store.answered(generation, Duration::from_millis(50)).await);
    second.nack(&late, "no").await;
    assert!(store.answered(generation, Duration::from_secs(5)).await);
    assert_eq!(store.stats().streams, 2);
    let generation = store.apply(set(Cluster, "3", &["a"]));
    first.accept().await;
    drop(clients);
    assert!(
        store.answered(generation, Duration::from_secs(5)).await,
        "nobody waits for who is gone"
    );
    assert_eq!(store.stats().streams, 0);
}
