use std::sync::Arc as Shared;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sluice_ir::{
    Action, Authentication, Backend, BackendId, Cidr, ErrorPages, Expression, ExpressionPart,
    ExternalAuth, HttpRoute, IpAccess, PasswordAuth, PasswordScheme, PathMatch, Policy, SecretId,
    Sensitive, Server, ServerName, UserFile, Variable,
};

use super::*;

const BCRYPT_OF_BAR: &str = "foo:$2y$05$abcdefghijklmnopqrstuuUq7qXkDOZJ5Q8HA9wCOH0FErWp6q0b6\n";

fn config(users: &str, any: bool, allow: &[Cidr]) -> Config {
    config_with(PasswordScheme::Basic, users, any, allow)
}

fn config_with(scheme: PasswordScheme, users: &str, any: bool, allow: &[Cidr]) -> Config {
    let id = SecretId::new("default/creds/users");
    let asked = PasswordAuth {
        scheme,
        realm: "the shop".to_owned(),
        users: id.clone(),
        user_headers: Vec::new(),
    };
    let policy = Policy {
        authentication: Some(Authentication {
            tenant: "default".to_owned(),
            passwords: Some(asked),
            external: None,
            satisfy_any: any,
        }),
        ip_access: IpAccess {
            allow: allow.to_vec(),
            ..IpAccess::default()
        },
        ..Policy::default()
    };
    let name = ServerName::parse("a.example").unwrap();
    let path = PathMatch::Prefix("/".to_owned());
    let route = HttpRoute::new(&name, path, Action::Denied, Shared::new(policy));
    let mut config = Config::default();
    config.servers.insert(
        name,
        Server {
            routes: vec![route],
            ..Server::default()
        }
        .into(),
    );
    let text = Sensitive::new(users.to_owned());
    config.users.insert(id, UserFile { scheme, text });
    config
}

fn check(credentials: Option<&str>) -> AuthzRequest {
    let header = credentials.map(|text| format!("Basic {}", STANDARD.encode(text)).into_bytes());
    AuthzRequest {
        route: "a.example/".to_owned(),
        client: "10.1.2.3".parse().ok(),
        headers: header
            .map(|value| ("authorization".to_owned(), value))
            .into_iter()
            .collect(),
        ..AuthzRequest::default()
    }
}

#[derive(Debug)]
struct Nowhere;

impl Backends for Nowhere {
    fn backend(&self, _: &BackendId) -> Option<Shared<Backend>> {
        None
    }
}

fn authorizer() -> Authorizer {
    let settings = Settings {
        addresses: AddressPolicy::default(),
        cdn_id: "sluice".to_owned(),
    };
    Authorizer::new(
        Shared::new(Nowhere),
        settings,
        Dns::new(&[]),
        NonceKey::from_secret(b"shared"),
        &Tasks::default(),
    )
    .unwrap()
}

async fn status(authorizer: &Authorizer, check: &AuthzRequest) -> u16 {
    match authorizer.check(check).await {
        AuthzDecision::Allow(_) => 200,
        AuthzDecision::Deny { status, .. } => status,
    }
}

#[tokio::test]
async fn only_the_right_password_opens_and_the_pod_does_not_see_it() {
    let authorizer = authorizer();
    authorizer.publish(&config(BCRYPT_OF_BAR, false, &[]), None);
    for _ in 0..2 {
        let AuthzDecision::Allow(changes) = authorizer.check(&check(Some("foo:bar"))).await else {
            panic!("refused")
        };
        assert_eq!(changes.remove, ["authorization"]);
        for wrong in [
            None,
            Some("foo:baz"),
            Some("foo:"),
            Some("fo:bar"),
            Some(""),
        ] {
            let AuthzDecision::Deny { status, headers } = authorizer.check(&check(wrong)).await
            else {
                panic!("{wrong:?} is let in")
            };
            let challenge = (
                "www-authenticate".to_owned(),
                "Basic realm=\"the shop\"".to_owned(),
            );
            assert_eq!((status, headers), (401, vec![challenge]));
        }
    }
}

#[tokio::test]
async fn what_nobody_has_published_is_closed() {
    let authorizer = authorizer();
    assert_eq!(status(&authorizer, &check(Some("foo:bar"))).await, 503);
    let mut without_users = config(BCRYPT_OF_BAR, false, &[]);
    without_users.users.clear();
    authorizer.publish(&without_users, None);
    assert_eq!(status(&authorizer, &check(Some("foo:bar"))).await, 503);
}

