//! Names of requests in reports. Recorded ones whose lines are alike are told apart by headers, cookies and bodies.
//!
//! Headers of clients may be credentials: values are shown of headers that never are, and these come first; others are numbered.

use std::collections::{BTreeMap, BTreeSet};

use crate::probe::Probe;
use crate::text::printable;

/// Request headers whose values are shown; a name that ends in `-` stands for all that begin with it.
const PLAIN: &[&str] = &[
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "access-control-request-",
    "cache-control",
    "content-type",
    "origin",
    "range",
    "sec-fetch-",
    "user-agent",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-requested-with",
];

/// A part of a request that may tell it from others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Header(String),
    /// By its name.
    Cookie(String),
    Body,
}

/// Names of all, in their order.
pub(crate) fn names(probes: &[Probe]) -> Vec<String> {
    let mut names: Vec<String> = probes.iter().map(Probe::shown).collect();
    let mut alike: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, name) in names.iter().enumerate() {
        alike.entry(name).or_default().push(place);
    }
    let groups: Vec<Vec<usize>> = alike.into_values().filter(|it| it.len() > 1).collect();
    for places in groups {
        let group = || places.iter().filter_map(|place| probes.get(*place));
        for (place, told) in places
            .iter()
            .zip(distinctions(&group().collect::<Vec<_>>()))
        {
            if let Some(name) = names.get_mut(*place).filter(|_| !told.is_empty()) {
                *name += &format!(" ({})", printable(&told));
            }
        }
    }
    names
}

/// Distinctions of requests that are alike, one text each.
fn distinctions(group: &[&Probe]) -> Vec<String> {
    let parts: Vec<BTreeMap<Part, &[u8]>> = group.iter().map(|probe| parts(probe)).collect();
    let all: BTreeSet<&Part> = parts.iter().flat_map(BTreeMap::keys).collect();
    let mut differing: Vec<Differing<'_>> = all
        .into_iter()
        .map(|part| Differing::new(part, &parts))
        .filter(|differing| differing.count > 1)
        .collect();
    differing.sort_by_key(|it| (it.part.plain_name().is_none(), std::cmp::Reverse(it.count)));
    let mut chosen: Vec<&Differing<'_>> = Vec::new();
    let mut classes = vec![0; group.len()];
    for it in &differing {
        let split = split(&classes, &it.numbers);
        if split != classes {
            chosen.push(it);
            classes = split;
        }
    }
    (0..group.len())
        .map(|n| {
            let texts = chosen.iter().map(|it| it.text(n));
            texts.collect::<Vec<_>>().join(", ")
        })
        .collect()
}

/// Classes, each split by the numbers of its members.
fn split(classes: &[usize], numbers: &[usize]) -> Vec<usize> {
    let mut known: Vec<(usize, usize)> = Vec::new();
    let pairs = classes.iter().copied().zip(numbers.iter().copied());
    pairs.map(|pair| number(&mut known, pair)).collect()
}

/// The place of a value among those that are known, and its own behind them.
fn number<T: PartialEq>(known: &mut Vec<T>, value: T) -> usize {
    let place = known.iter().position(|it| *it == value);
    place.unwrap_or_else(|| {
        known.push(value);
        known.len() - 1
    })
}

fn parts(probe: &Probe) -> BTreeMap<Part, &[u8]> {
    let mut parts = BTreeMap::new();
    for (name, value) in &probe.request.headers {
        if name != "cookie" {
            parts.insert(Part::Header(name.clone()), value.as_bytes());
            continue;
        }
        for pair in value.split(';') {
            let (name, value) = pair.trim().split_once('=').unwrap_or((pair.trim(), ""));
            parts.insert(Part::Cookie(name.to_owned()), value.as_bytes());
        }
    }
    if !probe.body.is_empty() {
        parts.insert(Part::Body, &probe.body);
    }
    parts
}

/// A part that is not the same in all of a group.
struct Differing<'p> {
    part: &'p Part,
    /// Of each request.
    values: Vec<Option<&'p [u8]>>,
    /// Equal values have equal numbers.
    numbers: Vec<usize>,
    /// Different values.
    count: usize,
}

