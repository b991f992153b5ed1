use std::collections::BTreeMap;

use super::*;
use crate::SHARDS;

fn entry(host: &str, path: &str, exact: bool) -> PathEntry {
    PathEntry {
        path: path.to_owned(),
        exact,
        profile: "p".to_owned(),
        route: format!("{host} {path}"),
        backend: String::new(),
    }
}

fn hosts(named: &[(&str, &[(&str, bool)])], certificates: &[&str]) -> Hosts {
    let entries = |host: &str, paths: &[(&str, bool)]| {
        let paths = paths.iter().map(|(path, exact)| entry(host, path, *exact));
        (host.to_owned(), paths.collect::<Vec<_>>())
    };
    let mut shards = vec![Shard::default(); SHARDS];
    for (host, paths) in named.iter().map(|(host, paths)| entries(host, paths)) {
        shards[shard_of(host.as_bytes())].hosts.insert(host, paths);
    }
    for name in certificates {
        let of = &mut shards[shard_of(name.as_bytes())].certificates;
        of.insert((*name).to_owned(), (*name).to_owned());
    }
    let (index, files) = written(&shards);
    first(&index, &files)
}

/// The first reading of files of which none is bad.
fn first(index: &Index, files: &BTreeMap<String, Vec<u8>>) -> Hosts {
    let (hosts, errors) = Hosts::default().updated(index, |file| Ok(files[file].clone()));
    assert_eq!(errors, []);
    hosts
}

fn written(shards: &[Shard]) -> (Index, BTreeMap<String, Vec<u8>>) {
    let texts = shards.iter().map(|shard| shard.to_json().into_bytes());
    let named: Vec<_> = texts.map(|text| (content_name(&text), text)).collect();
    let index = Index::new("t", named.iter().map(|(name, _)| name.clone()));
    (index, named.into_iter().collect())
}

fn with_host(mut shards: Vec<Shard>, host: &str) -> Vec<Shard> {
    let shard = &mut shards[shard_of(host.as_bytes())];
    let paths = vec![entry(host, "/", false)];
    shard.hosts.insert(host.to_owned(), paths);
    shards
}

type Read = fn(Vec<u8>) -> io::Result<Vec<u8>>;

/// Missing, truncated, somebody else's, empty.
const BROKEN: [Read; 4] = [
    |_| Err(io::ErrorKind::NotFound.into()),
    |mut text| Ok(text.drain(..text.len() / 2).collect()),
    |_| Ok(b"{\"hosts\":{\"\":[]},\"certificates\":{}}".into()),
    |_| Ok(Vec::new()),
];

/// Answers of a table for a name: the route, the name in the table, and the certificate.
fn answers(hosts: &Hosts, name: &str) -> [Result<Option<String>, Closed>; 3] {
    let name = name.as_bytes();
    let route = |found: &Found| found.route.to_string();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    [
        hosts.find(name, b"/").map(|found| found.map(route)),
        hosts.name(name).map(|found| found.as_deref().map(text)),
        hosts.certificate(name).map(|found| found.map(text)),
    ]
}

#[test]
fn only_shards_that_are_new_are_read_and_a_whole_table_stays_while_one_is_bad() {
    let one = with_host(vec![Shard::default(); SHARDS], "a.test");
    let (index, files) = written(&one);
    let before = first(&index, &files);
    let (index, files) = written(&with_host(with_host(one, "b.test"), "c.test"));
    let mut read = 0;
    let count = |file: &str| {
        read += 1;
        Ok(files[file].clone())
    };
    let (after, errors) = before.updated(&index, count);
    assert_eq!((read, errors.len()), (2, 0));
    let has = |hosts: &Hosts, host: &str| hosts.find(host.as_bytes(), b"/").unwrap().is_some();
    assert!(
        ["a.test", "b.test", "c.test"]
            .iter()
            .all(|host| has(&after, host))
    );
    for breaks in BROKEN {
        let mut left = 1;
        let load = |file: &str| {
            left -= 1;
            let text = files[file].clone();
            if left < 0 { breaks(text) } else { Ok(text) }
        };
        let (kept, errors) = before.updated(&index, load);
        assert_eq!(errors.len(), 1);
        assert!(kept.is_whole());
        let has = ["a.test", "b.test", "c.test"].map(|host| has(&kept, host));
        assert_eq!(has, [true, false, false]);
    }
}

/// Hosts of the table, two of its wildcard, others, and a request without a host.
fn names() -> Vec<String> {
    let own = (0..SHARDS).map(|n| format!("app-{n}.test"));
    let others = [
        "x.b.test",
        "y.b.test",
        "nobody",
        "no.body.test",
        "2001:db8::1",
        "",
    ];
    own.chain(others.map(str::to_owned)).collect()
}

fn shards_of_names() -> Vec<Shard> {
    let own = (0..SHARDS).map(|n| format!("app-{n}.test"));
    let named = own.chain(["*.b.test".to_owned(), String::new()]);
    named.fold(vec![Shard::default(); SHARDS], |shards, name| {
        let mut shards = with_host(shards, &name);
        let certificates = &mut shards[shard_of(name.as_bytes())].certificates;
        certificates.insert(name.clone(), format!("of {name}"));
        shards
    })
}

/// True if a bad shard may have the name; and if it may have what all others get, where the name is nowhere.
fn may_have(bad: usize, name: &str) -> (bool, bool) {
    let is_named = name.starts_with("app-");
    let rest = name.split_once('.').filter(|_| !is_named);
    let wildcard = rest.map(|(_, rest)| shard_of(format!(".{rest}").as_bytes()));
    let others = (!is_named && !name.ends_with(".b.test")).then(|| shard_of(b""));
    let has_name = shard_of(name.as_bytes()) == bad || wildcard == Some(bad);
    (has_name, others == Some(bad))
}

