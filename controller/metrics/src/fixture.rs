//! Objects, requests and pages of tests.

use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use serde_json::{Value, json};
use sluice_state::View;
use sluice_translate::{Object, ObjectKey, Options, translate};
use sluice_xds_server::AccessLogEntry;

use crate::MetricsFlags;

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

/// Routes of the Ingresses that are meant.
pub(crate) fn route_ids(view: &View, is_meant: impl Fn(&ObjectKey) -> bool) -> Vec<String> {
    let snapshot = view.snapshot();
    let routes = snapshot.config().routes();
    let routes = routes.filter(|route| snapshot.owner(&route.id).is_some_and(&is_meant));
    routes.map(|route| route.id.as_str().to_owned()).collect()
}

/// Requests to all routes of these namespaces.
pub(crate) fn flood(view: &View, namespaces: &[&str]) -> Vec<AccessLogEntry> {
    let routes = route_ids(view, |owner| namespaces.contains(&&*owner.namespace));
    routes.iter().flat_map(|route| flood_of(route)).collect()
}

/// Requests to one: whatever methods and statuses there are.
pub(crate) fn flood_of(route: &str) -> Vec<AccessLogEntry> {
    let mut all = Vec::new();
    for status in (0..600).filter(|status| status % 100 < 12) {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            let time = Some(Duration::from_millis(30));
            all.push(AccessLogEntry {
                method,
                status,
                connecting: time,
                to_header: time,
                to_end: time,
                ..request(route)
            });
        }
    }
    all
}
