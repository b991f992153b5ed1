//! The lists: who may depend on what.

/// Packages whose dependencies are a closed list.
pub(super) const CLOSED: &[(&str, &[&str])] = &[
    // D1: the wire schema is read inside the filter.
    ("sluice-filter-config", &["serde", "serde_json"]),
    // D2: what decides knows no host.
    (
        "sluice-filter-core",
        &[
            "crc32fast",
            "foldhash",
            "md-5",
            "regex-lite",
            "sluice-filter-config",
        ],
    ),
    (
        "sluice-filter",
        &[
            "proxy-wasm",
            "rustc-hash",
            "sluice-filter-config",
            "sluice-filter-core",
            "sluice-filter-worker",
        ],
    ),
    // The life of a request knows no host.
    (
        "sluice-filter-worker",
        &["sluice-filter-config", "sluice-filter-core"],
    ),
    // The module of Envoy joins two crates that do not know each other; only one of them knows Envoy.
    (
        "sluice-envoy-module",
        &[
            "sluice-envoy-abi",
            "sluice-filter-config",
            "sluice-filter-core",
            "sluice-filter-worker",
        ],
    ),
    ("sluice-envoy-abi", &[]),
    // The nginx module joins two crates that do not know each other; only one of them knows nginx. The names of the
    // host contract come from the wire schema, and the host table from whoever writes it.
    (
        "sluice-nginx-module",
        &[
            "rustix",
            "sluice-filter-config",
            "sluice-filter-core",
            "sluice-filter-worker",
            "sluice-host-table",
            "sluice-ngx",
            "sluice-wasm-host",
        ],
    ),
    ("sluice-host-table", &["serde", "serde_json", "sha2"]),
    ("sluice-ngx", &["httparse", "nginx-sys", "wasmtime"]),
    ("sluice-wasm-host", &["anyhow", "wasmtime"]),
    // D4: the model knows no API of anybody. `ipnet` is what `std::net` lacks: networks, of no protocol in particular.
    // Hash keys are the filter's.
    (
        "sluice-ir",
        &["imbl", "ipnet", "serde", "sluice-filter-config"],
    ),
    // A pattern is a text, and what it costs is the same for everybody.
    ("sluice-pattern", &["regex-automata", "regex-syntax"]),
    // What becomes of a request is a question to the model.
    (
        "sluice-explain",
        &[
            "regex",
            "serde",
            "serde_json",
            "sluice-filter-core",
            "sluice-ir",
            "sluice-pattern",
            "sluice-plugin",
        ],
    ),
    // What is wrong is judged by facts, and read by somebody else.
    (
        "sluice-check",
        &[
            "anstyle",
            "k8s-openapi",
            "rustls",
            "serde",
            "serde_json",
            "sluice-syntax",
            "sluice-xds-resource",
        ],
    ),
    // Ingresses come as the model: what is compared is HTTP.
    (
        "sluice-compare",
        &[
            "anstyle",
            "askama",
            "clap",
            "flate2",
            "futures",
            "http-body-util",
            "hyper",
            "hyper-util",
            "regex-syntax",
            "rustls-native-certs",
            "serde",
            "serde_json",
            "sha2",
            "sluice-dial",
            "sluice-explain",
            "sluice-ir",
            "sluice-syntax",
            "tokio",
            "tokio-rustls",
        ],
    ),
    // Texts of manifests have their grammars without Kubernetes.
    (
        "sluice-syntax",
        &[
            "pem",
            "rustls",
            "sha2",
            "sluice-filter-config",
            "sluice-filter-core",
            "sluice-ir",
            "sluice-pattern",
            "x509-parser",
        ],
    ),
    // The engine knows Kubernetes' objects, but no Ingress's annotations.
    (
        "sluice-translate-engine",
        &[
            "k8s-openapi",
            "serde",
            "serde_ignored",
            "serde_json",
            "serde_path_to_error",
            "sha2",
            "sluice-basic-auth",
            "sluice-digest-auth",
            "sluice-ir",
            "sluice-syntax",
        ],
    ),
    // Passwords are values, and seen by nobody else.
    (
        "sluice-basic-auth",
        &[
            "base64",
            "bcrypt",
            "crypt3_rs",
            "sha1",
            "sha2",
            "sluice-fair",
            "subtle",
        ],
    ),
    ("sluice-digest-auth", &["base64", "md-5", "sha2", "subtle"]),
    // Shares are numbers.
    ("sluice-fair", &[]),
    // Bindings know what they bind to.
    ("sluice-modsecurity", &["libloading"]),
    ("sluice-tasks", &["anyhow", "futures", "tokio", "tracing"]),
    // Child processes know neither Kubernetes nor the translation: settings are values, results are callbacks. SecLang's grammar
    // reads the core rules that are installed.
    (
        "sluice-dataplane",
        &[
            "anyhow",
            "futures",
            "http-body-util",
            "hyper",
            "hyper-util",
            "nix",
            "procfs",
            "rustix",
            "serde",
            "serde_json",
            "sha2",
            "sluice-ir",
            "sluice-nginx",
            "sluice-syntax",
            "sluice-tasks",
            "sluice-xds",
            "sluice-xds-server",
            "socket2",
            "tempfile",
            "tokio",
            "tracing",
        ],
    ),
    // Spans are bytes that come and a message that goes.
    (
        "sluice-traces",
        &[
            "opentelemetry-proto",
            "serde",
            "serde_json",
            "sluice-ir",
            "tokio",
            "tonic",
            "tracing",
        ],
    ),
    // D5: a renderer sees the IR and its target.
    (
        "sluice-plugin",
        &[
            "bytes",
            "serde",
            "serde_json",
            "sha2",
            "sluice-filter-config",
            "sluice-ir",
        ],
    ),
    (
        "sluice-nginx",
        &[
            "askama",
            "serde_json",
            "sha2",
            "sluice-filter-config",
            "sluice-host-table",
            "sluice-ir",
            "sluice-pattern",
        ],
    ),
    (
        "sluice-xds",
        &[
            "base64",
            "envoy-types",
            "prost",
            "prost-reflect",
            "serde",
            "serde_json",
            "sha2",
            "sluice-filter-config",
            "sluice-filter-core",
            "sluice-ir",
            "sluice-pattern",
            "sluice-xds-resource",
        ],
    ),
    ("sluice-xds-resource", &["envoy-types", "prost"]),
    // The server sees neither the model nor Kubernetes: it serves bytes. Its protocol has no I/O.
    (
        "sluice-xds-delta",
        &[
            "bytes",
            "envoy-types",
            "imbl",
            "lz4_flex",
            "prost",
            "sha2",
            "sluice-xds-resource",
        ],
    ),
    (
        "sluice-xds-server",
        &[
            "bytes",
            "envoy-types",
            "futures",
            "http-body",
            "prost",
            "sluice-xds",
            "sluice-xds-delta",
            "tokio",
            "tonic",
            "tracing",
        ],
    ),
];

