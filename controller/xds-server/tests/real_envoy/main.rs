//! The real Envoy against our server. `cargo xtask test` says which, in `ENVOY_BINARY`.

mod envoy;
mod http;
mod http2;
mod pod;
mod server;
mod site;

use std::time::Duration;

use envoy::Envoy;
use envoy_types::pb::google::protobuf::Duration as Span;
use http::Answer;
use pod::Pod;
use prost::Message;
use server::{Server, settings};
use site::{all_to, backend, id, site};
use sluice_ir::{Config, ServerName};
use sluice_xds::{ResourceType, Settings, Update, publication, render};

/// As the publisher does, but all at once.
fn publish(
    server: &Server,
    before: &Config,
    now: &Config,
    settings: &Settings,
) -> sluice_xds_server::Generation {
    server.store.apply(publication::additions(before, now));
    server.store.apply(publication::routing(now, settings));
    server.store.apply(publication::removals(before, now))
}

/// As a new policy of every backend would.
fn change_every_cluster(update: &mut Update, now: &Config) {
    for (id, backend) in &now.backends {
        let mut cluster = render::cluster(id, backend);
        cluster.connect_timeout = Some(Span {
            seconds: 7,
            nanos: 0,
        });
        update.set(ResourceType::Cluster, id.as_str(), cluster.encode_to_vec());
    }
}

