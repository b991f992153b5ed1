use std::sync::Arc;

use md5::{Digest as _, Md5};
use sluice_ir::{
    Action, Authentication, Config, HttpRoute, PasswordScheme, PathMatch, Policy, SecretId,
    Sensitive, Server, ServerName, UserFile,
};

use super::*;

const REALM: &str = "the shop";

fn md5(text: &str) -> String {
    let digest = Md5::digest(text);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn file(password: &str) -> String {
    format!("ada:{REALM}:{}\n", md5(&format!("ada:{REALM}:{password}")))
}

fn asked() -> PasswordAuth {
    PasswordAuth {
        scheme: PasswordScheme::Digest,
        realm: REALM.to_owned(),
        users: SecretId::new("default/creds/digest-users"),
        user_headers: Vec::new(),
    }
}

fn policies(scheme: PasswordScheme, text: &str) -> Policies {
    let policy = Policy {
        authentication: Some(Authentication {
            tenant: "default".to_owned(),
            passwords: Some(asked()),
            ..Authentication::default()
        }),
        ..Policy::default()
    };
    let name = ServerName::parse("a.example").unwrap();
    let path = PathMatch::Prefix("/".to_owned());
    let route = HttpRoute::new(&name, path, Action::Denied, Arc::new(policy));
    let server = Server {
        routes: vec![route],
        ..Server::default()
    };
    let mut config = Config::default();
    config.servers.insert(name, server.into());
    let text = Sensitive::new(text.to_owned());
    config
        .users
        .insert(asked().users, UserFile { scheme, text });
    Policies::from_configs(&config, None, &Policies::default())
}

fn authenticator(secret: &str) -> DigestAuthenticator {
    DigestAuthenticator::new(NonceKey::from_secret(secret.as_bytes())).unwrap()
}

fn request(lines: &[String]) -> AuthzRequest {
    AuthzRequest {
        method: "GET".to_owned(),
        path: "/cart?a=1".to_owned(),
        headers: lines
            .iter()
            .map(|line| ("authorization".to_owned(), line.clone().into_bytes()))
            .collect(),
        ..AuthzRequest::default()
    }
}

/// The challenge for such a request; nothing if it is let in.
fn challenge(
    authenticator: &DigestAuthenticator,
    policies: &Policies,
    lines: &[String],
) -> Option<String> {
    let route = policies.route("a.example/").unwrap();
    match authenticator.check(&asked(), route, policies, &request(lines)) {
        Ok(()) => None,
        Err(AuthzDecision::Deny {
            status: 401,
            headers,
        }) => Some(headers[0].1.clone()),
        Err(decision) => panic!("{decision:?}"),
    }
}

/// The answer of a client to a challenge, for a request of the target.
fn answer(challenge: &str, password: &str, target: &str, count: u32) -> String {
    let nonce = challenge.split("nonce=\"").nth(1).unwrap();
    let (nonce, _) = nonce.split_once('"').unwrap();
    let hash = md5(&format!("ada:{REALM}:{password}"));
    let request = md5(&format!("GET:{target}"));
    let response = md5(&format!("{hash}:{nonce}:{count:08x}:c:auth:{request}"));
    format!(
        "Digest username=\"ada\", realm=\"{REALM}\", nonce=\"{nonce}\", uri=\"{target}\", \
         response=\"{response}\", qop=auth, nc={count:08x}, cnonce=\"c\""
    )
}

#[test]
fn the_right_answer_opens_once_and_then_is_stale() {
    let (here, policies) = (
        authenticator("k"),
        policies(PasswordScheme::Digest, &file("pw")),
    );
    let first = challenge(&here, &policies, &[]).unwrap();
    let known = "Digest realm=\"the shop\", qop=\"auth\", algorithm=MD5, nonce=\"";
    assert!(
        first.starts_with(known) && !first.contains("stale"),
        "{first}"
    );
    for count in 1..4 {
        let good = answer(&first, "pw", "/cart?a=1", count);
        assert_eq!(
            challenge(&here, &policies, std::slice::from_ref(&good)),
            None
        );
        let again = challenge(&here, &policies, &[good]).unwrap();
        assert!(again.ends_with(", stale=true"), "{again}");
    }
    for wrong in [
        answer(&first, "wrong", "/cart?a=1", 9),
        answer(&first, "pw", "/cart", 9),
        answer(&first, "pw", "/", 9),
        answer(&first, "pw", "http://a.example/cart?a=1", 9),
        answer(&first, "pw", "/cart?a=2", 9),
        answer(&first, "pw", "/cart?a=1", 9).replace(REALM, "shop"),
        "Basic YWRhOnB3".to_owned(),
    ] {
        let asks = challenge(&here, &policies, &[wrong]).unwrap();
        assert!(!asks.contains("stale"), "{asks}");
    }
    let same = answer(&first, "pw", "/x/..//%63art?a=1", 9);
    assert_eq!(challenge(&here, &policies, &[same]), None);
    let twice = answer(&first, "pw", "/cart?a=1", 10);
    assert!(challenge(&here, &policies, &[twice.clone(), twice]).is_some());
}

#[test]
fn whoever_has_the_key_knows_the_nonce_until_the_file_changes() {
    let (here, there) = (authenticator("k"), authenticator("k"));
    let (old, new) = ["pw", "new"]
        .map(|password| policies(PasswordScheme::Digest, &file(password)))
        .into();
    let first = challenge(&here, &old, &[]).unwrap();
    let good = answer(&first, "pw", "/cart?a=1", 1);
    assert_eq!(challenge(&there, &old, std::slice::from_ref(&good)), None);
    let stranger = challenge(&authenticator("l"), &old, std::slice::from_ref(&good));
    assert!(stranger.unwrap().ends_with("stale=true"));
    assert!(!challenge(&here, &new, &[good]).unwrap().contains("stale"));
    let changed = answer(&first, "new", "/cart?a=1", 1);
    assert!(
        challenge(&here, &new, &[changed])
            .unwrap()
            .ends_with("stale=true")
    );
}

#[test]
fn files_of_another_scheme_open_nothing() {
    let policies = policies(PasswordScheme::Basic, "ada:{PLAIN}pw\n");
    let route = policies.route("a.example/").unwrap();
    let decision = authenticator("k").check(&asked(), route, &policies, &request(&[]));
    assert_eq!(decision, Err(deny(503)));
}
