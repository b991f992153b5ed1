//! Objects, requests and pages of tests.

use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use prometheus::Registry;
use serde_json::{Value, json};
use sluice_state::View;
use sluice_translate::{Object, Options, translate};
use sluice_xds_server::AccessLogEntry;

use crate::{MetricsFlags, encode};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    metrics: MetricsFlags,
}

pub(crate) fn flags(line: &str) -> MetricsFlags {
    Line::parse_from(["sluice"].into_iter().chain(line.split_whitespace())).metrics
}

/// With a Service of the same name.
pub(crate) fn ingress((namespace, name): (&str, &str), host: &str, path: &str) -> Value {
    let path =
        json!({"path": path, "backend": {"service": {"name": name, "port": {"number": 80}}}});
    json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"ingressClassName": "nginx", "rules": [{"host": host, "http": {"paths": [path]}}]}})
}

/// Of these objects, translated.
pub(crate) fn view(objects: impl IntoIterator<Item = Value>) -> View {
    let view = View::default();
    for object in objects {
        view.resources_mut()
            .apply(Object::from_value(object).unwrap());
    }
    publish(&view);
    view
}

pub(crate) fn publish(view: &View) {
    let options = Options {
        class_is_implied: true,
        ..Options::default()
    };
    let translation = translate(&view.resources(), &options);
    view.show(Arc::new(translation.snapshot()));
}

/// One that was served.
pub(crate) fn request(route: &str) -> AccessLogEntry {
    AccessLogEntry {
        route: route.to_owned(),
        backend: "default/web/80".to_owned(),
        method: "GET",
        status: 200,
        duration: Some(Duration::from_millis(30)),
        sent: 120,
        ..AccessLogEntry::default()
    }
}

pub(crate) fn text(registry: &Registry) -> String {
    encode(&registry.gather())
}
