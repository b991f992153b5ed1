use sluice_resolver::Dns;
use sluice_translate::AddressPolicy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// As for a folder of manifests: pods may be on loopback.
fn pool() -> Pool {
    let policy = AddressPolicy {
        written_loopback: true,
        ..AddressPolicy::default()
    };
    Pool::new(Arc::new(Dialer::new(policy, Dns::new(&[]))), "sluice")
}

fn host(host: &str, port: u16) -> Target {
    Target::Host {
        namespace: "shop".to_owned(),
        host: host.to_owned(),
        port,
    }
}

fn plain(target: Target) -> Origin {
    Origin { tls: None, target }
}

fn request() -> Request<Empty<Bytes>> {
    Request::builder()
        .uri("/verify?a=b")
        .header("host", "auth.test")
        .body(Empty::new())
        .unwrap()
}

#[test]
fn an_origin_is_one_in_the_words_of_a_url() {
    for target in [
        Target::Endpoint("10.0.0.1:80".parse().unwrap()),
        Target::Endpoint("[2001:db8::1]:8443".parse().unwrap()),
        host("auth.example", 80),
        host("127.0.0.1", 80),
    ] {
        for tls in [None, Some("name.example".to_owned())] {
            let origin = Origin {
                tls,
                target: target.clone(),
            };
            let uri = Uri::builder()
                .scheme(origin.scheme())
                .authority(origin.to_string())
                .path_and_query("/");
            let uri = uri.build().unwrap();
            let key = uri.authority().unwrap().as_str();
            assert_eq!(Origin::parse(key, origin.tls.is_some()), Some(origin));
        }
    }
}

#[tokio::test]
async fn an_address_that_somebody_wrote_into_a_url_is_judged_as_one_that_dns_says() {
    let pool = pool();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let host = plain(host(&address.ip().to_string(), address.port()));
    let error = pool
        .send(&[host], Reuse::Yes, &request())
        .await
        .unwrap_err();
    assert!(format!("{error:?}").contains("loopback"), "{error:?}");
}

/// Answers `count` requests on each connection, then closes it without a word when the next one comes.
async fn fickle(listener: TcpListener, count: usize) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let mut bytes = [0; 1024];
            for _ in 0..count {
                let read = stream.read(&mut bytes).await.unwrap_or(0);
                if read == 0 {
                    return;
                }
                stream
                    .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
                    .await
                    .unwrap();
            }
            let _ = stream.read(&mut bytes).await;
        });
    }
}

#[tokio::test]
async fn a_connection_that_ends_when_it_is_used_again_costs_no_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = plain(Target::Endpoint(listener.local_addr().unwrap()));
    let _service = tokio::spawn(fickle(listener, 1));
    let pool = pool();
    for _ in 0..20 {
        let head = pool
            .send(std::slice::from_ref(&origin), Reuse::Yes, &request())
            .await
            .unwrap();
        assert_eq!(head.status, 204);
    }
    for _ in 0..20 {
        let head = pool
            .send(std::slice::from_ref(&origin), Reuse::No, &request())
            .await
            .unwrap();
        assert_eq!(head.status, 204);
    }
}

#[tokio::test]
async fn an_endpoint_that_is_gone_is_passed_over() {
    let gone = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origins =
        [gone, listener.local_addr().unwrap()].map(|address| plain(Target::Endpoint(address)));
    let _service = tokio::spawn(fickle(listener, usize::MAX));
    let pool = pool();
    assert_eq!(
        pool.send(&origins, Reuse::Yes, &request())
            .await
            .unwrap()
            .status,
        204
    );
    assert!(
        pool.send(&origins[..1], Reuse::Yes, &request())
            .await
            .is_err()
    );
}

#[test]
fn turns_of_origins_that_nobody_asks_are_forgotten() {
    let pool = pool();
    let kept = pool.turns_of("kept".to_owned());
    for n in 0..10_000 {
        pool.turns_of(n.to_string());
    }
    assert!(Arc::ptr_eq(&kept, &pool.turns_of("kept".to_owned())));
    assert!(pool.turns.lock().unwrap().len() < 100);
}
