//! Paths whose patterns need a backtracking engine: the filter compares all of a host's with each request, so they have an end (R5).

mod configmap;

use serde_json::{Value, json};
use sluice_ir::{Action, HttpRoute, PathMatch};

use crate::configmap::{ingress, routes, translated};

const MOST: usize = 16;

fn is_backtracking(route: &&&HttpRoute) -> bool {
    matches!(&route.matches.path, PathMatch::Regex(regex) if regex.backtracking)
}

#[test]
fn a_namespace_has_so_many_on_a_host_and_the_rest_is_reported() {
    let paths: Vec<String> = (10..10 + MOST + 2)
        .map(|n| format!("/x{n}/(.)\\1"))
        .chain(["/plain/[a-z]+".to_owned()])
        .collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let guard = ("whitelist-source-range", "10.0.0.0/8");
    for guards in [false, true] {
        let mut annotations = json!({"use-regex": "true"});
        if guards {
            annotations[guard.0] = json!(guard.1);
        }
        let of = |namespace| ingress(namespace, "a.test", &annotations, &paths);
        let one: [Value; 1] = [of("a")];
        let translation = translated(&json!({}), &one);
        let all = routes(translation.config(), "a.test");
        assert_eq!(all.iter().filter(is_backtracking).count(), MOST);
        let closed = all.iter().filter(|it| it.action == Action::Denied).count();
        assert_eq!(closed, if guards { 2 } else { 0 }, "{all:#?}");
        let is_plain = |route: &&&HttpRoute| route.matches.path.text().starts_with("/plain");
        let plain = all.iter().find(is_plain).expect("a pattern of RE2");
        assert!(matches!(plain.action, Action::Forward(_)));
        let reports = translation.reports();
        let told = reports.iter().map(ToString::to_string);
        let told = told.filter(|it| it.contains("at most 16 patterns"));
        assert_eq!(told.count(), 2);
    }
}
