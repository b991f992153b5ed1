//! Requests for a model, and those of records, with whose they are.

mod redirects;

use std::sync::Arc;

use sluice_ir::{
    Action, AllowedOrigin, AllowedOrigins, BackendId, Canary, CanaryHeader, CanaryRules,
    CanaryValue, Config, Cors, HttpRoute, HttpsRedirect, PathMatch, PathRegex, Policy, RouteId,
    Server, ServerName,
};

use super::*;

const ALL: usize = 1000;

fn route(server: &ServerName, path: PathMatch, service: &str) -> HttpRoute {
    let backend = BackendId::new(format!("shop/{service}/80"));
    HttpRoute::new(server, path, Action::to(backend), Arc::default())
}

fn with_cors() -> Policy {
    let origin = AllowedOrigin::Exact("https://o.test".to_owned());
    Policy {
        cors: Some(Cors {
            origins: AllowedOrigins::Only(vec![origin]),
            allow_methods: "GET".to_owned(),
            allow_headers: String::new(),
            allow_credentials: false,
            expose_headers: None,
            max_age: 1,
        }),
        ..Policy::default()
    }
}

/// Hosts `a.test` with paths of all kinds, `*.w.test`, and one that redirects to https.
fn config() -> Config {
    let mut config = Config::default();
    let mut add = |host: &str, aliases: &[&str], routes: &dyn Fn(&ServerName) -> Vec<HttpRoute>| {
        let name = ServerName::parse(host).unwrap();
        let aliases = aliases
            .iter()
            .map(|alias| ServerName::parse(alias).unwrap());
        let server = Server {
            aliases: aliases.collect(),
            routes: routes(&name),
            ..Server::default()
        };
        config.servers.insert(name, Arc::new(server));
    };
    add("a.test", &["alias.test"], &|name| {
        let regex = PathRegex::plain("/v[0-9]+/(x|y)".to_owned());
        let mut prefix = route(name, PathMatch::Prefix("/".to_owned()), "web");
        prefix.policy = Arc::new(with_cors());
        vec![
            route(name, PathMatch::Exact("/b".to_owned()), "exact"),
            route(name, PathMatch::Regex(regex), "pattern"),
            prefix,
        ]
    });
    add("*.w.test", &[], &|name| {
        let mut wild = route(name, PathMatch::Prefix("/w".to_owned()), "wild");
        wild.canaries = vec![Canary {
            backend: BackendId::new("shop/new/80"),
            https_backend: None,
            rules: CanaryRules {
                header: Some(CanaryHeader {
                    name: "x-new".to_owned(),
                    value: CanaryValue::AlwaysNever,
                }),
                cookie: Some("new".to_owned()),
                weight: 10,
                total: 100,
            },
            sticky: false,
        }];
        vec![wild]
    });
    add("s.test", &[], &|name| {
        let mut secure = route(name, PathMatch::Prefix("/s".to_owned()), "secure");
        secure.https_redirect = Some(HttpsRedirect {
            status: 308,
            keep_trailing_slash: true,
            port: None,
        });
        vec![secure]
    });
    config
}

/// The service of a route is the name of its Ingress.
fn owner(config: &Config) -> impl Fn(&RouteId) -> Option<String> {
    |id: &RouteId| {
        let route = config.routes().find(|route| route.id == *id)?;
        let service = route.primary_backend()?.as_str().split('/').nth(1)?;
        Some(format!("shop/{service}"))
    }
}

fn selection() -> Selection {
    Selection {
        methods: ["GET", "HEAD", "OPTIONS"].map(str::to_owned).to_vec(),
        hosts: Vec::new(),
        most: ALL,
    }
}

