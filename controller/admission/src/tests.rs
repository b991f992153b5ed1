use axum::body::Bytes;
use axum::http::Request as HttpRequest;
use futures::StreamExt as _;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;
use sluice_metrics::{DataPlane, Identity, Metrics};

fn judge() -> Judge {
    let view = View::default();
    view.progress().note_published();
    let data_plane = DataPlane::new(None).unwrap();
    let store = sluice_xds_server::Store::new();
    let metrics =
        Metrics::new(&Identity::default(), view.clone(), store, data_plane, None).unwrap();
    let options = Options {
        class_is_implied: true,
        ..Options::default()
    };
    Judge {
        view,
        options: options.into(),
        rules: Arc::default(),
        metrics: metrics.admission().clone(),
    }
}

fn question(kind: &str, object: &Value) -> Vec<u8> {
    let kind = json!({"group": "networking.k8s.io", "version": "v1", "kind": kind});
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "1", "kind": kind, "name": "shop", "namespace": "default", "object": object},
    })
    .to_string()
    .into_bytes()
}

fn object(host: &str) -> Value {
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "shop"},
        "spec": {"ingressClassName": "nginx", "rules": [
            {"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}},
        ]},
    })
}

async fn ask(body: impl Into<Body>) -> (u16, String) {
    let request = HttpRequest::post(PATH).body(body.into()).unwrap();
    let response = router(judge()).oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned())
}

async fn answered(body: Vec<u8>) -> Value {
    let (status, text) = ask(body).await;
    assert_eq!(status, 200, "{text}");
    serde_json::from_str::<Value>(&text).unwrap()["response"].take()
}

#[tokio::test]
async fn a_good_ingress_is_let_in_and_a_bad_one_is_refused_in_words() {
    let response = answered(question("Ingress", &object("a.b"))).await;
    assert_eq!(
        (&response["allowed"], &response["uid"]),
        (&json!(true), &json!("1"))
    );
    assert!(
        response["warnings"][0]
            .as_str()
            .unwrap()
            .contains("default/web"),
        "{response}"
    );
    let response = answered(question("Ingress", &object("not a host"))).await;
    assert_eq!(response["allowed"], false);
    assert!(
        response["status"]["message"]
            .as_str()
            .unwrap()
            .contains("expected a DNS name"),
        "{response}"
    );
}

#[tokio::test]
async fn nothing_and_what_cannot_be_read_are_answered_as_in_ingress_nginx() {
    assert_eq!(
        answered(question("Ingress", &Value::Null)).await["allowed"],
        true
    );
    let response = answered(question(
        "Ingress",
        &json!({"apiVersion": "networking.k8s.io/v1", "kind": 7}),
    ))
    .await;
    assert_eq!(
        (&response["allowed"], &response["status"]["code"]),
        (&json!(false), &json!(400))
    );
    assert_eq!(ask(question("Pod", &object("a.b"))).await.0, 500);
    assert_eq!(ask("{}").await.0, 400);
}

#[tokio::test]
async fn a_body_at_the_limit_is_read_and_one_byte_more_is_not() {
    let mut body = question("Ingress", &object("a.b"));
    body.resize(LARGEST_BODY, b' ');
    assert_eq!(ask(body.clone()).await.0, 200);
    body.push(b' ');
    assert_eq!(ask(body).await.0, 413);
}

#[tokio::test]
async fn nobody_is_let_in_before_the_cluster_has_been_read() {
    let request = HttpRequest::post(PATH)
        .body(Body::from(question("Ingress", &object("a.b"))))
        .unwrap();
    let early = Judge {
        view: View::default(),
        ..judge()
    };
    assert_eq!(
        router(early).oneshot(request).await.unwrap().status(),
        StatusCode::SERVICE_UNAVAILABLE
    );
}

