//! D2, D3 and D6 where the compiler does not keep them, and no unfinished code.

use crate::tree::{Source, files, sources};

/// D2: decisions are values of values. Time and randomness come as arguments, and an order never depends on a hasher.
#[test]
fn the_filter_core_asks_nobody_and_has_one_order() {
    let banned = ["Instant", "SystemTime", "rand::", "getrandom", "proxy_wasm"];
    none_uses(
        sources("filter/core/src"),
        &banned,
        "take time and randomness as arguments",
    );
    let walks: Vec<String> = sources("filter/core/src")
        .iter()
        .flat_map(walks_over_hashes)
        .collect();
    assert!(
        walks.is_empty(),
        "a hasher's order is not an order; use a BTreeMap:\n{}",
        walks.join("\n")
    );
}

/// Filter, controller and nginx module take the names that they exchange from one file.
#[test]
fn names_of_the_host_contract_are_written_once() {
    use sluice_filter_config::host_contract::{
        BACKEND, BACKEND_HEADER, BODILESS_MIRROR_FILTER, EJECTIONS, EJECTIONS_PROPERTY,
        EJECTIONS_STATE, ENCODED_ROUTE, ENDPOINT, ENDPOINT_HEADER, GROUP_HEADER, LOOKUP_FILTER,
        MANAGED_BACKEND_HEADER, MANAGED_ENDPOINT_HEADER, MIRROR_FILTER, MIRROR_TARGET_HEADER,
        OUTCOME, OWNER, PATH_HEADER, PATTERN_HEADER, PATTERNS_ROUTE, ROUTE, SCOPE_HEADER,
        UNKNOWN_ROUTES,
    };
    let variables = [ROUTE, ENDPOINT, BACKEND, EJECTIONS, OWNER, OUTCOME];
    let names = variables
        .iter()
        .flat_map(|variable| [variable.name, variable.property])
        .chain([ENDPOINT_HEADER, BACKEND_HEADER])
        .chain([MANAGED_ENDPOINT_HEADER, MANAGED_BACKEND_HEADER])
        .chain([SCOPE_HEADER, PATH_HEADER, PATTERN_HEADER, GROUP_HEADER])
        .chain([EJECTIONS_PROPERTY, EJECTIONS_STATE])
        .chain([MIRROR_FILTER, BODILESS_MIRROR_FILTER, MIRROR_TARGET_HEADER])
        .chain([ENCODED_ROUTE, PATTERNS_ROUTE, LOOKUP_FILTER, UNKNOWN_ROUTES]);
    let literals: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
    let literals: Vec<&str> = literals.iter().map(String::as_str).collect();
    let copies: Vec<String> = ["filter", "controller", "nginx-wasm"]
        .into_iter()
        .flat_map(sources)
        .filter(|source| source.path != "filter/config/src/host_contract.rs")
        .filter(|source| !source.path.contains("/tests"))
        .flat_map(|source| source.uses(&literals))
        .collect();
    assert!(
        copies.is_empty(),
        "use sluice_filter_config::host_contract:\n{}",
        copies.join("\n")
    );
}

