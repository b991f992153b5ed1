//! Many objects of one namespace are refused.

use super::*;

/// A data plane of which also ciphers of a host are refused, which are in no route of it.
fn refuses_ciphers(config: &Config) -> bool {
    refuses(config) || config.servers.values().any(|it| !it.ciphers.is_empty())
}

fn with_ciphers(mut ingress: Value) -> Value {
    let annotations = &mut ingress["metadata"]["annotations"];
    annotations["nginx.ingress.kubernetes.io/ssl-ciphers"] = "ECDHE-ECDSA-AES128-GCM-SHA256".into();
    ingress
}

impl World {
    /// Decides all that was set aside, as the publisher does it in the background.
    fn release(&mut self, snapshot: &Arc<Snapshot>, refuses: fn(&Config) -> bool) -> Config {
        loop {
            let aside = self.quarantine.set_aside();
            let Some((_, parts)) = aside.into_iter().next() else {
                break;
            };
            let publication = Publication {
                config: snapshot.config().clone(),
                snapshot: Arc::clone(snapshot),
            };
            self.decide_each(Inquiry::about_each(publication, parts), refuses);
            let before = self.refused;
            self.publish_snapshot(snapshot, refuses);
            assert_eq!(self.refused, before);
        }
        self.quarantine.serve(snapshot)
    }

    fn decide_each(&mut self, mut inquiry: Inquiry, refuses: fn(&Config) -> bool) {
        loop {
            let decided = match inquiry.next_step() {
                Step::Try(candidate) => {
                    let bad = refuses(&candidate);
                    inquiry.answer(if bad { Err("no".to_owned()) } else { Ok(()) });
                    inquiry.take_decided()
                }
                Step::Done(InquiryOutcome::Parts(parts)) => {
                    for (part, reason) in parts {
                        let Reason::Refused(message) = reason else {
                            panic!("{part:?} is set aside")
                        };
                        let refused = vec![(part, message)];
                        let decided = Decided {
                            refused,
                            ..Decided::default()
                        };
                        self.quarantine.decide(inquiry.publication(), decided);
                    }
                    return;
                }
                Step::Done(verdict) => panic!("{verdict:?}"),
            };
            self.quarantine.decide(inquiry.publication(), decided);
        }
    }

    fn is_open(config: &Config, host: &str) -> bool {
        paths(config, host).iter().all(|(_, is_open)| *is_open)
    }
}

/// Any number of broken objects, anywhere among good ones of the same namespace and of others.
#[test]
fn others_wait_for_namespaces_at_fault_and_not_for_their_objects() {
    for refuses in [refuses, refuses_ciphers] {
        for (namespaces, bad) in [(1, 1), (1, 3), (1, 40), (2, 40), (3, 7)] {
            for stride in [1, 3, 7] {
                spread(namespaces, bad, stride, refuses);
            }
        }
    }
}

fn spread(namespaces: usize, bad: usize, stride: usize, refuses: fn(&Config) -> bool) {
    let culprit = |namespace: usize, number: usize| {
        let host = format!("h{}-{namespace}.test", number * stride);
        let name = (&*format!("n{namespace}"), &*format!("bad-{number}"));
        match std::ptr::fn_addr_eq(refuses, refuses_ciphers as fn(&Config) -> bool) {
            true => with_ciphers(ingress(name, &host, &["/"])),
            false => ingress(name, &host, &[BAD]),
        }
    };
    let good = |namespace: &str, number: usize| {
        let host = format!("h{number}-{namespace}.good.test");
        ingress((namespace, &format!("good-{number}")), &host, &["/"])
    };
    let others: Vec<Value> = (0..60).map(|number| good("other", number)).collect();
    let mut objects = others.clone();
    for namespace in 0..namespaces {
        objects.extend((0..bad).map(|number| culprit(namespace, number)));
        objects.extend((0..20).map(|number| good(&format!("n{namespace}"), number)));
    }
    let depth = usize::try_from(objects.len().next_power_of_two().ilog2()).unwrap();
    let bound = namespaces * (2 * 3 * depth + 1) + 2;
    // At a start, and after a configuration that had only others.
    for before in [&[][..], &others[..30]] {
        let mut world = World::default();
        if !before.is_empty() {
            world.publish_snapshot(&snapshot(before), refuses);
        }
        let now = snapshot(&objects);
        let config = world.publish_snapshot(&now, refuses);
        assert!(world.tried <= bound, "{} > {bound}", world.tried);
        assert!(world.refused <= 2, "{}", world.refused);
        for number in 0..60 {
            assert!(World::is_open(
                &config,
                &format!("h{number}-other.good.test")
            ));
        }
        let config = world.release(&now, refuses);
        assert_eq!(world.held().len(), namespaces * bad);
        assert!(world.held().iter().all(|held| !held.contains("good")));
        for namespace in 0..namespaces {
            for number in 0..20 {
                let host = format!("h{number}-n{namespace}.good.test");
                assert!(World::is_open(&config, &host), "{host}");
            }
        }
    }
}

