//! The Ingresses whose requests are compared.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;
use sluice_compare::{Subject, Unjudged, reasons};
use sluice_kube::is_in_cluster;
use sluice_source::{Collected, Input, Reading, read_inputs};
use sluice_syntax::{printable, value};
use sluice_translate::{Kind, Object, Options, Severity, Translation, is_ours, translate};

use crate::args::{Compare, ObjectSource};
use crate::{cluster_events, options};

/// The Ingresses as they are served; without a translation there are none.
#[derive(Default)]
pub(super) struct Ingresses {
    pub(super) translation: Option<Translation>,
    pub(super) reports: BTreeMap<String, Vec<String>>,
    /// Names of canaries.
    canaries: BTreeSet<String>,
    /// Documents and Ingresses about which nothing is known.
    pub(super) others: Vec<Unjudged>,
}

impl Ingresses {
    pub(super) fn read(args: &Compare) -> anyhow::Result<Ingresses> {
        let options = options::translation(&args.translation, &args.listeners, []);
        let records = &args.requests;
        let has_records =
            records.access_log.is_some() || records.har.is_some() || args.live.listen.is_some();
        // Those of a browser are also for others, with cookies of theirs, and a tenant may name any host.
        if records.har.is_some() && records.host.is_empty() {
            bail!(
                "--har has what a browser sent to all hosts, with cookies and tokens: give --host for those whose requests are \
                 sent"
            );
        }
        let has_source = args.source.source.is_some()
            || args.source.manifests.is_some()
            || args.source.names_a_cluster();
        let origin = match args.source.origin(is_in_cluster()) {
            Ok(origin) => origin,
            // Requests are enough.
            Err(_) if !has_source && has_records => return Ok(Ingresses::default()),
            Err(error) if has_source => return Err(error),
            Err(_) => bail!(
                "nothing to compare: give --manifests DIR, --source kube for a cluster, --access-log, --har or --listen"
            ),
        };
        let reading: Reading = match origin {
            ObjectSource::Files(folder) => read_inputs(&[Input::Path(folder)])?,
            ObjectSource::Kube => cluster_events::read(&args.source, &options)?.into(),
        };
        let collected: Collected = reading.events.into_iter().collect();
        let translation = translate(&collected.resources, &options);
        let reports = reports(&translation);
        Ok(Ingresses {
            others: others(&collected, &options),
            canaries: canaries(&collected, &options),
            translation: Some(translation),
            reports,
        })
    }

    pub(super) fn owner(&self, id: &sluice_ir::RouteId) -> Option<String> {
        let owners = self.translation.as_ref()?.owners();
        owners.get(id).map(|owner| owner.object.to_string())
    }

    /// Why an Ingress has no requests; `None`: it may have some.
    pub(super) fn reason_for_no_requests(&self, name: &str) -> Option<&'static str> {
        if self.canaries.contains(name) {
            return Some(reasons::CANARY);
        }
        let owners = self.translation.as_ref()?.owners();
        let has_route = owners
            .values()
            .any(|owner| owner.object.to_string() == name);
        (!has_route).then_some(reasons::NOTHING_SERVED)
    }

    /// Ingresses that are not served as written.
    pub(super) fn reports(&self, subject: &Subject) -> Vec<String> {
        match subject {
            Subject::Ingress(name) => self.reports.get(name).cloned().unwrap_or_default(),
            Subject::Host(_) => Vec::new(),
        }
    }
}

fn canaries(collected: &Collected, options: &Options) -> BTreeSet<String> {
    let annotation = format!("{}/canary", options.annotations_prefix);
    let is_canary = |object: &&Object| {
        let Object::Ingress(ingress) = object else {
            return false;
        };
        let value = ingress.annotations.get(&annotation);
        value.is_some_and(|value| value::bool(value) == Ok(true))
    };
    let canaries = collected.ingresses.iter().filter(is_canary);
    canaries.map(|object| object.key().to_string()).collect()
}

