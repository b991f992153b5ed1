use super::*;
use crate::FilterCode;

fn names(scheme: Scheme, global: &GlobalConfig) -> Vec<String> {
    let quiet = Settings::new(FilterCode::Inline(vec![]), vec![]);
    let front = Front {
        scheme,
        global,
        settings: &quiet,
        discovery: Discovery::Table,
        routes: "http",
    };
    filters(&front)
        .into_iter()
        .map(|filter| filter.name)
        .collect()
}

#[test]
fn what_a_route_asks_comes_before_the_filter_and_the_router() {
    let order = [
        "envoy.filters.http.cdn_loop",
        "sluice.lookup",
        "sluice.lookup",
        "sluice.headers",
        "sluice.hidden",
        "sluice.policy",
        "sluice.lookup",
        "sluice",
        "envoy.filters.http.router",
    ];
    assert_eq!(names(Scheme::Http, &GlobalConfig::default()), order);
}

#[test]
fn only_https_promises_https() {
    let promises = |scheme, global: &GlobalConfig| {
        names(scheme, global)
            .iter()
            .any(|name| name == "sluice.hsts")
    };
    assert!(
        promises(Scheme::Https, &GlobalConfig::default())
            && !promises(Scheme::Http, &GlobalConfig::default())
    );
    let global = GlobalConfig {
        hsts: None,
        ..GlobalConfig::default()
    };
    assert_eq!(names(Scheme::Https, &global), names(Scheme::Http, &global));
}

#[test]
fn requests_are_logged_only_when_asked_for() {
    let quiet = Settings::new(FilterCode::Inline(vec![]), vec![]);
    let logs = |settings: &Settings| {
        let global = &GlobalConfig::default();
        let front = Front {
            scheme: Scheme::Http,
            global,
            settings,
            discovery: Discovery::Table,
            routes: "http",
        };
        manager("http", None, &front).access_log.len()
    };
    assert_eq!(logs(&quiet), 0);
    assert_eq!(
        logs(&Settings {
            request_log: true,
            ..quiet.clone()
        }),
        1
    );
    assert_eq!(
        logs(&Settings {
            access_log: true,
            ..quiet
        }),
        1
    );
}
