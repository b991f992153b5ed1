//! `ingress.json`, one test for each area and data plane, and for Envoy with each host in a scope of its own. What fails and why is in `expected-failures.txt`; what fails on
//! nginx only, in `expected-failures-nginx.txt`, and on Kong's host for nginx, in `expected-failures-kong.txt`.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_tests::artifacts::{self, repository};
use sluice_tests::cases::expected::ExpectedFailures;
use sluice_tests::cases::file::CaseFile;
use sluice_tests::cases::{self, Selection};

macro_rules! areas {
    ($($area:ident)*) => {
        const AREAS: &[&str] = &[$(stringify!($area)),*];
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $area() -> Result<()> {
                play(stringify!($area), "envoy", &[]).await
            }
        )*

        mod in_scopes {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $area() -> anyhow::Result<()> {
                    super::play(stringify!($area), "envoy", &["--scopes-from", "0"]).await
                }
            )*
        }

        mod on_nginx {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $area() -> anyhow::Result<()> {
                    super::play(stringify!($area), "nginx", &[]).await
                }
            )*
        }
    };
}

areas! {
    acl admission affinity auth balancer canary class cors errors headers l4 redirect rewrite routing ssl status
}

fn file(data_plane: &str) -> Result<(CaseFile, ExpectedFailures)> {
    let folder = repository().join("tests/cases");
    let list = |name: &str| std::fs::read_to_string(folder.join(name)).with_context(|| name.to_owned());
    let mut expected = list("expected-failures.txt")?;
    if data_plane == "nginx" {
        expected += &list("expected-failures-nginx.txt")?;
        if artifacts::ngx_wasm().is_some() {
            expected += &list("expected-failures-kong.txt")?;
        }
    }
    Ok((CaseFile::read(&folder.join("ingress.json"))?, ExpectedFailures::parse(&expected)?))
}

async fn play(area: &str, data_plane: &str, flags: &[&str]) -> Result<()> {
    let (file, expected) = file(data_plane)?;
    let selection = Selection {
        areas: vec![area.to_owned()],
        data_plane: data_plane.to_owned(),
        flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
        ..Selection::default()
    };
    let summary = cases::play(&file, &selection, |_| {}).await?;
    let surprises = expected.surprises(&summary);
    let host = artifacts::nginx_host();
    ensure!(surprises.is_empty(), "{summary} ({host}); not as listed:\n{}", surprises.join("\n"));
    Ok(())
}

#[test]
fn every_area_is_played_and_every_listed_id_is_a_case() -> Result<()> {
    let (file, expected) = file("nginx")?;
    let text = |case: &Value, word: &str| case[word].as_str().unwrap_or_default().to_owned();
    let areas: BTreeSet<String> = file.cases.iter().map(|case| text(case, "area")).collect();
    let played: BTreeSet<String> = AREAS.iter().map(|area| (*area).to_owned()).collect();
    ensure!(areas == played, "the file has {areas:?}");
    let ids: Vec<String> = file.cases.iter().map(|case| text(case, "id")).collect();
    ensure!(expected.unknown(&ids).is_empty(), "no cases: {:?}", expected.unknown(&ids));
    Ok(())
}