fn planned(fill: impl Fn(&mut Plan, &Site<'_>)) -> Plan {
    let config = config();
    let owner = owner(&config);
    let site = Site {
        config: &config,
        owner: &owner,
    };
    let mut plan = Plan::default();
    fill(&mut plan, &site);
    plan
}

fn of_ingresses(selection: &Selection) -> Plan {
    planned(|plan, site| plan.add_ingresses(site, selection))
}

fn requests(plan: &Plan, ingress: &str) -> Vec<String> {
    let subject = Subject::Ingress(format!("shop/{ingress}"));
    let all = plan
        .probes
        .iter()
        .filter(|probe| probe.context.subject == subject);
    all.map(|probe| probe.request.to_string()).collect()
}

#[test]
fn each_path_gets_requests_and_what_is_beside_it_is_anothers() {
    let plan = of_ingresses(&selection());
    for (ingress, taken, anothers) in [
        ("exact", "GET http://a.test/b", "GET http://a.test/b/"),
        (
            "exact",
            "GET http://alias.test/b",
            "GET http://a.test/b/sluice-compare",
        ),
        ("pattern", "GET http://a.test/v0/x", "GET http://a.test/"),
        ("pattern", "GET http://a.test/v1/y", "GET http://a.test/b"),
        ("web", "GET http://a.test/b/", "GET http://a.test/b"),
        (
            "web",
            "GET http://a.test/?sluice-compare=1&b=%20",
            "GET http://a.test/v0/x",
        ),
        (
            "wild",
            "GET http://sluice-compare.w.test/w/",
            "GET http://a.test/w",
        ),
    ] {
        let requests = requests(&plan, ingress);
        assert!(
            requests.contains(&taken.to_owned()),
            "{ingress} {taken}: {requests:?}"
        );
        assert!(
            !requests.contains(&anothers.to_owned()),
            "{ingress} {anothers}"
        );
    }
    // Beside the only path of a host there is nothing, and that is compared as well.
    let beside = "GET http://sluice-compare.w.test/w-sluice-compare".to_owned();
    assert!(requests(&plan, "wild").contains(&beside));
    let left_out: usize = plan.subjects.values().flat_map(|it| it.values()).sum();
    assert_eq!(left_out, 0);
}

#[test]
fn what_decides_beside_the_path_is_asked_for() {
    let plan = of_ingresses(&selection());
    let has = |method: &str, name: &str, value: &str| {
        plan.probes.iter().any(|probe| {
            probe.request.method == method && probe.request.header(name).as_deref() == Some(value)
        })
    };
    assert!(has("OPTIONS", "origin", "https://o.test"));
    assert!(has("GET", "origin", "https://o.test"));
    assert!(has("GET", "origin", "https://sluice-compare.invalid"));
    for value in ["always", "never"] {
        assert!(has("GET", "x-new", value));
        assert!(has("GET", "cookie", &format!("new={value}")));
    }
    let is_shared = |cookie: Option<&str>| {
        let mut all = plan.probes.iter().filter(|probe| {
            let is_wild = probe.context.subject == Subject::Ingress("shop/wild".to_owned());
            let has_header = probe.request.header("x-new").is_some();
            is_wild && !has_header && probe.request.header("cookie").as_deref() == cookie
        });
        all.next().unwrap().context.is_shared()
    };
    assert!(is_shared(None), "by weight");
    assert!(!is_shared(Some("new=always")), "the cookie decides");
}

#[test]
fn http_is_asked_for_everywhere_and_https_where_it_is_served() {
    let plan = of_ingresses(&selection());
    let secure = requests(&plan, "secure");
    for url in [
        "GET http://s.test/s",
        "GET https://s.test/s",
        "GET https://s.test/s/",
    ] {
        assert!(secure.contains(&url.to_owned()), "{url}: {secure:?}");
    }
    let web = requests(&plan, "web");
    assert!(
        web.iter().all(|request| request.contains("http://")),
        "{web:?}"
    );
}

/// Whatever the limit: no path goes without a request for the sake of a second one of another, and those that do are said.
#[test]
fn every_path_is_asked_before_one_is_asked_twice() {
    let config = config();
    let owner = |_: &RouteId| Some("shop/all".to_owned());
    let site = Site {
        config: &config,
        owner: &owner,
    };
    let firsts = probes(&site);
    let firsts = firsts.iter().filter_map(|path| path.probes.first());
    let firsts: BTreeSet<String> = firsts.map(|probe| probe.request.to_string()).collect();
    assert!(firsts.len() > 3, "{firsts:?}");
    for most in 1..firsts.len() + 3 {
        let mut plan = Plan::default();
        plan.add_ingresses(
            &site,
            &Selection {
                most,
                ..selection()
            },
        );
        let asked = plan.probes.iter().map(|probe| probe.request.to_string());
        let asked: Vec<String> = asked.collect();
        let all = asked.iter().take(firsts.len());
        assert!(
            all.clone().all(|request| firsts.contains(request)),
            "{most}: {asked:?}"
        );
        let left_out = &plan.subjects[&Subject::Ingress("shop/all".to_owned())];
        let never = left_out.get(reasons::PATHS).copied().unwrap_or_default();
        assert_eq!(never > 0, most < firsts.len(), "{most}: {left_out:?}");
    }
}

#[test]
fn methods_hosts_and_numbers_are_selected() {
    let two = Selection {
        most: 2,
        ..selection()
    };
    let plan = of_ingresses(&two);
    assert_eq!(requests(&plan, "web").len(), 2);
    let web = &plan.subjects[&Subject::Ingress("shop/web".to_owned())];
    assert!(web[reasons::MOST] > 1, "{web:?}");
    let head = Selection {
        methods: vec!["HEAD".to_owned()],
        ..selection()
    };
    assert!(of_ingresses(&head).probes.is_empty());
    let host = Selection {
        hosts: vec!["s.test".to_owned()],
        ..selection()
    };
    let plan = of_ingresses(&host);
    assert!(
        plan.probes
            .iter()
            .all(|probe| probe.request.host == "s.test")
    );
    assert_eq!(plan.subjects.len(), 1, "{:?}", plan.subjects.keys());
}

fn recorded(url: &str, method: &str, upstream: Option<&str>) -> Result<Recorded, &'static str> {
    Ok(Recorded {
        request: Request::parse(url, method, &[]).unwrap(),
        has_scheme: false,
        upstream: upstream.map(str::to_owned),
        body: None,
    })
}