#[tokio::test]
async fn a_password_that_was_changed_is_right_no_more() {
    let authorizer = authorizer();
    authorizer.publish(&config(BCRYPT_OF_BAR, false, &[]), None);
    assert_eq!(status(&authorizer, &check(Some("foo:bar"))).await, 200);
    authorizer.publish(
        &config("foo:{PLAIN}new", false, &[]),
        Some(&config(BCRYPT_OF_BAR, false, &[])),
    );
    assert_eq!(status(&authorizer, &check(Some("foo:bar"))).await, 401);
    assert_eq!(status(&authorizer, &check(Some("foo:new"))).await, 200);
}

#[tokio::test]
async fn what_is_gone_is_known_until_nobody_asks_for_it() {
    let authorizer = authorizer();
    let before = config(BCRYPT_OF_BAR, false, &[]);
    authorizer.publish(&Config::default(), Some(&before));
    assert_eq!(status(&authorizer, &check(Some("foo:bar"))).await, 200);
    authorizer.publish(&Config::default(), None);
    assert_eq!(status(&authorizer, &check(Some("foo:bar"))).await, 503);
}

#[tokio::test]
async fn where_one_thing_is_enough_an_address_or_a_password_is() {
    let authorizer = authorizer();
    let network = |text: &str| Cidr::new(text.parse().unwrap(), 8).unwrap();
    authorizer.publish(&config(BCRYPT_OF_BAR, true, &[network("10.0.0.0")]), None);
    assert_eq!(status(&authorizer, &check(None)).await, 200);
    authorizer.publish(&config(BCRYPT_OF_BAR, true, &[network("11.0.0.0")]), None);
    assert_eq!(status(&authorizer, &check(None)).await, 401);
    assert_eq!(status(&authorizer, &check(Some("foo:bar"))).await, 200);
    authorizer.publish(&config(BCRYPT_OF_BAR, true, &[]), None);
    assert_eq!(status(&authorizer, &check(None)).await, 401);
}

/// Clients come in by their address; the service of `auth-url` is for the others.
fn signing_in(page: Option<&Expression>, pages: Option<bool>) -> Config {
    let network = Cidr::new("10.0.0.0".parse().unwrap(), 8).unwrap();
    let mut config = config(BCRYPT_OF_BAR, true, &[network]);
    let name = ServerName::parse("a.example").unwrap();
    let mut server = Server::clone(config.servers.get(&name).unwrap());
    let route = &mut server.routes[0];
    route.error_pages = pages.map(|keeps_upstreams| {
        Box::new(ErrorPages {
            keeps_upstreams,
            statuses: [404].into(),
            backend: None,
            headers: Vec::new(),
        })
    });
    let policy = Shared::make_mut(&mut route.policy);
    policy.authentication.as_mut().unwrap().external = Some(ExternalAuth {
        url: Expression::literal("http://auth.test/"),
        backend: None,
        method: None,
        signin_url: page.cloned(),
        upstream_headers: Vec::new(),
        host: None,
        headers: Vec::new(),
        redirect_url: Expression::literal(""),
        always_set_cookie: false,
        cache: None,
    });
    config.servers.insert(name, server.into());
    config
}

#[tokio::test]
async fn data_planes_know_the_sign_in_page_of_clients_whom_a_pod_may_send_there() {
    let authorizer = authorizer();
    let path = Expression(vec![ExpressionPart::Variable(Variable::Path)]);
    let [page, empty] = ["http://login.test/", ""].map(Expression::literal);
    for (page, pages, expected) in [
        (Some(&page), Some(false), Some("http://login.test/")),
        (Some(&path), Some(false), Some("https://a.example/x")),
        (Some(&empty), Some(false), Some("https://a.example/x?y=1")),
        (Some(&page), Some(true), None),
        (Some(&page), None, None),
        (None, Some(false), None),
    ] {
        authorizer.publish(&signing_in(page, pages), None);
        let asked = AuthzRequest {
            scheme: "https".to_owned(),
            host: "a.example".to_owned(),
            path: "/x?y=1".to_owned(),
            ..check(None)
        };
        let AuthzDecision::Allow(changes) = authorizer.check(&asked).await else {
            panic!("refused")
        };
        assert_eq!(changes.sign_in.as_deref(), expected, "{page:?} {pages:?}");
    }
}

#[test]
fn a_host_that_is_read_in_two_ways_is_none() {
    for good in [
        "",
        "a.example",
        "A.example.:8080",
        "a_b.example:",
        "[::1]",
        "[::1]:80",
        "192.0.2.1:80",
    ] {
        assert!(is_authority(good), "{good}");
    }
    for bad in [
        "a:b",
        "a:80@b",
        "a:80:80",
        "b:1.a.example:80",
        "a@b",
        "a/b",
        "a\\b",
        "a?b",
        "a#b",
        "[::1]a",
        "::1",
        ":a",
    ] {
        assert!(!is_authority(bad), "{bad}");
    }
}