async fn until(what: &str, mut ready: impl AsyncFnMut() -> bool) {
    for _ in 0..500 {
        if ready().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("waited 10 s for {what}");
}

async fn lists(envoy: &Envoy, text: &str) -> bool {
    envoy.admin("/clusters").await.body.contains(text)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_envoy_follows() {
    let binary = std::env::var_os("ENVOY_BINARY")
        .expect("ENVOY_BINARY names an Envoy: run `cargo xtask test`");
    let pods = [Pod::start("one").await, Pod::start("two").await];
    let server = Server::start();
    let settings = settings();
    let before = Config::default();
    let now = site(&[&pods[0]]);
    publish(&server, &before, &now, &settings);
    let envoy = Envoy::start(binary.as_ref(), &server.socket(), settings.http[0]);
    until("the first answer", async || {
        envoy.get("shop.test", "/api").await.status == 200
    })
    .await;

    routes_hosts_and_paths(&envoy).await;
    a_client_cannot_steer(&envoy, &pods[1]).await;
    endpoints_change(&server, &envoy, &pods, &now).await;
    a_bad_resource_keeps_no_other_back(&server, &envoy).await;
    let now = a_cluster_arrives_with_its_route(&server, &envoy, &pods, &now, &settings).await;
    a_changed_cluster_gets_its_endpoints_again(&server, &envoy, &now).await;
    let now = a_cluster_leaves(&server, &envoy, &now, &settings).await;
    the_server_restarts(server, &envoy, &pods, &now, &settings).await;
}

async fn routes_hosts_and_paths(envoy: &Envoy) {
    for (host, path, status) in [
        ("shop.test", "/api/x?y=z", 200),
        ("SHOP.test:8080", "/api", 200),
        ("shop.test", "/apis", 404),
        ("shop.test", "/closed", 503),
        ("shop.test", "/closed/x", 404),
        ("shop.test", "//api", 200),
        ("other.test", "/", 404),
        ("a.wild.test", "/", 200),
        ("A.Wild.test:80", "/", 200),
        ("a.b.wild.test", "/", 404),
        ("wild.test", "/", 404),
    ] {
        assert_eq!(envoy.get(host, path).await.status, status, "{host}{path}");
    }
    let moved = envoy.get("shop.test", "/old?a=b").await;
    assert_eq!(moved.status, 301);
    assert!(
        moved
            .head
            .to_lowercase()
            .contains("location: http://shop.test/new/?a=b"),
        "{}",
        moved.head
    );
    assert!(
        !moved.head.to_lowercase().contains("envoy"),
        "{}",
        moved.head
    );
}

async fn a_client_cannot_steer(envoy: &Envoy, other: &Pod) {
    let envoys = "x-envoy-max-retries: 9\r\nx-envoy-upstream-rq-timeout-ms: 1\r\n";
    let ordinary = format!("x-sluice-endpoint: {}\r\n", other.address);
    let Answer { status, body, .. } = envoy.send("shop.test", "/api", &(ordinary + envoys)).await;
    assert_eq!(status, 200);
    assert!(body.starts_with("one"), "{body}");
    for header in [
        ":sluice",
        "x-envoy-max-retries",
        "x-envoy-upstream",
        "x-envoy-internal",
    ] {
        assert!(!body.contains(header), "{header}: {body}");
    }
    // Envoy reads the choice from this one, and no parser lets a client say it.
    for spelling in [":sluice-endpoint", ": sluice-endpoint", " :sluice-endpoint"] {
        let steering = format!("{spelling}: {}\r\n", other.address);
        let Answer { status, body, .. } = envoy.send("shop.test", "/api", &steering).await;
        assert!(
            status == 400 || body.starts_with("one"),
            "{spelling}: {status} {body}"
        );
        assert!(!body.starts_with("two"), "{spelling}: {body}");
    }
    let address = other.address.to_string();
    let request = [
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", "shop.test"),
        (":path", "/api"),
    ];
    let steering = [&request[..], &[(":sluice-endpoint", address.as_str())]].concat();
    let answer = envoy.send_http2(&request, "\nGET ").await;
    assert!(answer.contains("one\nGET "), "{answer}");
    let answer = envoy.send_http2(&steering, "\nGET ").await;
    assert!(!answer.contains("\nGET "), "a pod saw it: {answer}");
}

async fn endpoints_change(server: &Server, envoy: &Envoy, pods: &[Pod; 2], now: &Config) {
    let mut changed = now.clone();
    backend(&mut changed, "shop", &[&pods[1]]);
    let mut update = Update::default();
    publication::set_endpoints(&mut update, &id("shop"), &changed.backends[&id("shop")]);
    let generation = server.store.apply(update);
    assert!(
        server
            .store
            .answered(generation, Duration::from_secs(5))
            .await
    );
    assert!(lists(envoy, &format!("default/shop/80::{}::", pods[1].address)).await);
    assert!(!lists(envoy, &format!("default/shop/80::{}::", pods[0].address)).await);
    until("the other pod", async || {
        envoy.get("shop.test", "/api").await.body.starts_with("two")
    })
    .await;
}

/// All come in one response, and Envoy refuses a timeout below zero.
async fn a_bad_resource_keeps_no_other_back(server: &Server, envoy: &Envoy) {
    let mut config = Config::default();
    for service in ["good", "fine"] {
        backend(&mut config, service, &[]);
    }
    let mut update = publication::additions(&Config::default(), &config);
    let mut bad = render::cluster(&id("bad"), &config.backends[&id("good")]);
    bad.connect_timeout = Some(Span {
        seconds: -1,
        nanos: 0,
    });
    update.set(ResourceType::Cluster, "default/bad/80", bad.encode_to_vec());
    let generation = server.store.apply(update);
    assert!(
        server
            .store
            .answered(generation, Duration::from_secs(5))
            .await
    );
    let refused: Vec<_> = server
        .store
        .refusals()
        .into_iter()
        .map(|refusal| refusal.name.to_string())
        .collect();
    assert_eq!(refused, ["default/bad/80"]);
    for service in ["good", "fine"] {
        assert!(
            lists(envoy, &format!("default/{service}/80::")).await,
            "{service}"
        );
    }
    let mut removals = publication::removals(&config, &Config::default());
    removals.remove(ResourceType::Cluster, "default/bad/80");
    let generation = server.store.apply(removals);
    assert!(
        server
            .store
            .answered(generation, Duration::from_secs(5))
            .await
    );
    assert!(server.store.refusals().is_empty());
    assert!(!lists(envoy, "default/good/80::").await);
}

async fn a_cluster_arrives_with_its_route(
    server: &Server,
    envoy: &Envoy,
    pods: &[Pod; 2],
    before: &Config,
    settings: &Settings,
) -> Config {
    let mut now = before.clone();
    for number in 0..20 {
        let (service, host) = (format!("late-{number}"), format!("late-{number}.test"));
        backend(&mut now, &service, &[&pods[0]]);
        all_to(&mut now, &host, &service);
        publish(server, before, &now, settings);
        // From the moment there is a route there is a pod behind it: nothing between 404 and 200.
        let mut seen = Vec::new();
        until("the new host", async || {
            seen.push(envoy.get(&host, "/").await.status);
            seen.last() == Some(&200)
        })
        .await;
        seen.retain(|status| *status != 404);
        assert_eq!(seen, [200], "{host}");
    }
    now
}

async fn a_changed_cluster_gets_its_endpoints_again(server: &Server, envoy: &Envoy, now: &Config) {
    let mut update = publication::additions(&Config::default(), now);
    change_every_cluster(&mut update, now);
    let generation = server.store.apply(update);
    assert!(
        server
            .store
            .answered(generation, Duration::from_secs(5))
            .await
    );
    until("warm clusters", async || {
        envoy
            .admin("/stats?filter=cluster_manager.warming_clusters")
            .await
            .body
            .ends_with(": 0\n")
    })
    .await;
    let modified = envoy
        .admin("/stats?filter=cluster_manager.cluster_modified")
        .await
        .body;
    assert_ne!(modified.trim(), "cluster_manager.cluster_modified: 0");
    assert_eq!(envoy.get("late-3.test", "/").await.status, 200);
}

async fn a_cluster_leaves(
    server: &Server,
    envoy: &Envoy,
    before: &Config,
    settings: &Settings,
) -> Config {
    let mut now = before.clone();
    now.backends.remove(&id("late-0"));
    now.servers
        .remove(&ServerName::parse("late-0.test").unwrap());
    let generation = publish(server, before, &now, settings);
    assert!(
        server
            .store
            .answered(generation, Duration::from_secs(5))
            .await
    );
    assert!(!lists(envoy, "default/late-0/80::").await);
    assert_eq!(envoy.get("late-0.test", "/").await.status, 404);
    now
}

async fn the_server_restarts(
    server: Server,
    envoy: &Envoy,
    pods: &[Pod; 2],
    now: &Config,
    settings: &Settings,
) {
    let server = server.restart();
    // While the new one knows nothing yet, nothing is taken away.
    until("the stream", async || server.store.stats().streams == 1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(server.store.stats().pushes, 0);
    assert_eq!(envoy.get("late-3.test", "/").await.status, 200);

    // The same again, but for one backend that went and one whose endpoints changed meanwhile.
    let mut later = now.clone();
    later.backends.remove(&id("late-1"));
    later
        .servers
        .remove(&ServerName::parse("late-1.test").unwrap());
    backend(&mut later, "late-3", &[&pods[1]]);
    let mut update = publication::additions(&Config::default(), &later);
    change_every_cluster(&mut update, &later);
    server.store.apply(update);
    server.store.apply(publication::routing(&later, settings));
    let generation = server
        .store
        .apply(publication::removals(&Config::default(), &later));
    assert!(
        server
            .store
            .answered(generation, Duration::from_secs(5))
            .await
    );
    until("the other pod", async || {
        envoy.get("late-3.test", "/").await.body.starts_with("two")
    })
    .await;
    until("the removal", async || {
        !lists(envoy, "default/late-1/80::").await
    })
    .await;
    assert!(
        server.store.stats().pushes <= 6,
        "{:?}",
        server.store.stats()
    );
    assert_eq!(server.store.stats().nacks, 0);
}
