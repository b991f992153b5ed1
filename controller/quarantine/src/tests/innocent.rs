//! Objects that are suspects, and at fault of nothing.

use super::*;

/// It comes back, and refuses what the others had accepted.
#[test]
fn no_newcomer_is_held_for_what_was_accepted_while_a_strict_data_plane_was_away() {
    let mut world = World::default();
    let bad = ingress(FOREIGN, "bad.test", &[BAD]);
    let before = snapshot(std::slice::from_ref(&bad));
    world.quarantine.accept(Publication {
        config: before.config().clone(),
        snapshot: before,
    });
    let config = world.publish(&[bad, ingress(OWN, "new.test", &["/"])]);
    assert_eq!(world.held(), ["bad.test foreign/app"]);
    assert_eq!(paths(&config, "new.test"), [open("/")]);
    assert_eq!(paths(&config, "bad.test"), [shut("/bad/"), shut("/")]);
}

/// A port that another process has: whatever is refused is accepted as a candidate.
#[test]
fn nothing_is_held_when_the_listener_is_refused_for_a_reason_that_no_candidate_shows() {
    let names = ["a", "b", "c"];
    let objects = names.map(|name| {
        let mut object = ingress(("owner", name), &format!("{name}.test"), &["/"]);
        object["spec"]["tls"] = json!([{"hosts": [format!("{name}.test")]}]);
        let annotations = &mut object["metadata"]["annotations"];
        annotations["nginx.ingress.kubernetes.io/ssl-ciphers"] =
            "ECDHE-ECDSA-AES128-GCM-SHA256".into();
        object
    });
    let snapshot = snapshot(&objects);
    let publication = Publication {
        config: snapshot.config().clone(),
        snapshot,
    };
    assert_eq!(publication.config.tls.len(), names.len());
    for accepted in [None, Some(&publication)] {
        for round in [Round::New, Round::All, Round::WholeHosts] {
            let mut inquiry = Inquiry::about_tls(publication.clone(), accepted, "no", round);
            let mut tried = 0;
            let verdict = loop {
                match inquiry.next_step() {
                    Step::Try(_) => inquiry.answer(Ok(())),
                    Step::Done(verdict) => break verdict,
                }
                tried += 1;
            };
            assert!(matches!(verdict, InquiryOutcome::Parts(parts) if parts.is_empty()));
            assert_eq!(tried, 1 + usize::from(accepted.is_none()));
        }
    }
}