#[test]
fn it_is_said_of_each_why_it_is_held_back() {
    let objects: Vec<Value> = (0..10)
        .map(|number| {
            let path = if number < 5 { BAD } else { "/" };
            ingress(
                ("n", &format!("i{number}")),
                &format!("h{number}.test"),
                &[path],
            )
        })
        .collect();
    let now = snapshot(&objects);
    let mut world = World::default();
    world.publish_snapshot(&now, refuses);
    let reports = world.quarantine.reports(&now);
    let count = |text: &str| {
        reports
            .iter()
            .filter(|it| it.to_string().contains(text))
            .count()
    };
    assert_eq!(count("refused by the data plane: no"), 3);
    assert_eq!(
        count("other objects of namespace n were refused; this one is held back"),
        7
    );
    world.release(&now, refuses);
    assert_eq!(world.quarantine.reports(&now).len(), 5);
}

#[test]
fn a_verdict_holds_only_for_the_content_that_was_tried() {
    let object = |path: &str| snapshot(&[ingress(("n", "i"), "h.test", &[path])]);
    let publication = |snapshot: &Arc<Snapshot>| Publication {
        config: snapshot.config().clone(),
        snapshot: Arc::clone(snapshot),
    };
    let (tried, now) = (publication(&object("/old")), publication(&object("/new")));
    let part = Part {
        host: ServerName::parse("h.test").unwrap(),
        owner: Some(sluice_translate::ObjectKey::new("n", "i")),
    };
    let mut quarantine = Quarantine::default();
    let aside = Reason::Namespace("n".into());
    quarantine.hold(&now, [(part.clone(), aside)]);
    let accepted = || Decided {
        accepted: vec![part.clone()],
        ..Decided::default()
    };
    let refused = || Decided {
        refused: vec![(part.clone(), "no".to_owned())],
        ..Decided::default()
    };
    assert_eq!(quarantine.decide(&tried, refused()), 0);
    assert_eq!(quarantine.decide(&tried, accepted()), 0);
    assert_eq!(quarantine.set_aside()["n"], std::slice::from_ref(&part));
    assert_eq!(quarantine.decide(&now, accepted()), 1);
    assert!(quarantine.set_aside().is_empty());
}

/// A host that two namespaces share is not closed for what one of them is refused for elsewhere.
#[test]
fn no_shared_host_is_closed_as_a_whole_for_parts_of_it() {
    let objects = [
        ingress(OWN, "shared.test", &["/"]),
        ingress(("foreign", "path"), "shared.test", &[BAD]),
        with_ciphers(ingress(("foreign", "host"), "foreign.test", &["/"])),
    ];
    let mut world = World::default();
    let config = world.publish_snapshot(&snapshot(&objects), refuses_ciphers);
    assert!(paths(&config, "shared.test").contains(&open("/")));
    assert_eq!(paths(&config, "foreign.test"), [shut("/")]);
}
