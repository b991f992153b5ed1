use std::sync::Arc;

use sluice_resolver::Dns;
use sluice_translate::AddressPolicy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::super::dial::Dialer;
use super::*;

fn check() -> AuthzRequest {
    let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    AuthzRequest {
        client: "192.0.2.7".parse().ok(),
        method: "POST".to_owned(),
        scheme: "http".to_owned(),
        host: "shop.example:8080".to_owned(),
        path: "/cart?id=1".to_owned(),
        headers: vec![
            header("cookie", "a=b"),
            header("content-length", "7"),
            header("ssl-client-verify", "SUCCESS"),
            header("x-real-ip", "127.0.0.1"),
            header("x-forwarded-proto", "https"),
        ],
        ..AuthzRequest::default()
    }
}

fn external() -> ExternalAuth {
    let back = Expression(vec![ExpressionPart::Variable(Variable::RequestUri)]);
    ExternalAuth {
        url: Expression(vec![
            ExpressionPart::Text("https://".to_owned()),
            ExpressionPart::Variable(Variable::Hostname),
            ExpressionPart::Text("/oauth2/auth?x".to_owned()),
        ]),
        backend: None,
        method: None,
        signin_url: None,
        upstream_headers: Vec::new(),
        host: None,
        headers: Vec::new(),
        redirect_url: back,
        always_set_cookie: false,
        cache: None,
    }
}

#[test]
fn an_auth_request_says_what_was_asked_for_and_nothing_that_a_client_made_up() {
    let (check, external) = (check(), external());
    let place = place(&text(&external.url, &check)).unwrap();
    assert_eq!(
        (place.host.as_str(), place.port, place.path.as_str()),
        ("shop.example", 443, "/oauth2/auth?x")
    );
    let request = request(&external, &place, &check, "sluice").unwrap();
    assert_eq!(
        (
            request.method().as_str(),
            request.uri().to_string().as_str()
        ),
        ("GET", "/oauth2/auth?x")
    );
    let header = |name: &str| {
        request
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    assert_eq!(header("host"), Some("shop.example"));
    assert_eq!(
        header("x-original-url"),
        Some("https://shop.example:8080/cart?id=1")
    );
    assert_eq!(header("x-original-method"), Some("POST"));
    assert_eq!(header("x-auth-request-redirect"), Some("/cart?id=1"));
    assert_eq!(header("x-real-ip"), Some("192.0.2.7"));
    assert_eq!(header("cookie"), Some("a=b"));
    for gone in [
        "content-length",
        "ssl-client-verify",
        "x-forwarded-proto",
        "x-original-uri",
    ] {
        assert_eq!(header(gone), None, "{gone}");
    }
}

#[test]
fn an_auth_request_has_the_verified_certificate_in_place_of_the_clients_claim() {
    let certificate = ClientCertificate {
        verify: "FAILED:expired".to_owned(),
        subject: "CN=\\C3\\A4".to_owned(),
        ..ClientCertificate::default()
    };
    let check = AuthzRequest {
        certificate: Some(certificate.clone()),
        ..check()
    };
    let (external, at) = (external(), place("http://auth.example/").unwrap());
    let asked = request(&external, &at, &check, "sluice").unwrap();
    let told: Vec<_> = asked
        .headers()
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("ssl-client-"))
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(asked.headers()["ssl-client-verify"], "FAILED:expired");
    assert_eq!(asked.headers()["ssl-client-subject-dn"], "CN=\\C3\\A4");
    let two_lines = ClientCertificate {
        subject: "CN=a\r\nssl-client-verify: SUCCESS".to_owned(),
        ..certificate
    };
    let check = AuthzRequest {
        certificate: Some(two_lines),
        ..check
    };
    assert!(request(&external, &at, &check, "sluice").is_err());
}

#[test]
fn what_is_no_url_is_not_asked() {
    for bad in [
        "",
        "http://",
        "https://a b/",
        "http://a:0/",
        "http://a@b/",
        "http://[::1]/",
        "gopher://a",
    ] {
        assert!(place(bad).is_err(), "{bad}");
    }
    assert_eq!(place("http://a?b#c").unwrap().path, "/?b");
}

#[test]
fn connections_are_kept_to_places_that_the_owner_has_named_for_requests_that_may_be_sent_again() {
    let kept = |url: Vec<ExpressionPart>, method: Option<&str>| {
        reuse(&ExternalAuth {
            url: Expression(url),
            method: method.map(str::to_owned),
            ..external()
        })
    };
    let text = |text: &str| ExpressionPart::Text(text.to_owned());
    let host = || ExpressionPart::Variable(Variable::Hostname);
    assert_eq!(kept(vec![text("https://auth.example")], None), Reuse::Yes);
    assert_eq!(
        kept(
            vec![text("https://auth.example/?host="), host()],
            Some("HEAD")
        ),
        Reuse::Yes
    );
    assert_eq!(
        kept(vec![text("https://auth.example"), host()], None),
        Reuse::No
    );
    assert_eq!(
        kept(vec![text("https://"), host(), text("/")], None),
        Reuse::No
    );
    assert_eq!(kept(vec![host()], None), Reuse::No);
    assert_eq!(
        kept(vec![text("https://auth.example/")], Some("POST")),
        Reuse::No
    );
}