/// Dependencies that only these packages may have.
pub(super) const RESERVED: &[(&str, &[&str])] = &[
    // D5
    (
        "k8s-openapi",
        &[
            "sluice-translate",
            "sluice-translate-engine",
            "sluice-kube",
            "sluice-check",
            "sluice-lint",
            "sluice-admission",
            "sluice-admin",
        ],
    ),
    (
        "envoy-types",
        &[
            "sluice-xds",
            "sluice-xds-delta",
            "sluice-xds-resource",
            "sluice-xds-server",
            "sluice-tests",
        ],
    ),
    (
        "tonic",
        &[
            "sluice-xds-server",
            "sluice-server",
            "sluice-firewall",
            "sluice-traces",
            "sluice",
        ],
    ),
    ("libloading", &["sluice-modsecurity"]),
    (
        "askama",
        &["sluice-compare", "sluice-dashboard", "sluice-nginx"],
    ),
    // D6
    ("kube", &["sluice-kube"]),
    (
        "tokio",
        &[
            "sluice",
            "sluice-admin",
            "sluice-admission",
            "sluice-authz",
            "sluice-dashboard",
            "sluice-compare",
            "sluice-dataplane",
            "sluice-dial",
            "sluice-firewall",
            "sluice-health",
            "sluice-kube",
            "sluice-listener",
            "sluice-metrics",
            "sluice-publish",
            "sluice-quarantine",
            "sluice-resolver",
            "sluice-server",
            "sluice-source",
            "sluice-state",
            "sluice-tasks",
            "sluice-traces",
            "sluice-xds-server",
            "sluice-tests",
        ],
    ),
    // D3
    ("proxy-wasm", &["sluice-filter"]),
    (
        "wasmtime",
        &["sluice-ngx", "sluice-wasm-host", "sluice-tests"],
    ),
    ("nginx-sys", &["sluice-ngx"]),
    (
        "anyhow",
        &[
            "sluice",
            "sluice-admin",
            "sluice-admission",
            "sluice-authz",
            "sluice-dashboard",
            "sluice-dataplane",
            "sluice-firewall",
            "sluice-kube",
            "sluice-listener",
            "sluice-metrics",
            "sluice-resolver",
            "sluice-server",
            "sluice-source",
            "sluice-tasks",
            "sluice-tests",
            "sluice-wasm-host",
            "xtask",
        ],
    ),
];
