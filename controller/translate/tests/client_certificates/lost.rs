//! A guard of a host that is lost: by a bad value, by what the operator permits, by the size of the Ingress, or by its Secret.

use sluice_translate::annotations::{GROUPS, Role, Scope};

use super::*;

const BLOCKED: &str = "unwanted";

/// Every annotation that guards a host as a whole.
fn guards() -> impl Iterator<Item = &'static sluice_translate::annotations::Annotation> {
    let all = GROUPS.iter().flat_map(|group| group.annotations);
    all.filter(|it| it.role == Role::AccessControl && it.scope == Scope::Host)
}

/// The host: an Ingress that guards, with a sibling, and another namespace with a path.
fn host(guarding: &str, years: [u16; 3], annotations: &[(&str, &str)]) -> Vec<Value> {
    let other = if guarding == OWNER { FOREIGN } else { OWNER };
    vec![
        ingress(guarding, "guard", years[0], "/guarded", annotations),
        ingress(guarding, "sibling", years[1], "/sibling", &[]),
        ingress(other, "other", years[2], "/other", &[]),
    ]
}

/// Nothing of a host is open that its owner has tried to guard, and of a host of others nothing of who has.
fn check_closed(annotations: &[(&str, &str)], objects: &[Value], told: &str) {
    for years in [[2019, 2020, 2021], [2020, 2019, 2021]] {
        let mut all = host(OWNER, years, annotations);
        all.extend_from_slice(objects);
        let translation = translated(&all);
        let open = open_paths(&translation, HOST);
        assert!(open.is_empty(), "{annotations:.200?} {years:?}: {open:?}");
        for name in ["guard", "sibling", "other"] {
            let reports = reports_of(&translation, name).into_iter();
            let texts: Vec<String> = reports.map(ToString::to_string).collect();
            let hears = |said: &str| texts.iter().any(|text| text.contains(said));
            assert!(
                hears("answer 503") && hears(told),
                "{told}: {name}: {texts:?}"
            );
        }
    }
    let mut all = host(FOREIGN, [2020, 2021, 2019], annotations);
    all.extend_from_slice(objects);
    let open = open_paths(&translated(&all), HOST);
    assert_eq!(open, ["/", "/other"].map(str::to_owned).into(), "{told}");
}

/// With the authorities that an annotation needs beside it, unless it names them itself.
fn with_secret<'a>(name: &'a str, value: &'a str, secret: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut annotations = vec![("auth-tls-secret", secret)];
    annotations.retain(|(other, _)| *other != name);
    annotations.push((name, value));
    annotations
}

#[test]
fn a_guard_of_a_host_that_is_lost_closes_all_of_the_host() {
    let authorities = authorities(&Authority::new());
    let with = |settings: Value| {
        let mut objects = authorities.clone();
        objects.push(config_map(&settings));
        objects
    };
    let long = "x".repeat(257 * 1024);
    let mut seen = 0;
    for annotation in guards() {
        let name = annotation.name;
        let field = format!("annotation {name}");
        check_closed(
            &with_secret(name, "javascript:a", "ca"),
            &authorities,
            &field,
        );
        if !annotation.may_be_blank {
            check_closed(&with_secret(name, "", "ca"), &authorities, &field);
        }
        let blocklist = with(json!({"annotation-value-word-blocklist": BLOCKED}));
        check_closed(&with_secret(name, BLOCKED, "ca"), &blocklist, &field);
        let mut unread = with_secret(name, "1", "ca");
        unread.push(("example.com/long", &long));
        check_closed(&unread, &authorities, "metadata.annotations");
        seen += 1;
    }
    let risks = with(json!({"annotations-risk-level": "Low"}));
    check_closed(
        &[("auth-tls-secret", "ca")],
        &risks,
        "annotation auth-tls-secret",
    );
    assert!(seen >= 5, "{seen}");
}

/// One that is long for other reasons, and has no such guard, closes no more than its own paths.
#[test]
fn an_ingress_that_is_not_read_closes_what_its_annotations_may_guard() {
    let long = "x".repeat(257 * 1024);
    for (name, expected) in [
        ("auth-url", ["/", "/other", "/sibling"].as_slice()),
        ("server-snippet", &["/other"]),
        ("auth-tls-verify-client", &[]),
        ("app-root", &["/", "/other", "/sibling"]),
    ] {
        let annotations = [(name, "x"), ("example.com/long", &long)];
        let objects = host(OWNER, [2020, 2019, 2021], &annotations);
        let open = open_paths(&translated(&objects), HOST);
        let expected = expected.iter().map(|path| (*path).to_owned());
        assert_eq!(open, expected.collect(), "{name}");
    }
}

