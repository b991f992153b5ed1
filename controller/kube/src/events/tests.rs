use super::*;
use sluice_translate::{Kind, ObjectKey, ObjectRef};

/// Of an Ingress.
pub(super) fn report_of(namespace: &str, name: &str, field: &str) -> Report {
    let report = report(field, "expected one");
    let key = ObjectKey::new(namespace, name);
    let object = ObjectRef {
        key,
        ..report.object
    };
    Report { object, ..report }
}

pub(super) fn report(field: &str, reason: &str) -> Report {
    let object = ObjectRef {
        kind: Kind::Ingress,
        key: ObjectKey::new("n", "a"),
    };
    Report::new(
        object,
        ReasonCode::InvalidValue,
        Severity::Warning,
        field,
        reason,
        "annotation ignored",
    )
}

fn identity() -> Identity {
    Identity {
        pod: "sluice-0".to_owned(),
        namespace: "sluice".to_owned(),
    }
}

#[test]
fn the_same_report_is_the_same_event_and_another_is_another() {
    let name = |report: &Report, uid: &str| {
        event(report, uid, &identity(), Timestamp::UNIX_EPOCH)
            .metadata
            .name
            .unwrap()
    };
    let ten = report(
        "annotation canary-weight",
        "expected an integer, got \"ten\"",
    );
    let eleven = report(
        "annotation canary-weight",
        "expected an integer, got \"eleven\"",
    );
    assert_eq!(name(&ten, "u"), name(&ten, "u"));
    assert_ne!(name(&ten, "u"), name(&eleven, "u"));
    assert_ne!(name(&ten, "u"), name(&ten, "v"), "made anew");
    assert!(name(&ten, "u").starts_with("a."));
}

#[test]
fn reason_is_the_code_except_for_invalid_annotations() {
    let annotation = report("annotation canary-weight", "expected an integer");
    assert_eq!(reason(&annotation), "AnnotationParsingFailed");
    for code in ReasonCode::ALL {
        let field = Report {
            code,
            ..report("spec.rules[0].host", "")
        };
        assert_eq!(reason(&field), code.as_str());
    }
}

#[test]
fn a_message_is_cut_at_a_character() {
    let long = text(&report("annotation x", &"ü".repeat(2000)));
    assert!(long.len() <= LONGEST_MESSAGE && long.ends_with('ü'));
}

#[tokio::test]
async fn sync_events_are_written_unless_they_are_disabled() {
    let nothing = tower::service_fn(async |_: axum::http::Request<kube::client::Body>| {
        Ok::<_, std::convert::Infallible>(axum::http::Response::new(axum::body::Body::empty()))
    });
    let client = Client::new(nothing, "default");
    let (_leads, leads) = watch::channel(true);
    for sync_events in [true, false] {
        let mut recorder = Recorder::new(client.clone(), identity(), leads.clone(), sync_events);
        let key = ObjectKey::new("n", "a");
        let uid = "u".to_owned();
        recorder.take(vec![Notification::IngressSynced { key, uid }]);
        let is_next = matches!(recorder.next(), Some((_, Item::Sync(_))));
        assert_eq!(is_next, sync_events);
        let wrong = report("annotation canary-weight", "expected an integer");
        recorder.take(vec![Notification::ReportAdded(wrong.clone())]);
        if sync_events {
            recorder
                .write_next(Item::Sync(ObjectKey::new("n", "a")))
                .await;
        }
        let next = recorder.next().map(|(_, item)| item);
        assert_eq!(next, Some(Item::Report(wrong.into())));
    }
}

#[test]
fn a_burst_goes_at_once_and_the_rest_in_its_pace() {
    let start = Instant::now();
    let mut allowance = Allowance {
        left: BURST,
        since: start,
    };
    for _ in 0..BURST {
        assert!(allowance.at() <= start);
        allowance.take(start);
    }
    assert_eq!(allowance.at(), start + PACE);
    allowance.take(start + PACE * 3);
    assert!(
        allowance.at() <= start + PACE * 3,
        "two more have come back meanwhile"
    );
}
