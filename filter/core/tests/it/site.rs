//! Tables with one route, and clients that keep their cookies.

use std::borrow::Cow;
use std::num::{NonZeroU8, NonZeroU16, NonZeroU32};
use std::time::Duration;

use sluice_filter_config::{self as wire, Version};
use sluice_filter_core::{
    Decision, Fact, Outcome, Request, RequestToken, SplitMix64, Tables, Timestamp,
};

pub const ROUTE: &str = "shop.example/";
pub const SHOP: &str = "ns/shop/80";
pub const CANARY: &str = "ns/canary/80";

/// Headers, and a connection without TLS.
#[derive(Clone, Debug, Default)]
pub struct Headers(pub Vec<(String, String)>);

impl Headers {
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }
}

impl Request for Headers {
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| Cow::Borrowed(value.as_bytes()))
    }

    fn fact(&self, _fact: Fact) -> Option<Cow<'_, [u8]>> {
        None
    }
}

/// A request in flight.
#[derive(Debug)]
pub struct Sent {
    pub candidates: Vec<String>,
    pub backend: Option<String>,
    pub token: Option<RequestToken>,
}

impl Sent {
    pub fn first(&self) -> &str {
        &self.candidates[0]
    }
}

pub struct Site {
    pub tables: Tables,
    pub now: Timestamp,
    pub rng: SplitMix64,
    pub route: wire::Route,
    pub shop: wire::Backend,
    pub canary: wire::Backend,
    version: u128,
}

impl Site {
    /// A route that begins sessions, its backend with three attempts, and a canary backend that nobody is sent to.
    pub fn new(endpoints: usize) -> Self {
        let endpoints = (1..=endpoints)
            .map(|n| wire::Endpoint::at(address(n)))
            .collect();
        let backend = |name: &str, endpoints| wire::Backend {
            attempts: NonZeroU8::new(3).unwrap(),
            ..wire::Backend::round_robin(name, endpoints)
        };
        let route = wire::Route {
            session_path: Some("/".into()),
            ..wire::Route::to(SHOP)
        };
        let mut site = Site {
            tables: Tables::default(),
            now: Timestamp::from_nanos(1_700_000_000_000_000_000),
            rng: SplitMix64(1),
            route,
            shop: backend("ns-shop-80", endpoints),
            canary: backend("ns-canary-80", vec![wire::Endpoint::at("10.9.0.1:80")]),
            version: 0,
        };
        site.publish();
        site
    }

    /// A site whose backend is like this.
    pub fn like(endpoints: usize, change: impl FnOnce(&mut wire::Backend)) -> Self {
        let mut site = Site::new(endpoints);
        change(&mut site.shop);
        site.publish();
        site
    }

    /// Replaces the tables by this configuration, as a controller that has just started does.
    pub fn publish(&mut self) {
        self.version += 1;
        let snapshot = wire::Snapshot {
            version: Version::new(1, self.version),
            routes: [(ROUTE.to_owned(), self.route.clone())].into(),
            backends: [
                (SHOP.to_owned(), self.shop.clone()),
                (CANARY.to_owned(), self.canary.clone()),
            ]
            .into(),
            hosts: [].into(),
        };
        self.tables
            .apply(wire::Tables::Snapshot(snapshot), self.now, &mut self.rng)
            .unwrap();
    }

    /// The same as a change of the backend alone.
    pub fn publish_shop(&mut self) {
        let base = Version::new(1, self.version);
        self.version += 1;
        let delta = wire::Delta {
            backends: [(SHOP.to_owned(), self.shop.clone())].into(),
            ..wire::Delta::between(base, Version::new(1, self.version))
        };
        self.tables
            .apply(wire::Tables::Delta(delta), self.now, &mut self.rng)
            .unwrap();
    }

    pub fn pass(&mut self, seconds: u64) {
        self.now = self.now.after(Duration::from_secs(seconds));
    }

    pub fn send(&mut self, request: &Headers) -> Sent {
        match self.tables.decide(ROUTE, request, self.now, &mut self.rng) {
            Decision::Forward(forward) => Sent {
                candidates: forward.candidates.split(',').map(str::to_owned).collect(),
                backend: forward.backend.map(str::to_owned),
                token: forward.token,
            },
            other => panic!("{other:?}"),
        }
    }

    /// The cookie that the response sets when this endpoint gives it.
    pub fn respond(&mut self, sent: &Sent, endpoint: &str) -> Option<String> {
        self.tables
            .session_cookie(sent.token.as_ref()?, endpoint, false, self.now)
    }

    /// The whole of a request: the first candidate answers it with a status.
    pub fn serve(&mut self, status: u16) -> String {
        let sent = self.send(&Headers::default());
        let first = sent.first().to_owned();
        self.end(sent, &first, status, 1);
        first
    }

    pub fn end(&mut self, sent: Sent, endpoint: &str, status: u16, attempts: u32) {
        let response_time = Some(Duration::from_millis(10));
        let outcome = Outcome {
            endpoint: Some(endpoint),
            status: Some(status),
            response_time,
            attempts,
        };
        if let Some(token) = sent.token {
            self.tables.complete(token, Some(&outcome), self.now);
        }
    }

    /// How often each endpoint is the first candidate.
    pub fn hits(&mut self, requests: usize) -> Vec<usize> {
        let mut hits = vec![0; self.shop.endpoints.len()];
        for _ in 0..requests {
            let first = self.serve(200);
            hits[self
                .shop
                .endpoints
                .iter()
                .position(|endpoint| endpoint.address == first)
                .unwrap()] += 1;
        }
        hits
    }
}

/// A browser: it sends back what it was given.
#[derive(Clone, Debug, Default)]
pub struct Client {
    cookie: Option<String>,
}

impl Client {
    pub fn with_cookie(cookie: &str) -> Self {
        Client {
            cookie: Some(cookie.to_owned()),
        }
    }

    pub fn headers(&self) -> Headers {
        let headers = Headers::default();
        self.cookie
            .iter()
            .fold(headers, |headers, cookie| headers.with("cookie", cookie))
    }

    /// One request that its first candidate answers; says who that was and whether a cookie was set.
    pub fn visit(&mut self, site: &mut Site) -> (String, bool) {
        let sent = site.send(&self.headers());
        let first = sent.first().to_owned();
        let set = site.respond(&sent, &first);
        site.end(sent, &first, 200, 1);
        let is_new = set.is_some();
        if let Some(pair) = set.as_deref().and_then(|set| set.split(';').next()) {
            self.cookie = Some(pair.to_owned());
        }
        (first, is_new)
    }
}

pub fn address(n: usize) -> String {
    format!("10.0.{}.{}:80", n / 250, n % 250)
}

pub fn affinity(mode: wire::AffinityMode) -> Option<wire::Affinity> {
    let cookie = wire::Cookie {
        name: "route".into(),
        ..wire::Cookie::default()
    };
    Some(wire::Affinity {
        mode,
        cookie,
        change_on_failure: false,
    })
}

pub fn outlier(consecutive: u16, max_ejected: u16, panic_threshold: u16) -> Option<wire::Outlier> {
    Some(wire::Outlier {
        consecutive_5xx: NonZeroU16::new(consecutive).unwrap(),
        base_ejection: NonZeroU32::new(30).unwrap(),
        max_ejected: max_ejected.try_into().unwrap(),
        panic_threshold: panic_threshold.try_into().unwrap(),
    })
}

pub fn hash_by(expression: &str) -> wire::HashKey {
    let (key, unknown) = wire::HashKey::parse(expression);
    assert!(unknown.is_empty(), "{unknown:?}");
    key
}