#[test]
fn authorities_that_cannot_be_read_close_all_of_the_host() {
    let authority = Authority::new();
    let Authority { certificate, list } = &authority;
    let none = json!({});
    let text = |entries: Value| (entries, none.clone());
    for (entries, bytes) in [
        text(json!({})),
        text(json!({"ca.crt": ""})),
        text(json!({"ca.crt": " "})),
        text(json!({"ca.crt": list})),
        (none.clone(), json!({"ca.crt": NOT_TEXT})),
        text(json!({"ca.crt": certificate, "ca.crl": " "})),
        text(json!({"ca.crt": certificate, "ca.crl": "x"})),
        text(json!({"ca.crt": certificate, "ca.crl": certificate})),
        (json!({"ca.crt": certificate}), json!({"ca.crl": NOT_TEXT})),
    ] {
        let secrets = [OWNER, FOREIGN].map(|namespace| secret(namespace, "ca", &entries, &bytes));
        check_closed(
            &[("auth-tls-secret", "ca")],
            &secrets,
            "annotation auth-tls-secret",
        );
    }
    check_closed(
        &[("auth-tls-secret", "ca")],
        &[],
        "annotation auth-tls-secret",
    );
}

/// A host as it is served, and after each change of its Secret as a translation of everything says.
#[test]
fn a_secret_that_goes_closes_the_host_until_it_is_back() {
    let secrets = authorities(&Authority::new());
    let mut objects = host(OWNER, [2019, 2020, 2021], &[("auth-tls-secret", "ca")]);
    objects.extend(secrets.clone());
    let mut resources = resources(&objects);
    let options = options();
    let mut translation = translate(&resources, &options);
    let served = ["/", "/guarded", "/other", "/sibling"].map(str::to_owned);
    assert_eq!(open_paths(&translation, HOST), served.clone().into());
    let name = ServerName::parse(HOST).unwrap();
    let key = ObjectKey::new(OWNER, "ca");
    for is_there in [false, true] {
        let mut changes = Changes::default();
        changes.add(match is_there {
            true => resources.apply(Object::from_value(secrets[0].clone()).unwrap()),
            false => resources.delete(Kind::Secret, &key),
        });
        let input = sluice_translate::Ingresses::new(&resources, &options);
        translation.update(&changes, &input);
        let whole = translate(&resources, &options);
        assert_eq!(json!(translation.config()), json!(whole.config()));
        let server = &translation.config().servers[&name];
        assert_eq!(server.client_certificates.is_some(), is_there);
        let open = open_paths(&translation, HOST);
        let expected = if is_there {
            served.clone().into()
        } else {
            BTreeSet::new()
        };
        assert_eq!(open, expected);
    }
}

/// It makes no difference which of two Ingresses has lost its guard.
#[test]
fn a_second_guard_of_the_host_that_is_lost_closes_it_too() {
    let mut objects = host(OWNER, [2019, 2020, 2021], &[("auth-tls-secret", "ca")]);
    objects.push(ingress(
        OWNER,
        "second",
        2022,
        "/second",
        &[("auth-tls-secret", "missing")],
    ));
    objects.extend(authorities(&Authority::new()));
    assert_eq!(open_paths(&translated(&objects), HOST), BTreeSet::new());
}

/// A namespace that means to guard what it has of a host and does not own the host guards nothing there, so none of it is served.
#[test]
fn a_guard_of_who_does_not_own_the_host_closes_what_its_namespace_has() {
    let mut objects = host(FOREIGN, [2020, 2021, 2019], &[("auth-tls-secret", "ca")]);
    objects.extend(authorities(&Authority::new()));
    let open = |objects: &[Value]| open_paths(&translated(objects), HOST);
    assert_eq!(open(&objects), ["/", "/other"].map(str::to_owned).into());
    // Behind the owner's guard the sibling has that one, as in ingress-nginx.
    let guarded = ingress(OWNER, "other", 2019, "/other", &[("auth-tls-secret", "ca")]);
    objects[2] = guarded;
    let expected = ["/", "/other", "/sibling"].map(str::to_owned);
    assert_eq!(open(&objects), expected.into());
}

/// A rule that is not read is of a host that its Ingress guards as a whole.
#[test]
fn rules_beyond_the_limit_are_of_hosts_that_are_closed() {
    for (annotation, value, expected) in [
        ("auth-tls-secret", "ca", [].as_slice()),
        ("whitelist-source-range", "192.0.2.0/24", &["/other"]),
    ] {
        let mut objects = host(OWNER, [2020, 2019, 2021], &[(annotation, value)]);
        let rule = objects[0]["spec"]["rules"][0].clone();
        let filler = json!({"host": "filler.example"});
        let rules = std::iter::repeat_n(filler, 1000).chain([rule]);
        objects[0]["spec"]["rules"] = rules.collect();
        objects.extend(authorities(&Authority::new()));
        let expected = expected.iter().map(|path| (*path).to_owned());
        assert_eq!(open_paths(&translated(&objects), HOST), expected.collect());
    }
}
