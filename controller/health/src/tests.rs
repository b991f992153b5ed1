use std::net::SocketAddr;
use std::sync::Mutex;

use sluice_ir::{Endpoint, HealthCheck, HealthPolicy, StatusRange};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::*;
use crate::probe::Target;

const SOON: Duration = Duration::from_secs(20);

/// Answers each connection with this text, and remembers the requests.
struct Pod {
    address: SocketAddr,
    answer: Arc<Mutex<&'static str>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Pod {
    async fn start(answer: &'static str) -> Pod {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let pod = Pod {
            address: listener.local_addr().unwrap(),
            answer: Arc::new(Mutex::new(answer)),
            requests: Arc::default(),
        };
        let (answer, requests) = (Arc::clone(&pod.answer), Arc::clone(&pod.requests));
        tokio::spawn(async move {
            // Connections stay open: a probe that waits for their end would never answer.
            let mut open = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![0; 4096];
                let length = stream.read(&mut request).await.unwrap_or_default();
                let text = String::from_utf8_lossy(&request[..length]).into_owned();
                requests.lock().unwrap().push(text);
                let answer = *answer.lock().unwrap();
                stream.write_all(answer.as_bytes()).await.ok();
                open.push(stream);
            }
        });
        pod
    }

    fn answer(&self, answer: &'static str) {
        *self.answer.lock().unwrap() = answer;
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n";
const MOVED: &str =
    "HTTP/1.1 302 Found\r\nlocation: http://192.0.2.1/\r\ncontent-length: 0\r\n\r\n";
const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";

fn open_policy() -> AddressPolicy {
    AddressPolicy {
        written_loopback: true,
        ..AddressPolicy::default()
    }
}

fn backend(check: HealthCheck, endpoints: &[SocketAddr]) -> Backend {
    Backend {
        health: HealthPolicy {
            check: Some(check.into()),
            ..HealthPolicy::default()
        },
        endpoints: endpoints.iter().copied().map(Endpoint::at).collect(),
        ..Backend::default()
    }
}

async fn probe(
    check: HealthCheck,
    endpoint: SocketAddr,
    policy: &AddressPolicy,
) -> Result<(), String> {
    let id = BackendId::new("shop/web/80");
    let targets = Targets::new(&id, &backend(check, &[endpoint])).unwrap();
    let target = Target {
        backend: id,
        endpoint,
        targets: Arc::new(targets),
    };
    probe::send(&target, policy).await
}

fn check() -> HealthCheck {
    HealthCheck {
        timeout: 300.try_into().unwrap(),
        ..HealthCheck::at("/healthz?full=1".to_owned())
    }
}

#[tokio::test]
async fn the_status_decides_and_redirects_are_not_followed() {
    let pod = Pod::start(OK).await;
    let ask = async |check| probe(check, pod.address, &open_policy()).await;
    assert_eq!(ask(check()).await, Ok(()));
    pod.answer(MOVED);
    assert_eq!(ask(check()).await, Ok(()));
    let only_200 = HealthCheck {
        statuses: StatusRange::new(200, 200).unwrap(),
        ..check()
    };
    let got = ask(only_200).await.unwrap_err();
    assert_eq!(got, "expected status 200, got 302");
    pod.answer(BUSY);
    let got = ask(check()).await.unwrap_err();
    assert_eq!(got, "expected status 200-399, got 503");
}

#[tokio::test]
async fn what_is_no_answer_fails() {
    let pod = Pod::start("").await;
    let ask = async || {
        probe(check(), pod.address, &open_policy())
            .await
            .unwrap_err()
    };
    assert_eq!(ask().await, "no answer in 300ms");
    pod.answer("SSH-2.0-OpenSSH_9\r\n");
    assert!(ask().await.starts_with("no response"));
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let refused = probe(check(), closed, &open_policy()).await.unwrap_err();
    assert!(refused.starts_with("cannot connect"), "{refused}");
}

#[tokio::test]
async fn the_request_is_the_one_that_was_asked_for() {
    let pod = Pod::start(OK).await;
    probe(check(), pod.address, &open_policy()).await.unwrap();
    let elsewhere = HealthCheck {
        host: Some("shop.example".to_owned()),
        port: pod.address.port().try_into().ok(),
        ..check()
    };
    let other_port = SocketAddr::new(pod.address.ip(), 1);
    probe(elsewhere, other_port, &open_policy()).await.unwrap();
    let requests = pod.requests.lock().unwrap().clone();
    let has = |n: usize, line: &str| requests[n].to_lowercase().lines().any(|of| of == line);
    assert!(has(0, "get /healthz?full=1 http/1.1") && has(1, "get /healthz?full=1 http/1.1"));
    assert!(has(0, &format!("host: {}", pod.address)), "{requests:?}");
    assert!(has(1, "host: shop.example"), "{requests:?}");
}

#[tokio::test]
async fn nothing_that_is_forbidden_is_dialled() {
    let pod = Pod::start(OK).await;
    let refused = probe(check(), pod.address, &AddressPolicy::default())
        .await
        .unwrap_err();
    assert!(refused.contains("loopback"), "{refused}");
    // A port that Sluice listens on, which only the check names.
    let own = AddressPolicy {
        own_ports: [pod.address.port()].into(),
        ..open_policy()
    };
    let elsewhere = HealthCheck {
        port: pod.address.port().try_into().ok(),
        ..check()
    };
    let other_port = SocketAddr::new(pod.address.ip(), 1);
    let refused = probe(elsewhere, other_port, &own).await.unwrap_err();
    assert!(refused.contains("Sluice itself"), "{refused}");
    assert!(pod.requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn changes_of_health_are_told_and_ended_checks_ask_nobody() {
    let (good, bad) = (Pod::start(OK).await, Pod::start(BUSY).await);
    let (mut checks, prober) = Checks::new();
    let prober = tokio::spawn(prober.run());
    checks.set_address_policy(&Arc::new(open_policy()));
    let id = BackendId::new("shop/web/80");
    let quick = HealthCheck {
        interval: 50.try_into().unwrap(),
        ..check()
    };
    let shop = backend(quick, &[good.address, bad.address]);
    assert!(!checks.follow(&id, Some(&shop)) && checks.is_followed(&id));
    let next = async |checks: &mut Checks| timeout(SOON, checks.next()).await.unwrap().1;
    assert_eq!(next(&mut checks).await.unhealthy, [bad.address].into());
    // The same endpoints with other marks are no news.
    let mut marked = shop.clone();
    marked.endpoints[1].unhealthy = true;
    assert!(!checks.follow(&id, Some(&marked)));
    bad.answer(OK);
    assert_eq!(next(&mut checks).await, EndpointHealth::default());
    assert!(checks.follow(&id, None) && !checks.is_followed(&id));
    tokio::time::sleep(Duration::from_millis(400)).await;
    let asked = || good.requests.lock().unwrap().len();
    let before = asked();
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(asked(), before);
    drop(checks);
    timeout(SOON, prober).await.unwrap().unwrap();
}
