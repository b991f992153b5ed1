//! The engine of this machine, where it is installed.

use std::sync::Arc;

use sluice_modsecurity::{Connection, Engine, Library, NAME, Rules, Transaction};

fn library() -> Option<Arc<Library>> {
    match Library::load(NAME.as_ref()) {
        Ok(library) => Some(library),
        Err(error) => {
            assert!(
                !std::path::Path::new("/usr/lib/x86_64-linux-gnu/libmodsecurity.so.3").exists(),
                "{error}"
            );
            None
        }
    }
}

fn rules(library: &Arc<Library>, text: &str) -> Rules {
    let mut rules = Rules::new(library).unwrap();
    rules.add(text).unwrap();
    rules
}

fn transaction(engine: &Arc<Engine>, rules: &Arc<Rules>, target: &str) -> Transaction {
    let mut transaction = Transaction::new(engine, rules, Some("an-id")).unwrap();
    transaction.connection(Connection {
        client: "192.0.2.1:4711".parse().unwrap(),
        server: "[2001:db8::1]:443".parse().unwrap(),
    });
    transaction.uri(target.as_bytes(), b"POST", "1.1");
    transaction.request_header(b"Host", b"a.test");
    transaction.request_header(b"Content-Type", b"application/x-www-form-urlencoded");
    transaction
}

const ON: &str = "SecRuleEngine On\nSecRequestBodyAccess On\nSecRequestBodyLimit 100\nSecRequestBodyLimitAction Reject\n";

#[test]
fn each_phase_may_intervene_with_the_status_of_its_rule() {
    let Some(library) = library() else { return };
    let engine = Arc::new(Engine::new(&library).unwrap());
    assert!(engine.version().contains("ModSecurity v3"));
    let text = "SecRule ARGS_GET:q \"@streq bad\" \"id:1,phase:1,deny,status:418\"\n\
                SecRule ARGS_POST:b \"@streq bad\" \"id:2,phase:2,deny\"\n\
                SecRule RESPONSE_HEADERS:X-A \"@streq bad\" \"id:3,phase:3,deny,status:500\"\n\
                SecRule REMOTE_ADDR \"!@ipMatch 192.0.2.0/24\" \"id:4,phase:1,deny\"";
    let rules = Arc::new(rules(&library, &format!("{ON}{text}")));
    let rejected = transaction(&engine, &rules, "/?q=bad")
        .request_headers()
        .unwrap();
    assert_eq!((rejected.status, rejected.location), (418, None));
    assert!(rejected.log.contains("[id \"1\"]"), "{}", rejected.log);

    let mut post = transaction(&engine, &rules, "/?q=good");
    assert_eq!(post.request_headers(), None);
    assert_eq!(post.append_request_body(b"b=b"), None);
    assert_eq!(post.append_request_body(b"ad"), None);
    assert_eq!(post.request_body().unwrap().status, 403);

    let mut long = transaction(&engine, &rules, "/");
    assert_eq!(long.request_headers(), None);
    assert_eq!(long.append_request_body(&[b'x'; 101]).unwrap().status, 403);

    let mut served = transaction(&engine, &rules, "/");
    assert_eq!(served.request_headers(), None);
    assert_eq!(served.request_body(), None);
    served.response_header(b"X-A", b"bad");
    assert_eq!(
        served.response_headers(200, "HTTP 1.1").unwrap().status,
        500
    );
}

#[test]
fn rules_are_shared_and_those_in_front_decide() {
    let Some(library) = library() else { return };
    let engine = Arc::new(Engine::new(&library).unwrap());
    let common = rules(
        &library,
        "SecRuleEngine On\nSecRule ARGS:q \"@streq bad\" \"id:7,phase:1,deny\"",
    );
    let mut own = rules(&library, "SecRuleEngine DetectionOnly");
    own.merge(&common).unwrap();
    let (own, common) = (Arc::new(own), Arc::new(common));
    assert_eq!(
        transaction(&engine, &own, "/?q=bad").request_headers(),
        None
    );
    assert!(
        transaction(&engine, &common, "/?q=bad")
            .request_headers()
            .is_some()
    );
    drop(common);
    assert_eq!(
        transaction(&engine, &own, "/?q=bad").request_headers(),
        None
    );
    let mut twice = rules(
        &library,
        "SecRule ARGS:q \"@streq worse\" \"id:7,phase:1,pass\"",
    );
    let error = twice.merge(&own).unwrap_err();
    assert!(error.contains('7'), "{error}");
    assert!(twice.add("SecRule").is_err());
}
