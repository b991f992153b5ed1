//! Obstacles to an installation.

use std::collections::BTreeMap;

use super::{class, forbidden, server, service, webhooks};
use crate::{Before, Section, Status, before, of_installer};

fn empty() -> Before {
    Before {
        server: server(),
        rights: of_installer("edge")
            .into_iter()
            .map(|right| (right, Ok(true)))
            .collect(),
        ingress_class: "nginx".to_owned(),
        controller_class: "k8s.io/ingress-nginx".to_owned(),
        classes: Ok(Vec::new()),
        webhooks: Ok(Vec::new()),
        services: BTreeMap::new(),
    }
}

type CaseBefore = (Section, Status, &'static str, &'static str, fn(&mut Before));

const BEFORE: [CaseBefore; 8] = [
    (
        Section::Rights,
        Status::Failure,
        "may not: create clusterroles.rbac",
        "cluster-admin",
        |facts| {
            let right = facts
                .rights
                .iter_mut()
                .find(|(right, _)| right.resource == "clusterroles");
            right.unwrap().1 = Ok(false);
        },
    ),
    (
        Section::Rights,
        Status::Warning,
        "could not be asked for",
        "subjectaccessreviews",
        |facts| facts.rights[0].1 = forbidden(),
    ),
    (
        Section::IngressClass,
        Status::Warning,
        "nginx exists",
        "docs/migration.md",
        |facts| {
            facts.classes = Ok(vec![class("nginx", "k8s.io/ingress-nginx")]);
        },
    ),
    (
        Section::IngressClass,
        Status::Failure,
        "nginx is taken by other.org/c",
        "ingressClassResource.name",
        |facts| {
            facts.classes = Ok(vec![class("nginx", "other.org/c")]);
        },
    ),
    (
        Section::IngressClass,
        Status::Warning,
        "IngressClass b has the same controller",
        "controllerValue",
        |facts| {
            facts.classes = Ok(vec![class("b", "k8s.io/ingress-nginx")]);
        },
    ),
    (
        Section::IngressClass,
        Status::Warning,
        "could not be read",
        "may read",
        |facts| facts.classes = forbidden(),
    ),
    (
        Section::Webhook,
        Status::Warning,
        "theirs is asked about Ingresses",
        "migration",
        |facts| {
            facts.webhooks = Ok(vec![webhooks("theirs", "hook", "")]);
            facts
                .services
                .insert("edge/hook".to_owned(), Ok(Some(service())));
        },
    ),
    (
        Section::Webhook,
        Status::Failure,
        "does not exist: no Ingress can be stored",
        "delete validating",
        |facts| {
            facts.webhooks = Ok(vec![webhooks("theirs", "gone", "")]);
            facts.services.insert("edge/gone".to_owned(), Ok(None));
        },
    ),
];

#[test]
fn before_an_installation_each_obstacle_is_found() {
    let list = before(&empty());
    assert_eq!(list.status(), Status::Ok, "{}", list.text(false));
    for (section, status, message, advice, fault) in BEFORE {
        let mut facts = empty();
        fault(&mut facts);
        let list = before(&facts);
        let mut checks = list
            .sections()
            .filter(|(of, _)| *of == section)
            .flat_map(|(_, checks)| checks);
        let found = checks.any(|check| {
            check.status == status
                && check.message.contains(message)
                && check.advice.contains(advice)
        });
        assert!(found, "{section:?} {message:?}: {}", list.text(false));
    }
}