/// Neither by bodies that have come to a halt, nor by those that are large.
#[tokio::test(start_paused = true)]
async fn slow_bodies_hold_up_no_small_one() {
    let router = router(judge());
    let ask = |body: Body| {
        let request = HttpRequest::post(PATH).body(body).unwrap();
        router.clone().oneshot(request)
    };
    let slow = (0..8 * MOST_BODIES).map(|number| {
        let begin = vec![b' '; number % 2 * SMALL_BODY + 1];
        let begin = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from(begin))]);
        ask(Body::from_stream(begin.chain(futures::stream::pending())))
    });
    let answer = ask(Body::from(question("Ingress", &object("a.b"))));
    tokio::select! {
        biased;
        _ = futures::future::join_all(slow) => panic!("a slow body came first"),
        answer = answer => assert_eq!(answer.unwrap().status(), 200),
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_never_ends_is_given_up() {
    let never = futures::stream::pending::<Result<Bytes, std::io::Error>>();
    assert_eq!(ask(Body::from_stream(never)).await.0, 408);
}

/// Locks the objects, as the publisher does, until the sender is used or dropped.
fn lock(view: &View) -> std::sync::mpsc::Sender<()> {
    let (view, (locked, is_locked)) = (view.clone(), std::sync::mpsc::channel());
    let (release, released) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let lock = view.resources_mut();
        locked.send(()).unwrap();
        // Who judges on a worker of the runtime waits here for ever; better to fail.
        released.recv_timeout(Duration::from_secs(60)).ok();
        drop(lock);
    });
    is_locked.recv().unwrap();
    release
}

/// On a runtime of one thread, which also runs this test.
#[tokio::test]
async fn who_is_judged_holds_no_worker_and_only_those_of_its_size_wait() {
    let judge = judge();
    let (router, release) = (router(judge.clone()), lock(&judge.view));
    let ask = |body: Vec<u8>| {
        let request = HttpRequest::post(PATH).body(Body::from(body)).unwrap();
        router.clone().oneshot(request)
    };
    let mut small: Vec<_> = (0..8)
        .map(|_| Box::pin(ask(question("Ingress", &object("a.b")))))
        .collect();
    for _ in 0..100 {
        for asked in &mut small {
            assert!(futures::poll!(asked).is_pending());
        }
        tokio::task::yield_now().await;
    }
    // Nothing is looked up for a deletion.
    let mut large = question("Ingress", &Value::Null);
    large.resize(SMALL_BODY + 1, b' ');
    assert_eq!(ask(large).await.unwrap().status(), 200);
    release.send(()).unwrap();
    for answer in futures::future::join_all(small).await {
        assert_eq!(answer.unwrap().status(), 200);
    }
}

/// A client that goes away while its question is judged leaves the turn to the next.
#[tokio::test]
async fn who_goes_away_keeps_no_turn() {
    let judge = judge();
    let (router, release) = (router(judge.clone()), lock(&judge.view));
    let ask = || {
        let body = Body::from(question("Ingress", &object("a.b")));
        let request = HttpRequest::post(PATH).body(body).unwrap();
        Box::pin(router.clone().oneshot(request))
    };
    let mut gone: Vec<_> = (0..8).map(|_| ask()).collect();
    for asked in &mut gone {
        assert!(futures::poll!(asked).is_pending());
    }
    drop(gone);
    release.send(()).unwrap();
    assert_eq!(ask().await.unwrap().status(), 200);
}

#[test]
fn many_errors_are_a_short_text_and_names_are_cut() {
    let errors = vec!["\u{e4}".repeat(100); 5000];
    for longest in [LONGEST_LINE, 4096] {
        let text = joined(&errors, longest);
        assert!(
            text.len() <= longest && text.len() > longest - 8,
            "{}",
            text.len()
        );
    }
    assert_eq!(joined(&["a".to_owned(), "b".to_owned()], 99), "a; b");
    let mut body: Value = serde_json::from_slice(&question("Ingress", &Value::Null)).unwrap();
    body["request"]["name"] = "n".repeat(9_000_000).into();
    let request = Review::parse(body.to_string().as_bytes()).unwrap();
    assert!(request.described().len() <= 1024);
}