impl<'p> Differing<'p> {
    fn new(part: &'p Part, all: &[BTreeMap<Part, &'p [u8]>]) -> Self {
        let values: Vec<_> = all.iter().map(|parts| parts.get(part).copied()).collect();
        let mut known = Vec::new();
        let numbers = values.iter().map(|value| number(&mut known, *value));
        let numbers = numbers.collect();
        Differing {
            part,
            values,
            numbers,
            count: known.len(),
        }
    }

    fn text(&self, n: usize) -> String {
        let value = self.values.get(n).copied().flatten();
        let number = self.numbers.get(n).copied().unwrap_or_default() + 1;
        match (value, self.part.plain_name()) {
            (None, _) => format!("no {}", self.part.name()),
            (Some(value), Some(name)) => format!("{name}: {}", String::from_utf8_lossy(value)),
            (Some(_), None) => format!("{} no. {number}", self.part.name()),
        }
    }
}

impl Part {
    fn name(&self) -> String {
        match self {
            Part::Header(name) => name.clone(),
            Part::Cookie(name) => format!("cookie {name}"),
            Part::Body => "body".to_owned(),
        }
    }

    /// Of a header whose value is no secret.
    fn plain_name(&self) -> Option<&str> {
        match self {
            Part::Header(name) => {
                let is_plain = PLAIN
                    .iter()
                    .any(|plain| name == plain || plain.ends_with('-') && name.starts_with(plain));
                is_plain.then_some(name.as_str())
            }
            Part::Cookie(_) | Part::Body => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::body::Bytes;
    use sluice_explain::Request;

    use super::*;
    use crate::site::Context;

    fn probe(url: &str, headers: &[&str], body: &str) -> Probe {
        let headers: Vec<String> = headers.iter().map(|&line| line.to_owned()).collect();
        Probe {
            request: Request::parse(url, "GET", &headers).unwrap(),
            body: Bytes::from(body.to_owned()),
            context: Context::unknown("a.b"),
            is_ours: false,
        }
    }

    fn named(all: &[(&[&str], &str)]) -> Vec<String> {
        let probes = all
            .iter()
            .map(|(headers, body)| probe("http://a.b/", headers, body));
        let names = names(&probes.collect::<Vec<_>>());
        let line = "GET http://a.b/";
        let told = names.iter().map(|name| name.strip_prefix(line).unwrap());
        told.map(str::to_owned).collect()
    }

    #[test]
    fn requests_that_are_alike_are_told_apart_by_what_may_be_shown_first() {
        for (all, expected) in [
            (vec![(&["Accept: a"][..], "")], vec![""]),
            (
                vec![
                    (&["Accept: a", "X: 1"][..], ""),
                    (&["Accept: b", "X: 2"], ""),
                ],
                vec![" (accept: a)", " (accept: b)"],
            ),
            (
                vec![(&["Accept: a"][..], ""), (&[], "")],
                vec![" (accept: a)", " (no accept)"],
            ),
            (
                vec![(&[][..], "one"), (&[], "two"), (&[], "")],
                vec![" (body no. 1)", " (body no. 2)", " (no body)"],
            ),
            (
                vec![
                    (&["Cookie: s=1; same=1"][..], ""),
                    (&["Cookie: s=2; same=1"], ""),
                    (&["Cookie: s=2; same=1", "Origin: http://o"], ""),
                ],
                vec![
                    " (no origin, cookie s no. 1)",
                    " (no origin, cookie s no. 2)",
                    " (origin: http://o, cookie s no. 2)",
                ],
            ),
        ] {
            assert_eq!(named(&all), expected);
        }
    }

    /// Whatever the header is: of two requests, each has its name, and no value that may be a secret.
    #[test]
    fn no_two_names_are_alike_and_no_secret_is_in_one() {
        let begun_alike = PLAIN.iter().map(|plain| match plain.strip_suffix('-') {
            Some(begin) => begin.to_owned(),
            None => format!("{plain}-token"),
        });
        let others = [
            "Authorization",
            "X-Api-Key",
            "Cookie",
            "Referer",
            "X-Anything",
        ];
        for name in begun_alike.chain(others.map(str::to_owned)) {
            let [one, other] = [1, 2].map(|n| format!("{name}: session=secret{n}"));
            let names = named(&[(&[&one], ""), (&[&other], ""), (&[], "")]);
            let different: BTreeSet<&String> = names.iter().collect();
            assert_eq!(different.len(), 3, "{names:?}");
            assert!(!names.concat().contains("secret"), "{names:?}");
        }
    }

    #[test]
    fn other_urls_are_names_enough() {
        let probes = [
            probe("http://a.b/1", &["Accept: a"], ""),
            probe("http://a.b/2", &["Accept: b"], ""),
        ];
        assert_eq!(names(&probes), ["GET http://a.b/1", "GET http://a.b/2"]);
    }
}
