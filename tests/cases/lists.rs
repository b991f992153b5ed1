//! The cases that do not pass: `expected-failures.txt` for every data plane, `expected-failures-envoy.txt` for Envoy,
//! `expected-failures-nginx.txt` for nginx and `expected-failures-kong.txt` for Kong's host for nginx beside it, and `not-applicable.txt`.

use anyhow::{Context, Result, ensure};
use sluice_tests::artifacts::{self, repository};
use sluice_tests::cases::expected::{Expected, Reasons};

use crate::{balancers, ingress};

const ALWAYS: &str = "expected-failures.txt";
const ON_ENVOY: &str = "expected-failures-envoy.txt";
const ON_NGINX: &str = "expected-failures-nginx.txt";
const ON_KONGS_NGINX: &str = "expected-failures-kong.txt";

fn list(name: &str) -> Result<String> {
    std::fs::read_to_string(repository().join("tests/cases").join(name))
        .with_context(|| name.to_owned())
}

/// The cases of either file that cannot be played.
pub(crate) fn not_applicable() -> Result<Reasons> {
    Reasons::parse(&list("not-applicable.txt")?)
}

/// The expectations of `ingress.json` on this data plane.
pub(crate) fn expected(data_plane: &str) -> Result<Expected> {
    let lists = match (data_plane, artifacts::ngx_wasm()) {
        ("nginx", Some(_)) => &[ALWAYS, ON_NGINX, ON_KONGS_NGINX][..],
        ("nginx", None) => &[ALWAYS, ON_NGINX],
        _ => &[ALWAYS, ON_ENVOY],
    };
    let failures = lists
        .iter()
        .map(|name| list(name))
        .collect::<Result<String>>()?;
    Ok(Expected {
        failures: Reasons::parse(&failures)?,
        not_applicable: not_applicable()?,
    })
}

#[test]
fn every_listed_id_is_a_case() -> Result<()> {
    let ids = |cases: Vec<serde_json::Value>| {
        cases
            .into_iter()
            .filter_map(|case| Some(case["id"].as_str()?.to_owned()))
            .collect::<Vec<_>>()
    };
    let of_ingress = ids(ingress::file()?.cases);
    let of_both = [of_ingress.clone(), ids(balancers::file()?.cases)].concat();
    for name in [ALWAYS, ON_ENVOY, ON_NGINX, ON_KONGS_NGINX] {
        let listed = Reasons::parse(&list(name)?)?;
        ensure!(
            listed.unknown(&of_ingress).is_empty(),
            "{name}: no cases: {:?}",
            listed.unknown(&of_ingress)
        );
    }
    let listed = not_applicable()?;
    ensure!(
        listed.unknown(&of_both).is_empty(),
        "no cases: {:?}",
        listed.unknown(&of_both)
    );
    Ok(())
}