/// Lookups are fine; the fields of a hashed type must never be walked over. (clippy.toml of the crate bans the
/// methods that have a name of their own; a `for` and an `into_iter` only show here.)
fn walks_over_hashes(source: &Source) -> Vec<String> {
    let declares = |line: &str| {
        ["HashMap<", "HashSet<"]
            .iter()
            .any(|hashed| line.contains(hashed))
    };
    let declarations = source.code().filter(|(_, line)| declares(line));
    let fields =
        declarations.filter_map(|(_, line)| line.split_once(':')?.0.split_whitespace().last());
    let walks = fields.flat_map(|field| {
        let methods = [
            "iter",
            "iter_mut",
            "into_iter",
            "keys",
            "values",
            "values_mut",
            "into_values",
            "drain",
        ];
        let calls = methods.map(|method| format!(".{field}.{method}("));
        let loops = ["self.", "&self.", "&mut self."].map(|of| format!("in {of}{field} {{"));
        calls.into_iter().chain(loops)
    });
    let walks: Vec<String> = walks.collect();
    source.uses(&walks.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_walk_over_a_hash_map_is_seen() {
    let text =
        "    seen: HashMap<u8, u8>,\nself.seen.get(&1);\nfor x in &self.seen {\nself.seen.keys()\n";
    let source = Source {
        path: "x.rs".to_owned(),
        text: text.to_owned(),
    };
    assert_eq!(
        walks_over_hashes(&source),
        ["x.rs:3: for x in &self.seen {", "x.rs:4: self.seen.keys()"]
    );
}

/// Files in which the filter calls its host, and is called.
const FILTER_AND_HOST: [&str; 3] = [
    "filter/src/host.rs",
    "filter/src/host/abi.rs",
    "filter/src/exports.rs",
];

/// D3: most wrappers of the SDK panic on a status that they do not expect, and a panic takes the VM down.
#[test]
fn only_host_rs_calls_the_host() {
    let mut others = sources("filter");
    let host = others
        .extract_if(.., |source| FILTER_AND_HOST.contains(&source.path.as_str()))
        .count();
    assert_eq!(
        host,
        FILTER_AND_HOST.len(),
        "the filter and its host meet in {FILTER_AND_HOST:?}; adapt this test if they moved"
    );
    // In pieces, because this file is searched too.
    let words = ["hostcalls", "extern \"C\"", concat!("unsafe", " {")];
    none_uses(others, &words, "call the host in filter/src/host.rs");
}

/// Three foreign interfaces and native code, and a home for each.
#[test]
fn unsafe_code_is_where_a_foreign_interface_is() {
    let mut others = sources("");
    let is_home = |source: &Source| {
        FILTER_AND_HOST.contains(&source.path.as_str())
            || source.path == "tests/src/fake/precompiled.rs"
            || source.path.starts_with("nginx-wasm/ngx/src/")
            || source.path.starts_with("envoy/module/abi/src/")
            || source
                .path
                .starts_with("controller/firewall/modsecurity/src/")
    };
    let homes = others.extract_if(.., |source| is_home(source)).count();
    assert!(homes > 1, "adapt this test if they moved");
    // In pieces, because this file is searched too.
    let words = [
        concat!("unsafe", " {"),
        concat!("unsafe", " fn"),
        concat!("unsafe", " impl"),
        concat!("unsafe", " extern"),
    ];
    none_uses(
        others,
        &words,
        "talk to nginx in nginx-wasm/ngx, to Envoy in envoy/module/abi, to libmodsecurity in controller/firewall/modsecurity, to the filter's host in \
         filter/src/host.rs",
    );
}

/// Elsewhere the compiler denies it, so whoever allows it for himself would be one more home.
#[test]
fn nobody_else_allows_unsafe_code() {
    const HOMES: [&str; 7] = [
        "controller/firewall/modsecurity/src/lib.rs",
        "envoy/module/abi/src/exports.rs",
        "envoy/module/abi/src/lib.rs",
        "filter/src/host.rs",
        "filter/src/exports.rs",
        "nginx-wasm/ngx/src/lib.rs",
        "tests/src/fake/precompiled.rs",
    ];
    // In pieces, because this file is searched too.
    let words = [
        concat!("allow(unsafe", "_code"),
        concat!("expect(unsafe", "_code"),
    ];
    let allowing = sources("")
        .into_iter()
        .filter(|source| words.iter().any(|word| source.text.contains(word)));
    let allowing: Vec<String> = allowing.map(|source| source.path).collect();
    assert!(
        allowing.iter().all(|path| HOMES.contains(&path.as_str())),
        "unsafe code in {allowing:?}"
    );
    let manifests = files("", "toml")
        .into_iter()
        .filter(|manifest| manifest.path.ends_with("/Cargo.toml"));
    let without = manifests.filter(|manifest| {
        !manifest.path.starts_with("tests/libfuzzer/")
            && !manifest.text.contains("[lints]\nworkspace = true")
    });
    let without: Vec<String> = without.map(|manifest| manifest.path).collect();
    assert!(
        without.is_empty(),
        "without the lints of the workspace: {without:?}"
    );
}

#[test]
fn what_only_tests_see_does_not_end_a_file() {
    let text = "struct A {\n    #[cfg(test)]\n    b: u8,\n}\nbad();\n#[cfg(test)]\nmod tests {\nbad();\n}\n";
    let source = Source {
        path: "x.rs".to_owned(),
        text: text.to_owned(),
    };
    assert_eq!(source.uses(&["bad("]), ["x.rs:5: bad();"]);
}

/// D6: whoever decides what is served knows neither a runtime nor a cluster.
#[test]
fn tokio_and_kube_stay_where_they_belong() {
    const TOKIO: &[&str] = &[
        "src/",
        "admin/src/",
        "admission/src/",
        "authz/src/",
        "dashboard/src/",
        "compare/src/",
        "dataplane/src/",
        "dial/src/",
        "firewall/src/",
        "health/src/",
        "kube/src/",
        "listener/src/",
        "metrics/src/",
        "publish/src/",
        "quarantine/src/",
        "resolver/src/",
        "server/src/",
        "source/src/",
        "state/src/",
        "tasks/src/",
        "traces/src/",
        "xds-server/src/",
    ];
    const KUBE: &[&str] = &["kube/src/"];
    for (words, homes) in [(&["kube::"][..], KUBE), (&["tokio::", "#[tokio"], TOKIO)] {
        let is_home = |source: &Source| {
            let path = source.path.strip_prefix("controller/");
            path.is_some_and(|path| homes.iter().any(|home| path.starts_with(home)))
        };
        let mut others: Vec<Source> = ["controller", "filter"]
            .into_iter()
            .flat_map(sources)
            .collect();
        others.retain(|source| source.path.contains("/src/") && !is_home(source));
        // The crate of ours, whose name ends alike.
        others
            .iter_mut()
            .for_each(|source| source.text = source.text.replace("sluice_kube::", ""));
        none_uses(
            others,
            words,
            &format!("keep it in controller/: {}", homes.join(", ")),
        );
    }
}

/// R7: Prometheus' crate knows a series by a hash of its label values, joined: those of `shop1/web` and `shop/1web` would be one.
#[test]
fn label_values_are_told_apart_as_they_are_and_not_joined() {
    let words = ["GaugeVec", "CounterVec", "HistogramVec", "MetricVec"];
    none_uses(
        sources("controller"),
        &words,
        "use Series (controller/metrics/src/series.rs)",
    );
}

/// A task that nobody watches is one that nobody misses. What a server starts for one connection is in a `JoinSet` of its own.
#[test]
fn every_task_of_the_controller_has_a_name_and_is_watched() {
    let mut others: Vec<Source> = sources("controller");
    let homes = others
        .extract_if(.., |source| {
            source.path.starts_with("controller/tasks/src/")
        })
        .count();
    assert!(homes > 0, "adapt this test if they moved");
    others.retain(|source| source.path.contains("/src/") && !source.path.ends_with("/tests.rs"));
    let words = [
        "tokio::spawn(",
        "task::spawn(",
        "spawn_local(",
        "thread::spawn(",
        "thread::Builder",
        "Handle::",
    ];
    // A watched thread joins it.
    let joined = others.extract_if(.., |source| source.path == "controller/source/src/files.rs");
    let joined: Vec<String> = joined.flat_map(|source| source.uses(&words)).collect();
    assert!(
        matches!(joined.as_slice(), [line] if line.contains("self.looking = ")),
        "{joined:?}"
    );
    none_uses(others, &words, "start it with Tasks (controller/tasks)");
}

#[test]
fn nothing_is_left_unfinished() {
    // In pieces, because this file is searched too.
    let words = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("dbg", "!("),
    ];
    none_uses(
        sources(""),
        &words,
        "finish it, or return an error that says what is not supported",
    );
}

fn none_uses(sources: Vec<Source>, words: &[&str], advice: &str) {
    let found: Vec<String> = sources
        .iter()
        .flat_map(|source| source.uses(words))
        .collect();
    assert!(found.is_empty(), "{advice}:\n{}", found.join("\n"));
}