#[test]
fn requests_that_may_be_for_further_hosts_are_counted() {
    let mut config = config();
    for host in ["b.test", "c.test"] {
        let name = ServerName::parse(host).unwrap();
        let routes = vec![route(&name, PathMatch::Prefix("/".to_owned()), "web")];
        let server = Server {
            routes,
            ..Server::default()
        };
        config.servers.insert(name, Arc::new(server));
    }
    let owner = owner(&config);
    let site = Site {
        config: &config,
        owner: &owner,
    };
    let mut plan = Plan::default();
    for (path, upstream) in [
        ("/", "shop-web-80"),
        ("/1", "shop-web-80"),
        ("/b", "shop-exact-80"),
        ("/s", "shop-secure-80"),
        ("/", "shop-gone-80"),
    ] {
        let url = format!("http://unknown.invalid{path}");
        plan.add_recorded(
            Some(&site),
            recorded(&url, "GET", Some(upstream)),
            &selection(),
        );
    }
    assert_eq!(plan.others.get(reasons::OTHER_HOSTS), Some(&2));
    let hosts: Vec<_> = plan.probes.iter().map(|it| &it.request.host).collect();
    assert_eq!(hosts, ["a.test", "a.test", "a.test", "s.test"]);
}

#[test]
fn a_recorded_request_is_sent_once_to_whose_it_is() {
    let plan = planned(|plan, site| {
        for (url, method, upstream) in [
            ("http://a.test/b", "GET", None),
            ("http://a.test/b", "GET", None),
            ("http://s.test/s", "GET", None),
            ("http://unknown.invalid/b", "GET", Some("shop-exact-80")),
            ("http://unknown.invalid/s/1", "GET", Some("shop-secure-80")),
            ("http://unknown.invalid/s/1", "GET", Some("shop-web-80")),
            ("http://unknown.invalid/x", "GET", Some("shop-gone-80")),
            ("http://other.test/", "GET", None),
            ("http://a.test/b", "POST", None),
            ("http://a.test/b", "DELETE", None),
        ] {
            plan.add_recorded(Some(site), recorded(url, method, upstream), &selection());
        }
        plan.add_recorded(Some(site), Err(reasons::UNREADABLE), &selection());
        plan.add_recorded(Some(site), Err(reasons::NAMELESS), &selection());
        plan.expect_ingresses(site);
    });
    let sent: Vec<String> = plan
        .probes
        .iter()
        .map(|probe| probe.request.to_string())
        .collect();
    let expected = [
        "GET http://a.test/b",
        // http is redirected there, and a log of it has another status than that.
        "GET https://s.test/s",
        "GET https://s.test/s/1",
        "GET http://a.test/s/1",
    ];
    assert_eq!(sent, expected);
    for (reason, count) in [
        (reasons::UPSTREAM, 1),
        (reasons::HOST, 1),
        (reasons::BODY, 1),
        (reasons::UNREADABLE, 1),
        (reasons::NAMELESS, 1),
    ] {
        assert_eq!(plan.others.get(reason), Some(&count), "{reason}");
    }
    let exact = &plan.subjects[&Subject::Ingress("shop/exact".to_owned())];
    assert_eq!(exact[reasons::METHOD], 1);
    assert!(
        plan.subjects
            .contains_key(&Subject::Ingress("shop/wild".to_owned()))
    );
}

#[test]
fn without_ingresses_hosts_are_judged_and_not_too_many() {
    let mut plan = Plan::default();
    for number in 0..MOST_HOSTS + 5 {
        let url = format!("http://h{number}.test/");
        plan.add_recorded(None, recorded(&url, "GET", None), &selection());
    }
    plan.add_recorded(
        None,
        recorded("http://x/", "GET", Some("a-b-80")),
        &selection(),
    );
    assert_eq!(plan.probes.len(), MOST_HOSTS);
    assert_eq!(plan.others[reasons::HOSTS], 5);
    assert_eq!(plan.others[reasons::UPSTREAM], 1);
    let first = Subject::Host("h0.test".to_owned());
    assert_eq!(plan.probes[0].context.subject, first);
}