/// Documents that cannot be read, and Ingresses that are not for this controller.
fn others(collected: &Collected, options: &Options) -> Vec<Unjudged> {
    let unjudged = |reason: String, requests| Unjudged {
        reason: printable(&reason),
        requests,
        examples: Vec::new(),
    };
    let unread = collected
        .problems
        .iter()
        .filter(|problem| !problem.harmless);
    let mut others: Vec<Unjudged> = unread
        .map(|problem| unjudged(format!("not read: {problem}"), 0))
        .collect();
    let is_foreign = |object: &&Object| match object {
        Object::Ingress(ingress) => !is_ours(ingress, &collected.resources, options),
        _ => false,
    };
    let foreign = collected.ingresses.iter().filter(is_foreign);
    others.extend(foreign.map(|object| {
        let name = object.key();
        unjudged(
            format!("Ingress {name}: of another class, or without one; not compared"),
            0,
        )
    }));
    others
}

fn reports(translation: &Translation) -> BTreeMap<String, Vec<String>> {
    let mut reports: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for report in translation.reports() {
        if report.object.kind == Kind::Ingress && report.severity != Severity::Note {
            let text = format!(
                "{}: {}; {}",
                report.field, report.reason, report.consequence
            );
            let of_ingress = reports.entry(report.object.key.to_string());
            of_ingress.or_default().push(printable(&text));
        }
    }
    reports
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_not_compared_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let ingress = |name: &str, class: &str| {
            format!(
                "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: {name}}}\nspec: {{ingressClassName: {class}, rules: \
                 [{{host: {name}.test}}]}}\n---\n"
            )
        };
        let text = ingress("ours", "nginx") + &ingress("foreign", "other") + "kind: [\n";
        fs::write(folder.path().join("a.yaml"), text).unwrap();
        let reading = read_inputs(&[Input::Path(folder.path().to_owned())]).unwrap();
        let options = Options {
            ingress_class: "nginx".to_owned(),
            class_is_implied: true,
            ..Options::default()
        };
        let collected: Collected = reading.events.into_iter().collect();
        let others = others(&collected, &options);
        let reasons: Vec<&str> = others.iter().map(|it| it.reason.as_str()).collect();
        assert_eq!(reasons.len(), 2, "{reasons:?}");
        assert!(reasons[0].starts_with("not read: "), "{reasons:?}");
        assert!(
            reasons[1].starts_with("Ingress default/foreign: "),
            "{reasons:?}"
        );
    }

    #[test]
    fn an_ingress_without_requests_says_why_it_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let ingress = |name: &str, annotations: &str, rules: &str| {
            format!(
                "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: {name}, annotations: {{{annotations}}}}}\nspec: \
                 {{ingressClassName: nginx, rules: {rules}}}\n---\n"
            )
        };
        let rules = "[{host: a.test, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]";
        let canary = "nginx.ingress.kubernetes.io/canary: 'true', nginx.ingress.kubernetes.io/canary-weight: ten";
        let text = ingress("main", "", rules)
            + &ingress("canary", canary, rules)
            + &ingress("empty", "", "[]");
        fs::write(folder.path().join("a.yaml"), text).unwrap();
        let reading = read_inputs(&[Input::Path(folder.path().to_owned())]).unwrap();
        let options = Options {
            class_is_implied: true,
            ..Options::default()
        };
        let collected: Collected = reading.events.into_iter().collect();
        let ingresses = Ingresses {
            translation: Some(translate(&collected.resources, &options)),
            canaries: canaries(&collected, &options),
            ..Ingresses::default()
        };
        for (name, reason) in [
            ("default/main", None),
            ("default/canary", Some(reasons::CANARY)),
            ("default/empty", Some(reasons::NOTHING_SERVED)),
        ] {
            assert_eq!(ingresses.reason_for_no_requests(name), reason, "{name}");
        }
    }
}
