//! Faults of what is served.

use super::{Case, forbidden, installed, of_host, page, pair, replace, secret};
use crate::{Section, Status};

pub(super) const CASES: [Case; 7] = [
    (
        Section::Certificates,
        Status::Failure,
        "Secret edge/admission is missing, and pods wait",
        "certgen",
        |facts| {
            installed(facts)
                .secrets
                .insert("edge/admission".to_owned(), Ok(None));
        },
    ),
    (
        Section::Certificates,
        Status::Warning,
        "Secret edge/admission could not",
        "may read",
        |facts| {
            installed(facts)
                .secrets
                .insert("edge/admission".to_owned(), forbidden());
        },
    ),
    (
        Section::Certificates,
        Status::Warning,
        "tls.crt of Secret edge/admission ends in 9 days",
        "apply the chart",
        |facts| {
            installed(facts)
                .secrets
                .insert("edge/x".to_owned(), Ok(Some(secret(&pair(10).1))));
            installed(facts)
                .secrets
                .insert("edge/admission".to_owned(), Ok(Some(secret(&pair(10).1))));
        },
    ),
    (
        Section::Certificates,
        Status::Warning,
        "certificate of a.example, b.example (Secret shop/tls) ends today",
        "renew",
        |facts| {
            let chain = pair(1).1;
            installed(facts).served.as_mut().unwrap().certificates =
                vec![of_host("a.example", &chain), of_host("b.example", &chain)];
        },
    ),
    (
        Section::Configuration,
        Status::Failure,
        "refuses something of shop/web",
        "describe ingress",
        |facts| {
            page(facts).push_str(
                "nginx_ingress_controller_refused_ingress{namespace=\"shop\",ingress=\"web\"} 1\n",
            );
        },
    ),
    (
        Section::Configuration,
        Status::Failure,
        "last configuration was not accepted",
        "dbg xds",
        |facts| replace(facts, "\"c\"} 1", "\"c\"} 0"),
    ),
    (
        Section::Configuration,
        Status::Warning,
        "1 does not work",
        "sluice lint",
        |facts| {
            let served = installed(facts).served.as_mut().unwrap();
            (served.sum, served.has_errors) = ("1 does not work".to_owned(), true);
        },
    ),
];
