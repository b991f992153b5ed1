//! The page Explain of the dashboard.

use std::sync::Arc;

use sluice_dashboard::Dashboard;
use sluice_explain::Request;
use sluice_source::{Collected, Input, read_inputs};
use sluice_state::View;
use sluice_translate::translate;
use sluice_xds_server::Store;

use super::*;

/// Paths that are closed for their protocol and for access control, a path in other words, a certificate, settings with words of their
/// own, and a snippet of the operator.
fn site() -> String {
    let https = "  tls: [{ hosts: [tls.example], secretName: cert }]\n  rules:";
    let php = reasons::MANIFESTS;
    let guarded = php.replace("http://auth.default.svc/check", "ftp://auth/");
    let web = php.replace("FCGI", "HTTP").replace(
        "mirror-target: http",
        "limit-rate: '9'\n    nginx.ingress.kubernetes.io/mirror-target: http",
    );
    let documents = [
        php.to_owned(),
        guarded.replace("php", "guarded"),
        web.replace("php", "web"),
        web.replace("php", "tls").replace("  rules:", https),
        written_paths::IN_OTHER_WORDS.replace("own", "words"),
    ];
    let documents: Vec<&str> = documents.iter().map(|text| text.trim_start()).collect();
    let secret = secret();
    format!(
        "{MANIFESTS}{CONFIG_MAP}---\n{}---\n{secret}",
        documents.join("---\n")
    )
}

fn secret() -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["tls.example".to_owned()]).unwrap();
    let certificate = certificate.self_signed(&key).unwrap();
    // JSON is YAML.
    let secret = serde_json::json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "cert", "namespace": "default" },
        "type": "kubernetes.io/tls",
        "stringData": { "tls.crt": certificate.pem(), "tls.key": key.serialize_pem() },
    });
    format!("{secret}\n")
}

/// Lines of the command, without places in manifests and without what the page has elsewhere, or not: request, Ingress, slices, reports.
fn of_command(text: &str) -> Vec<String> {
    const ELSEWHERE: [&str; 7] = [
        "request",
        "ingress",
        "endpoints",
        "error",
        "warning",
        "note",
        "unread",
    ];
    let mut last = "";
    let lines = text.lines().filter_map(|line| {
        let word = line.get(..12).unwrap_or(line).trim();
        last = if word.is_empty() { last } else { word };
        let line = line.get(13..).unwrap_or_default();
        let line = line.split("  (shop.yaml:").next().unwrap_or(line);
        let line = match line.split_once(", shop.yaml:") {
            Some((line, _)) => format!("{line})"),
            None => line.to_owned(),
        };
        let line = line.split(", port ").next().unwrap_or_default().to_owned();
        (!ELSEWHERE.contains(&last)).then(|| format!("{last}: {line}"))
    });
    lines.collect()
}

/// Lines of the page.
fn of_page(args: &Explain) -> Vec<String> {
    let options = super::super::options(args);
    let ObjectSource::Files(folder) = args.source.origin(false).unwrap() else {
        panic!("no files")
    };
    let reading = read_inputs(&[Input::Path(folder)]).unwrap();
    let resources = reading.events.into_iter().collect::<Collected>().resources;
    let view = View::default();
    view.show(Arc::new(translate(&resources, &options).snapshot()));
    *view.resources_mut() = resources;
    let dashboard = Dashboard {
        view,
        options: Arc::new(options),
        store: Store::new(),
        nginx: None,
        traffic: None,
    };
    let request = Request::parse(&args.url, &args.request, &args.header).unwrap();
    let lines = dashboard.explain(&request, SETTINGS_TIME).into_iter();
    let lines = lines.flat_map(|(word, texts)| {
        let texts = texts.into_iter();
        texts.map(move |text| format!("{word}: {text}"))
    });
    lines.collect()
}

/// URLs, each with a line that it has on Envoy.
const SAID: [(&str, &str); 10] = [
    (
        "https://shop.example/api/x?y=1",
        "path: /api/(.*) (pattern)",
    ),
    (
        "http://php.example/app",
        "response: 503: Envoy does not speak FastCGI",
    ),
    (
        "http://guarded.example/app",
        "response: 503: access control that",
    ),
    (
        "http://php.example/nothing",
        "path: none matches; the host has /old",
    ),
    (
        "http://web.example/app",
        "limit: nginx.ingress.kubernetes.io/limit-rate",
    ),
    (
        "https://tls.example/app",
        "certificate: Secret default/cert",
    ),
    (
        "http://words.example/api/x",
        "path: /api/(?!internal)(.*) (pattern)",
    ),
    ("http://words.example/raw/x", "path: location ^~ /raw/"),
    (
        "http://own.example/metrics",
        "answered by: ConfigMap sys/cm data.server-snippet",
    ),
    ("http://nobody.example/", "response: 404"),
];

/// A page of the documentation says so.
#[test]
fn the_dashboard_says_what_the_command_does() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shop.yaml"), site()).unwrap();
    let place = folder.path().display().to_string();
    for (url, expected) in SAID {
        for data_plane in ["envoy", "nginx"] {
            let words = [
                "sluice",
                "explain",
                url,
                "--manifests",
                &place,
                "--configmap",
                "sys/cm",
                "--data-plane",
                data_plane,
            ];
            let args = Args::parse_from_words(words.iter()).unwrap();
            let Command::Explain(args) = args.command else {
                panic!("another command")
            };
            let said = of_command(&text(&args).unwrap().replace(&format!("{place}/"), ""));
            assert_eq!(of_page(&args), said, "{url} {data_plane}");
            let is_there = said.iter().any(|line| line.starts_with(expected));
            assert!(is_there || data_plane == "nginx", "{expected}: {said:#?}");
        }
    }
}
