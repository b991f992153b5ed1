//! One bad resource keeps no other back.

use std::time::Duration;

use sluice_xds::ResourceType::{Cluster, Endpoints};

use crate::client::{FakeClient, connect, remove, set, summary};
use crate::store;

#[tokio::test]
async fn a_refused_response_is_sent_again_in_halves_until_the_bad_one_is_alone() {
    let store = store();
    let generation = store.apply(set(Cluster, "1", &["a", "b", "bad", "c", "d"]));
    let mut client = FakeClient::open(&connect(&store).await).await;
    client.subscribe(Cluster, &[]).await;
    let (mut accepted, mut responses) = (Vec::new(), 0);
    while accepted.len() < 4 || store.refusals().is_empty() {
        let response = client.receive().await;
        responses += 1;
        if response
            .resources
            .iter()
            .any(|resource| resource.name == "bad")
        {
            client.nack(&response, "I do not like it").await;
        } else {
            accepted.extend(
                response
                    .resources
                    .iter()
                    .map(|resource| resource.name.clone()),
            );
            client.ack(&response).await;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client.silent().await;
    assert!(responses <= 7, "{responses}");
    accepted.sort();
    assert_eq!(accepted, ["a", "b", "c", "d"]);
    assert!(
        store.answered(generation, Duration::ZERO).await,
        "a refusal is an answer"
    );
    let refusals = store.refusals();
    let refusal = &refusals[0];
    assert_eq!(
        (
            &*refusal.name,
            refusal.node.as_str(),
            refusal.message.as_str()
        ),
        ("bad", "fake", "I do not like it")
    );
}

#[tokio::test]
async fn a_refused_resource_comes_again_when_it_changes() {
    let store = store();
    let mut client = FakeClient::open(&connect(&store).await).await;
    client.subscribe(Endpoints, &["a", "b"]).await;
    client.accept().await;
    store.apply(set(Endpoints, "bad", &["a"]));
    let response = client.receive().await;
    client.nack(&response, "no").await;
    store.apply(set(Endpoints, "1", &["b"]));
    assert_eq!(client.accept().await, "endpoints +b");
    assert_eq!(store.refusals().len(), 1);
    store.apply(set(Endpoints, "good", &["a"]));
    assert_eq!(client.accept().await, "endpoints +a");
    client.silent().await;
    assert!(store.refusals().is_empty());
    assert_eq!(store.stats().nacks, 1);
}

#[tokio::test]
async fn refusals_of_what_is_gone_are_forgotten() {
    let store = store();
    let mut client = FakeClient::open(&connect(&store).await).await;
    client.subscribe(Cluster, &["a"]).await;
    client.accept().await;
    store.apply(set(Cluster, "bad", &["a"]));
    let response = client.receive().await;
    assert_eq!(summary(&response), "cluster +a");
    client.nack(&response, &"no ".repeat(100_000)).await;
    client.silent().await;
    assert!(store.refusals()[0].message.len() < 5_000);
    store.apply(remove(Cluster, &["a"]));
    assert!(store.refusals().is_empty());
}
