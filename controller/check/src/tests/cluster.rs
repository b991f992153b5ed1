//! Faults of what the controller needs of the cluster.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;

use super::{Case, class, flags, forbidden, hook, installed, pair, webhooks};
use crate::{Section, Status};

pub(super) const CASES: [Case; 19] = [
    (
        Section::KubernetesApi,
        Status::Warning,
        "could not be read",
        "may read",
        |facts| facts.server.version = forbidden(),
    ),
    (
        Section::KubernetesApi,
        Status::Failure,
        "v1.24.9 is too old",
        "1.25",
        |facts| facts.server.version = Ok("v1.24.9".to_owned()),
    ),
    (
        Section::KubernetesApi,
        Status::Warning,
        "got \"?\"",
        "1.25",
        |facts| facts.server.version = Ok("?".to_owned()),
    ),
    (
        Section::Rights,
        Status::Failure,
        "edge:sluice may not: list ingresses.networking",
        "helm",
        |facts| installed(facts).rights[0].1 = Ok(false),
    ),
    (
        Section::Rights,
        Status::Warning,
        "could not be asked for",
        "subjectaccessreviews",
        |facts| installed(facts).rights[0].1 = forbidden(),
    ),
    (
        Section::IngressClass,
        Status::Failure,
        "no IngressClass has the controller example",
        "create",
        |facts| facts.classes = Ok(Vec::new()),
    ),
    (
        Section::IngressClass,
        Status::Failure,
        "nginx is that of other.org/c",
        "--controller-class",
        |facts| {
            facts.classes = Ok(vec![class("nginx", "other.org/c")]);
        },
    ),
    (
        Section::IngressClass,
        Status::Warning,
        "no IngressClass",
        "create",
        |facts| {
            facts.classes = Ok(Vec::new());
            flags(facts).without_class = true;
        },
    ),
    (
        Section::IngressClass,
        Status::Warning,
        "IngressClasses could not",
        "may read",
        |facts| facts.classes = forbidden(),
    ),
    (
        Section::IngressClass,
        Status::Warning,
        "several IngressClasses are the default: nginx, b",
        "newest",
        |facts| {
            let classes = facts.classes.as_mut().unwrap();
            classes.push(class("b", "b.org/b"));
            for class in classes {
                let annotation = ("ingressclass.kubernetes.io/is-default-class", "true");
                class.metadata.annotations = Some(BTreeMap::from([(
                    annotation.0.to_owned(),
                    annotation.1.to_owned(),
                )]));
            }
        },
    ),
    (
        Section::Webhook,
        Status::Warning,
        "could not be read",
        "may read",
        |facts| facts.webhooks = forbidden(),
    ),
    (
        Section::Webhook,
        Status::Failure,
        "no ValidatingWebhookConfiguration leads",
        "helm",
        |facts| facts.webhooks = Ok(Vec::new()),
    ),
    (
        Section::Webhook,
        Status::Failure,
        "has no --validating-webhook: no Ingress can be stored",
        "delete validating",
        |facts| {
            flags(facts).webhook_certificate = None;
        },
    ),
    (
        Section::Webhook,
        Status::Warning,
        "has no --validating-webhook",
        "delete validating",
        |facts| {
            flags(facts).webhook_certificate = None;
            hook(facts).failure_policy = Some("Ignore".to_owned());
        },
    ),
    (
        Section::Webhook,
        Status::Failure,
        "caBundle is empty: no Ingress can be stored",
        "certgen",
        |facts| hook(facts).client_config.ca_bundle = None,
    ),
    (
        Section::Webhook,
        Status::Failure,
        "does not trust the certificate for hook.edge.svc",
        "certgen",
        |facts| {
            let other = ByteString(pair(31).0.into_bytes());
            hook(facts).client_config.ca_bundle = Some(other);
        },
    ),
    (
        Section::Webhook,
        Status::Failure,
        "Ingresses are stored unchecked",
        "certgen",
        |facts| {
            hook(facts).client_config.ca_bundle = None;
            hook(facts).failure_policy = Some("Ignore".to_owned());
        },
    ),
    (
        Section::Webhook,
        Status::Warning,
        "certificate could not be read: Secret edge/admission is missing",
        "may read",
        |facts| {
            installed(facts).secrets.clear();
        },
    ),
    (
        Section::Webhook,
        Status::Failure,
        "theirs leads to Service edge/gone, which does not exist",
        "delete validatingwebhookconfiguration theirs",
        |facts| {
            facts
                .webhooks
                .as_mut()
                .unwrap()
                .push(webhooks("theirs", "gone", ""));
            facts.services.insert("edge/gone".to_owned(), Ok(None));
        },
    ),
];
