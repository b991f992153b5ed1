//! `rewrite` of a `server-snippet` to another path: the changed path has the guards of where it arrives.

mod configmap;

use serde_json::{Value, json};
use sluice_ir::{Action, HttpRoute, PathMatch};
use sluice_translate::{DataPlane, Translation};

use crate::configmap::{ingress, routes, translated, translated_for};

/// As the chart of Nextcloud documents it.
const NEXTCLOUD: &str = "\
server_tokens off;
proxy_hide_header X-Powered-By;
rewrite ^/.well-known/webfinger /index.php/.well-known/webfinger last;
rewrite ^/.well-known/nodeinfo /index.php/.well-known/nodeinfo last;
rewrite ^/.well-known/host-meta /public.php?service=host-meta last;
rewrite ^/.well-known/host-meta.json /public.php?service=host-meta-json;
location = /.well-known/carddav { return 301 $scheme://$host/remote.php/dav; }
location = /robots.txt { allow all; log_not_found off; access_log off; }
location ~ ^/(?:build|tests|config|lib|3rdparty|templates|data)/ { deny all; }
location ~ ^/(?:autotest|occ|issue|indie|db_|console) { deny all; }
";

fn translated_on(
    data_plane: Option<DataPlane>,
    keys: &Value,
    annotations: &Value,
    paths: &[&str],
) -> Translation {
    translated_for(
        data_plane,
        keys,
        &[ingress("a", "a.test", annotations, paths)],
    )
}

fn snippet(text: &str) -> Value {
    json!({"server-snippet": text})
}

/// The first route of a pattern.
fn route_of(translation: &Translation, pattern: &str) -> Option<HttpRoute> {
    let snapshot = translation.snapshot();
    let all = routes(snapshot.config(), "a.test");
    let is_it = |path: &PathMatch| matches!(path, PathMatch::Regex(it) if it.pattern == pattern);
    let first = all.into_iter().find(|it| is_it(&it.matches.path))?;
    Some(first.clone())
}

fn reasons(translation: &Translation) -> Vec<String> {
    let reports = translation.reports().into_iter();
    let of_snippet = reports.filter(|it| it.field == "annotation server-snippet");
    of_snippet.map(|it| it.reason.clone()).collect()
}

fn are_all_closed(translation: &Translation) -> bool {
    let snapshot = translation.snapshot();
    let all = routes(snapshot.config(), "a.test");
    all.iter().all(|route| route.action == Action::Denied)
}

fn shown(route: &HttpRoute) -> String {
    serde_json::to_string(&route.rewrite).unwrap()
}

#[test]
fn the_snippet_of_nextcloud_is_served() {
    for data_plane in [Some(DataPlane::Envoy), Some(DataPlane::Nginx), None] {
        let translation = translated_on(data_plane, &json!({}), &snippet(NEXTCLOUD), &["/"]);
        assert!(!are_all_closed(&translation), "{:?}", reasons(&translation));
        let host_meta = "/public.php?service=host-meta";
        for (pattern, full) in [
            (
                "^/.well-known/webfinger",
                "/index.php/.well-known/webfinger",
            ),
            ("^/.well-known/nodeinfo", "/index.php/.well-known/nodeinfo"),
            ("^/.well-known/host-meta", host_meta),
            (
                "^/.well-known/host-meta.json",
                "/public.php?service=host-meta-json",
            ),
        ] {
            let route = route_of(&translation, pattern).unwrap();
            assert_eq!(shown(&route), format!(r#"{{"full":"{full}"}}"#));
            assert!(matches!(route.action, Action::Forward(_)), "{route:?}");
            // nginx puts the query of the request behind the new one.
            let closes_queries = full.contains('?') && data_plane != Some(DataPlane::Nginx);
            assert_eq!(
                !route.direct_responses.is_empty(),
                closes_queries,
                "{route:?}"
            );
        }
        let snapshot = translation.snapshot();
        let first = &routes(snapshot.config(), "a.test")[0].matches.path;
        assert_eq!(first.text(), "^/.well-known/webfinger");
        let notes = reasons(&translation)
            .iter()
            .filter(|it| it.contains("query"))
            .count();
        assert_eq!(notes, usize::from(data_plane != Some(DataPlane::Nginx)));
    }
}

/// A route with the guards of the new path, whatever those of the old one are.
#[test]
fn a_changed_path_has_the_guards_of_where_it_arrives() {
    let guarded = |text: &str, more: &Value, paths: &[&str]| {
        let mut annotations = snippet(text);
        for (name, value) in more.as_object().into_iter().flatten() {
            annotations[name] = value.clone();
        }
        let translation = translated_on(None, &json!({}), &annotations, paths);
        let route = route_of(&translation, "^/old");
        route.unwrap_or_else(|| panic!("{text}: {:?}", reasons(&translation)))
    };
    let rewrite = "rewrite ^/old /new/x last;";
    let lists = json!({"whitelist-source-range": "10.0.0.0/8"});
    assert!(
        !guarded(rewrite, &lists, &["/"])
            .policy
            .ip_access
            .allow
            .is_empty()
    );
    let asks = json!({"auth-url": "https://auth.test/verify"});
    assert!(
        guarded(rewrite, &asks, &["/"])
            .policy
            .authentication
            .is_some()
    );
    // A location of the snippet.
    let denied = format!("{rewrite}\nlocation ~ ^/new/ {{ deny all; }}");
    let route = guarded(&denied, &json!({}), &["/"]);
    assert_eq!(
        (&route.action, route.policy.ip_access.deny.len()),
        (&Action::Respond(404), 2)
    );
    let answers = format!("{rewrite}\nlocation /new {{ if ($http_a = b) {{ return 403; }} }}");
    let route = guarded(&answers, &json!({}), &["/"]);
    assert_eq!(route.direct_responses.len(), 1);
    // What a server says before it rewrites is about the path that clients asked for.
    let before = format!("if ($uri ~ ^/old/secret) {{ return 403; }}\n{rewrite}");
    let route = guarded(&before, &json!({}), &["/"]);
    assert_eq!(
        (route.direct_responses.len(), shown(&route)),
        (1, r#"{"full":"/new/x"}"#.to_owned())
    );
    // Not of the location that the old path would have been.
    let old = format!("{rewrite}\nlocation /old {{ deny all; }}");
    assert!(
        guarded(&old, &json!({}), &["/"])
            .policy
            .ip_access
            .deny
            .is_empty()
    );
    // The path of the same Ingress that the new one is below.
    let groups = guarded("rewrite ^/old /new/x last;", &json!({}), &["/", "/new"]);
    assert!(matches!(groups.action, Action::Forward(_)));
}

#[test]
fn groups_arrive_where_all_their_paths_do() {
    let route = |text: &str, paths: &[&str]| {
        let translation = translated_on(None, &json!({}), &snippet(text), paths);
        let pattern = text.split(' ').nth(1).unwrap();
        let route = route_of(&translation, pattern);
        assert_eq!(route.is_none(), are_all_closed(&translation), "{text}");
        route.map(|route| shown(&route))
    };
    let text = "rewrite ^/old/(.*)$ /new/$1 last;";
    assert_eq!(route(text, &["/"]), Some("\"/new/$1\"".to_owned()));
    assert_eq!(
        route(text, &["/", "/new", "/api"]),
        Some("\"/new/$1\"".to_owned())
    );
    assert_eq!(route(text, &["/", "/new/a"]), None);
    let beside = format!("{text}\nlocation ~ \\.php$ {{ deny all; }}");
    assert_eq!(route(&beside, &["/"]), None);
    let beside = format!("{text}\nlocation /new/secret {{ deny all; }}");
    assert_eq!(route(&beside, &["/"]), None);
}

#[test]
fn a_rewrite_whose_arrival_is_not_known_closes_all_and_names_its_line() {
    let nothing = json!({});
    let responses = json!({"server-snippet": "if ($http_a) { return 403; }"});
    let root = ["/"].as_slice();
    for (keys, annotations, reason) in [
        (&nothing, json!({"use-regex": "true"}), "no path / takes"),
        (&nothing, json!({"app-root": "/a"}), "app-root"),
        (&responses, json!({}), "server-snippet of the ConfigMap"),
        (
            &nothing,
            json!({"permanent-redirect": "https://b.test"}),
            "look at the path",
        ),
        (
            &nothing,
            json!({"upstream-vhost": "$arg_a.test"}),
            "look at the path",
        ),
        (
            &nothing,
            json!({"configuration-snippet": "if ($uri ~ ^/n) { return 403; }"}),
            "look at the path",
        ),
        (
            &nothing,
            json!({"configuration-snippet": "if ($arg_a) { return 403; }"}),
            "look at the path",
        ),
        (
            &nothing,
            json!({"configuration-snippet": "rewrite ^/new/(.*)$ /$1 break;"}),
            "look at the path",
        ),
        (
            &nothing,
            json!({"configuration-snippet": "rewrite ^/new /b permanent;"}),
            "look at the path",
        ),
        (
            &nothing,
            json!({"configuration-snippet": "proxy_set_header X-A $uri;"}),
            "look at the path",
        ),
    ] {
        let mut annotations = annotations;
        annotations["server-snippet"] = json!("server_tokens off;\nrewrite ^/old /new last;");
        let translation = translated_on(None, keys, &annotations, root);
        let reasons = reasons(&translation);
        let says_so = |it: &String| it.starts_with("line 2: ") && it.contains(reason);
        assert!(reasons.iter().any(says_so), "{annotations}: {reasons:?}");
        assert!(are_all_closed(&translation), "{annotations}");
    }
}

#[test]
fn a_rewrite_that_cannot_be_read_closes_all_and_names_its_line() {
    let (nothing, root) = (json!({}), ["/"].as_slice());
    for (text, line) in [
        ("rewrite ^/old /new last;\nreturn 403;", 2),
        ("rewrite ^/old /new;\nrewrite ^/new /b last;", 1),
        ("if ($http_a) {\nrewrite ^/old /new last;\n}", 2),
        ("rewrite ^/old /new?a=$arg_b last;", 1),
        ("rewrite ^/(old) /new?a=$1 last;", 1),
        ("rewrite ^/old /new? last;", 1),
        ("rewrite ^/(old) $1 last;", 1),
        ("rewrite ^/old /$host last;", 1),
    ] {
        let translation = translated_on(None, &nothing, &snippet(text), root);
        let reasons = reasons(&translation);
        let start = format!("line {line}: ");
        assert!(
            reasons.iter().any(|it| it.contains(&start)),
            "{text}: {reasons:?}"
        );
        assert!(are_all_closed(&translation), "{text}");
    }
    // Not what nginx reads as it is written.
    for text in ["rewrite ^/old /a/../new last;", "rewrite ^/old //new last;"] {
        assert!(
            are_all_closed(&translated_on(None, &nothing, &snippet(text), root)),
            "{text}"
        );
    }
}

/// Its rewrites would lead to paths of others, and theirs to its own.
#[test]
fn a_rewrite_on_a_host_of_several_namespaces_closes_its_own_paths_alone() {
    let text = snippet("rewrite ^/old /b/x last;");
    let all = [
        ingress("a", "a.test", &text, &["/"]),
        ingress("b", "a.test", &json!({}), &["/b"]),
    ];
    let translation = translated(&json!({}), &all);
    let snapshot = translation.snapshot();
    let closed = routes(snapshot.config(), "a.test");
    let closed: Vec<_> = closed
        .iter()
        .map(|route| (route.matches.path.text(), route.action == Action::Denied))
        .collect();
    assert_eq!(closed, [("/b", false), ("/", true)]);
    assert!(
        reasons(&translation)
            .iter()
            .any(|it| it.contains("other namespaces"))
    );
}

#[test]
fn rewrites_count_for_each_path_and_origin() {
    let rewrites: String = (0..16)
        .map(|n| format!("rewrite ^/r{n}$ /t{n} last;"))
        .collect();
    let origins: Vec<String> = (0..100).map(|n| format!("https://o{n}.test")).collect();
    let with_origins = json!({
        "server-snippet": rewrites,
        "enable-cors": "true",
        "cors-allow-origin": origins.join(", "),
    });
    let is_beyond = |annotations: &Value, paths: &[&str]| {
        let translation = translated_on(None, &json!({}), annotations, paths);
        let reasons = reasons(&translation);
        reasons.iter().any(|reason| reason.contains("at most 5000"))
    };
    assert!(!is_beyond(&snippet(&rewrites), &["/", "/b", "/c"]));
    assert!(!is_beyond(&with_origins, &["/"]));
    assert!(is_beyond(&with_origins, &["/", "/b", "/c", "/d"]));
}

#[test]
fn pods_that_are_chosen_by_the_path_are_at_no_end_of_a_rewrite() {
    let changed = [
        "uri",
        "document_uri",
        "args",
        "query_string",
        "is_args",
        "arg_a",
    ];
    let kept = ["host", "request_uri", "remote_addr", "http_a", "cookie_a"];
    for (names, is_served) in [(&changed[..], false), (&kept[..], true)] {
        for name in names {
            let annotations = json!({
                "server-snippet": "rewrite ^/old /new last;",
                "upstream-hash-by": format!("a${name}"),
            });
            let translation = translated_on(None, &json!({}), &annotations, &["/"]);
            assert_eq!(reasons(&translation).is_empty(), is_served, "{name}");
            assert_eq!(are_all_closed(&translation), !is_served, "{name}");
        }
    }
}

/// Whatever form it has: an `if`, or a nested location, which comes as early as what the server says.
#[test]
fn a_rewrite_does_not_go_round_what_a_path_says_of_paths() {
    for own in [
        "if ($uri ~ ^/admin) { return 403; }",
        "location /admin { deny all; }",
        "location ~ ^/admin { return 403; }",
        "location = /admin/x { return 404; }",
    ] {
        let annotations = json!({
            "server-snippet": "rewrite ^/rw/(.*)$ /admin/$1 last;",
            "configuration-snippet": own,
        });
        for data_plane in [Some(DataPlane::Envoy), Some(DataPlane::Nginx), None] {
            let translation = translated_on(data_plane, &json!({}), &annotations, &["/"]);
            assert!(are_all_closed(&translation), "{own}");
            let why = reasons(&translation).concat();
            assert!(why.contains("settings look at the path"), "{why}");
        }
    }
}
