//! `ingress.json`, one test for each area and data plane, for Envoy with each host in a scope of its own, and with the filter as wasm
//! where it takes part.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde_json::Value;
use sluice_tests::artifacts::{self, repository};
use sluice_tests::cases::file::CaseFile;
use sluice_tests::cases::{self, Selection};

use crate::lists;

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

macro_rules! areas_of_the_filter {
    ($($area:ident)*) => {
        /// The filter in its other form. In scopes it is asked for more than in a table, and V8 compiles it for seconds each time.
        mod by_wasm_in_scopes {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $area() -> anyhow::Result<()> {
                    let flags = ["--envoy-filter", "wasm", "--scopes-from", "0"];
                    super::play(stringify!($area), "envoy", &flags).await
                }
            )*
        }
    };
}

macro_rules! areas_of_balancing {
    ($($area:ident)*) => {
        /// nginx does the rest by itself.
        mod by_wasm_on_nginx {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $area() -> anyhow::Result<()> {
                    super::play(stringify!($area), "nginx", &["--nginx-filter", "wasm"]).await
                }
            )*
        }
    };
}

areas_of_balancing! {
    affinity balancer canary
}

// Where it chooses, counts, decodes or replaces; elsewhere its form makes no difference.
areas_of_the_filter! {
    acl affinity balancer canary headers redirect rewrite routing snippets
}

macro_rules! areas_of_hosts {
    ($($area:ident)*) => {
        /// Every host is in nginx.conf.
        mod in_nginx_conf {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $area() -> anyhow::Result<()> {
                    let flags = ["--nginx-host-table", "off"];
                    super::play(stringify!($area), "nginx", &flags).await
                }
            )*
        }
    };
}

// Where hosts, paths and their settings are found; what the filter does makes no difference.
areas_of_hosts! {
    acl headers redirect rewrite routing ssl
}

areas! {
    acl admission affinity auth balancer canary class cors errors fastcgi firewall headers l4 limits redirect rewrite routing snippets
    ssl status
}

pub(crate) fn file() -> Result<CaseFile> {
    CaseFile::read(&repository().join("tests/cases/ingress.json"))
}

async fn play(area: &str, data_plane: &str, flags: &[&str]) -> Result<()> {
    let expected = lists::expected(data_plane)?;
    let selection = Selection {
        areas: vec![area.to_owned()],
        data_plane: data_plane.to_owned(),
        flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
        ..Selection::default()
    };
    let summary = cases::play(&file()?, &selection, |_| {}).await?;
    let surprises = expected.surprises(&summary);
    let host = artifacts::nginx_host();
    ensure!(
        surprises.is_empty(),
        "{summary} ({host}); not as listed:\n{}",
        surprises.join("\n")
    );
    Ok(())
}

#[test]
fn every_area_is_played() -> Result<()> {
    let area = |case: &Value| case["area"].as_str().unwrap_or_default().to_owned();
    let areas: BTreeSet<String> = file()?.cases.iter().map(area).collect();
    let played: BTreeSet<String> = AREAS.iter().map(|area| (*area).to_owned()).collect();
    ensure!(areas == played, "the file has {areas:?}");
    Ok(())
}
