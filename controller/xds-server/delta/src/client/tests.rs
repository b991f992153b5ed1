use super::*;
use envoy_types::pb::google::rpc::Status;
use sluice_xds_resource::Update;

/// Clusters and listeners are subscribed to, endpoints are not.
fn client(cache: &Cache) -> Client {
    let mut client = Client::new(cache.generation(), 1);
    for kind in [ResourceType::Cluster, ResourceType::Listener] {
        let request = DeltaDiscoveryRequest {
            type_url: kind.type_url(),
            ..Default::default()
        };
        client.request(kind, &request, cache).unwrap();
    }
    client
}

fn everything() -> Cache {
    let mut update = Update::default();
    for kind in [
        ResourceType::Cluster,
        ResourceType::Endpoints,
        ResourceType::Listener,
    ] {
        update.set(kind, "a", b"1".to_vec());
        update.complete.insert(kind);
    }
    let mut cache = Cache::default();
    let difference = cache.difference(update);
    cache.apply(difference);
    cache
}

fn answer(
    client: &mut Client,
    response: &Response,
    refused: bool,
    cache: &Cache,
) -> Acknowledgement {
    let kind = ResourceType::from_type_url(&response.type_url).unwrap();
    let request = DeltaDiscoveryRequest {
        type_url: response.type_url.clone(),
        response_nonce: response.nonce.clone(),
        error_detail: refused.then(Status::default),
        ..DeltaDiscoveryRequest::default()
    };
    client.request(kind, &request, cache).unwrap()
}

/// Sends the cluster, has it answered, and says what comes at once and what comes when nobody has asked for endpoints.
fn after_the_cluster(refused: bool) -> [Option<String>; 2] {
    let (cache, now) = (everything(), Instant::now());
    let mut client = client(&cache);
    let cluster = client.next(&cache, now).unwrap();
    assert_eq!(cluster.type_url, ResourceType::Cluster.type_url());
    answer(&mut client, &cluster, refused, &cache);
    [now, now + TIMEOUT].map(|now| client.next(&cache, now).map(|response| response.type_url))
}

#[test]
fn a_client_that_never_asks_for_endpoints_gets_its_routes_after_a_while() {
    assert_eq!(
        after_the_cluster(false),
        [None, Some(ResourceType::Listener.type_url())]
    );
}

/// Whatever a port depends on besides us: only time tells. Clusters depend on nothing else.
#[test]
fn a_refused_listener_is_sent_again_until_it_is_accepted_and_a_refused_cluster_is_not() {
    let (cache, mut now) = (everything(), Instant::now());
    let mut client = client(&cache);
    let cluster = client.next(&cache, now).unwrap();
    assert!(matches!(
        answer(&mut client, &cluster, true, &cache),
        Acknowledgement::Refused(_)
    ));
    let listener = client.next(&cache, now).unwrap();
    assert!(matches!(
        answer(&mut client, &listener, true, &cache),
        Acknowledgement::Refused(_)
    ));
    let mut waits = Vec::new();
    for is_refused in [true, true, true, true, true, false] {
        assert!(client.next(&cache, now).is_none());
        let settled = client.progress(&cache).settled;
        let at = client.wakes_at().unwrap();
        waits.push((at - now).as_secs());
        now = at;
        let again = client.next(&cache, now).unwrap();
        assert_eq!(again.type_url, ResourceType::Listener.type_url());
        assert_eq!(again.sent, listener.sent);
        assert_eq!(client.progress(&cache).settled, settled);
        let verdict = answer(&mut client, &again, is_refused, &cache);
        // Nobody is told twice.
        let is_known = matches!(verdict, Acknowledgement::RefusedAgain(_));
        assert_eq!(is_refused, is_known);
    }
    assert!(client.next(&cache, now).is_none());
    assert_eq!(client.wakes_at(), None);
    assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
}

#[test]
fn a_refused_cluster_does_not_hold_the_routes() {
    assert_eq!(
        after_the_cluster(true)[0],
        Some(ResourceType::Listener.type_url())
    );
}