#[test]
fn bad_shard_closes_what_may_be_in_it_and_nothing_else_until_it_is_good() {
    let (index, files) = written(&shards_of_names());
    let good = first(&index, &files);
    let load = |file: &str| Ok(files[file].clone());
    for bad in 0..SHARDS {
        let breaks = BROKEN[bad % BROKEN.len()];
        let mut number = 0;
        let broken = |file: &str| {
            number += 1;
            let text = files[file].clone();
            if number == bad + 1 {
                breaks(text)
            } else {
                Ok(text)
            }
        };
        let (hosts, errors) = Hosts::default().updated(&index, broken);
        assert_eq!((errors.len(), hosts.is_whole()), (1, false), "{bad}");
        for name in names() {
            let (has_name, has_others) = may_have(bad, &name);
            let [route, named, certificate] = answers(&good, &name);
            let closed = |it, is_closed| if is_closed { Err(Closed) } else { it };
            let expected = [
                closed(route, has_name || has_others),
                // A request without a host has no name in any shard.
                closed(named, has_name && !name.is_empty()),
                closed(certificate, has_name || has_others),
            ];
            assert_eq!(answers(&hosts, &name), expected, "{bad} {name}");
        }
        let (mended, errors) = hosts.updated(&index, load);
        assert_eq!(errors, []);
        let is_good = |name: &String| answers(&mended, name) == answers(&good, name);
        assert!(names().iter().all(is_good), "{bad}");
    }
}

#[test]
fn table_with_a_closed_shard_takes_the_changes_of_all_others() {
    let one = with_host(vec![Shard::default(); SHARDS], "a.test");
    let is_bad = |number: usize, host: &str| number == shard_of(host.as_bytes());
    let read = |before: &Hosts, shards: &[Shard], bad: &str| {
        let texts = shards.iter().map(|shard| shard.to_json().into_bytes());
        let names = texts
            .enumerate()
            .map(|(number, text)| match is_bad(number, bad) {
                true => "0".repeat(32),
                false => content_name(&text),
            });
        let (_, files) = written(shards);
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let load = |file: &str| files.get(file).cloned().ok_or_else(missing);
        before.updated(&Index::new("t", names), load).0
    };
    let found =
        |hosts: &Hosts, host: &str| hosts.find(host.as_bytes(), b"/").map(|it| it.is_some());
    let hosts = read(&Hosts::default(), &one, "a.test");
    let hosts = read(&hosts, &with_host(one.clone(), "b.test"), "a.test");
    assert_eq!(found(&hosts, "a.test"), Err(Closed));
    assert_eq!(found(&hosts, "b.test"), Ok(true));
    // Where no whole table was, the next bad one does not keep the first closed.
    let hosts = read(
        &hosts,
        &with_host(with_host(one, "b.test"), "c.test"),
        "c.test",
    );
    assert_eq!(found(&hosts, "a.test"), Ok(true));
    assert_eq!(found(&hosts, "c.test"), Err(Closed));
}

#[test]
fn nothing_is_said_of_a_table_that_was_not_read() {
    for name in ["a.test", "b"] {
        assert_eq!(answers(&Hosts::default(), name), [const { Err(Closed) }; 3]);
    }
}

#[test]
fn exact_names_come_before_wildcards_and_those_before_all_others() {
    let all: &[(&str, bool)] = &[("/", false)];
    let hosts = hosts(&[("a.b.test", all), ("*.b.test", all), ("", all)], &[]);
    for (host, expected) in [
        ("a.b.test", "a.b.test /"),
        ("x-1.b.test", "*.b.test /"),
        ("x_1.b.test", "*.b.test /"),
        ("c.a.b.test", " /"),
        (".b.test", " /"),
        ("x!.b.test", " /"),
        ("b.test", " /"),
        ("", " /"),
    ] {
        let found = hosts.find(host.as_bytes(), b"/x").unwrap().unwrap();
        assert_eq!(&*found.route, expected, "{host}");
        let name = hosts.name(host.as_bytes()).unwrap();
        let name = name.map(|name| String::from_utf8_lossy(&name).into_owned());
        assert_eq!(name.unwrap_or_default() + " /", expected, "{host}");
    }
}

#[test]
fn exact_path_comes_before_the_longest_prefix() {
    let paths: &[(&str, bool)] = &[
        ("/shop", true),
        ("/shop/", false),
        ("/shop/new", true),
        ("/", true),
    ];
    let hosts = hosts(&[("a.test", paths)], &[]);
    let found = |path: &str| {
        let found = hosts.find(b"a.test", path.as_bytes()).unwrap();
        found.map_or("", |found| &found.route)
    };
    assert_eq!(found("/shop"), "a.test /shop");
    assert_eq!(found("/shop/new"), "a.test /shop/new");
    assert_eq!(found("/shop/new/"), "a.test /shop/");
    assert_eq!(found("/shopping"), "");
    assert_eq!(found("/"), "a.test /");
    assert_eq!(hosts.find(b"b.test", b"/"), Ok(None));
}

#[test]
fn certificate_of_a_wildcard_is_for_one_label() {
    let hosts = hosts(&[], &["a.b.test", "*.b.test"]);
    let certificate = |name: &str| {
        let found = hosts.certificate(name.as_bytes()).unwrap();
        found.map(|found| String::from_utf8_lossy(found).into_owned())
    };
    assert_eq!(certificate("a.b.test").as_deref(), Some("a.b.test"));
    assert_eq!(certificate("x y.b.test").as_deref(), Some("*.b.test"));
    assert_eq!(certificate("c.a.b.test"), None);
    assert_eq!(certificate(""), None);
}