#[tokio::test]
async fn auth_requests_cause_no_others() {
    let mut check = check();
    check
        .headers
        .push((CDN_LOOP.to_owned(), b"another; v=1, sluice-auth".to_vec()));
    assert!(
        ask(
            &Pool::new(
                Arc::new(Dialer::new(AddressPolicy::default(), Dns::new(&[]))),
                "sluice"
            ),
            "shop",
            &external(),
            None,
            &check
        )
        .await
        .is_err()
    );
}

fn asked_with(headers: &[(&str, &str)]) -> HeaderMap {
    let header = |(name, value): &(&str, &str)| ((*name).to_owned(), value.as_bytes().to_vec());
    let check = AuthzRequest {
        headers: headers.iter().map(header).collect(),
        ..check()
    };
    let place = place("http://auth.example/").unwrap();
    let asked = request(&external(), &place, &check, "sluice").unwrap();
    asked.headers().clone()
}

#[test]
fn no_client_makes_an_auth_request_one_of_grpc() {
    for grpc in [
        "application/grpc",
        "Application/GRPC",
        " application/grpc+proto",
        "application/grpc;a=b",
        "application/grpc-web",
    ] {
        let asked = asked_with(&[("content-type", grpc)]);
        assert_eq!(asked.get("content-type"), None, "{grpc}");
        let both = asked_with(&[("content-type", grpc), ("content-type", "text/plain")]);
        let types: Vec<_> = both.get_all("content-type").iter().collect();
        assert_eq!(types, ["text/plain"], "{grpc}");
    }
    for other in [
        "",
        "application/json",
        "application/grp",
        "x, application/grpc",
    ] {
        let asked = asked_with(&[("content-type", other)]);
        assert_eq!(asked["content-type"], other);
    }
}

/// Envoy counts what is `sluice` alone.
#[test]
fn an_auth_request_has_room_for_passes_whatever_marks_a_client_writes() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "sluice-auth"),
        (&["sluice"], "sluice-auth, sluice"),
        (
            &[
                "a; v=1, sluice, sluice,sluice ; v=2",
                "",
                "sluice, sluice-b",
            ],
            "sluice-auth, a; v=1, sluice, sluice, sluice-b",
        ),
        (
            &["sluice, sluice, sluice; v=\"a, b\", c; v=\"\\\", sluice, d\""],
            "sluice-auth, sluice, sluice, c; v=\"\\\", sluice, d\"",
        ),
    ];
    for (sent, expected) in cases {
        let lines: Vec<_> = sent.iter().map(|line| (CDN_LOOP, *line)).collect();
        let asked = asked_with(&lines);
        let said: Vec<_> = asked.get_all(CDN_LOOP).iter().collect();
        assert_eq!(said, [*expected], "{sent:?}");
    }
}

/// Answers every request with this head.
async fn service(head: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = [0; 4096];
            let _ = stream.read(&mut bytes).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
        }
    });
    address
}

#[tokio::test]
async fn an_error_of_grpc_behind_a_status_that_admits_is_no_answer() {
    let policy = AddressPolicy {
        written_loopback: true,
        ..AddressPolicy::default()
    };
    let pool = Pool::new(Arc::new(Dialer::new(policy, Dns::new(&[]))), "sluice");
    for (head, status) in [
        ("200 OK\r\n", Some(200)),
        ("200 OK\r\ngrpc-status: 0\r\n", Some(200)),
        ("200 OK\r\ngrpc-status: 14\r\n", None),
        ("204 No Content\r\nGrpc-Status: 16\r\n", None),
        ("200 OK\r\ngrpc-status: 0\r\ngrpc-status: 7\r\n", None),
        ("200 OK\r\ngrpc-status: \u{e9}\r\n", None),
        ("200 OK\r\ngrpc-status:\r\n", None),
        ("403 Forbidden\r\ngrpc-status: 7\r\n", Some(403)),
    ] {
        let text = format!("HTTP/1.1 {head}connection: close\r\ncontent-length: 0\r\n\r\n");
        let pods = Backend {
            endpoints: vec![Endpoint::at(service(text.leak()).await)],
            ..Backend::default()
        };
        let external = ExternalAuth {
            url: Expression::literal("http://auth.shop.svc/"),
            ..external()
        };
        let answer = ask(&pool, "shop", &external, Some(&pods), &check()).await;
        let answered = answer.as_ref().map(|answer| answer.status).ok();
        assert_eq!(answered, status, "{head:?}: {answer:?}");
    }
}

#[test]
fn backups_and_unhealthy_pods_are_asked_after_all_others_and_pods_that_terminate_never() {
    let endpoint = |n: u8, draining, backup| Endpoint {
        draining,
        backup,
        ..Endpoint::at(SocketAddr::from(([10, 0, 0, n], 80)))
    };
    let pods = Backend {
        endpoints: vec![
            endpoint(1, false, true),
            endpoint(2, false, false),
            endpoint(3, true, false),
            endpoint(4, false, false),
            endpoint(5, false, true),
            Endpoint {
                unhealthy: true,
                ..endpoint(6, false, false)
            },
        ],
        ..Backend::default()
    };
    for _ in 0..10 {
        let last = |address: &SocketAddr| address.ip().to_string();
        let mut turn: Vec<_> = in_turn(&pods).iter().map(last).collect();
        turn[..2].sort();
        turn[2..4].sort();
        let expected = [2, 4, 1, 5, 6].map(|n| format!("10.0.0.{n}"));
        assert_eq!(turn, expected);
    }
}
