//! Substitutes and access control.

use super::*;

/// A guard that comes, or that is another one, together with what is refused.
#[test]
fn a_substitute_guards_no_less_than_what_it_stands_for() {
    let plain = |paths: &[&str]| ingress(FOREIGN, "a.test", paths);
    let other_guard = |mut ingress: Value| {
        let annotations = &mut ingress["metadata"]["annotations"];
        annotations["nginx.ingress.kubernetes.io/whitelist-source-range"] = "192.0.2.2".into();
        ingress
    };
    let (before, now) = (&["/"][..], &["/", BAD][..]);
    let neighbour = || ingress(OWN, "a.test", &["/own"]);
    for (before, now, is_open) in [
        (plain(before), plain(now), true),
        (plain(before), guarded(plain(now)), false),
        (guarded(plain(before)), guarded(plain(now)), true),
        (guarded(plain(before)), other_guard(plain(now)), false),
        (guarded(plain(before)), plain(now), true),
    ] {
        // Alone on the host, and beside another one that changes, too.
        for beside in [None, Some(neighbour())] {
            let mut world = World::default();
            world.publish(std::slice::from_ref(&before));
            let objects: Vec<Value> = beside.into_iter().chain([now.clone()]).collect();
            let served = paths(&world.publish(&objects), "a.test");
            assert!(served.contains(&("/".to_owned(), is_open)), "{served:?}");
            assert!(!served.contains(&open("/bad/")), "{served:?}");
        }
    }
}
