//! Certificates of hosts, soonest to expire first.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::Deserialize;
use sluice_ir::{Config, SecretId, SecretValue};
use sluice_translate::CertInfo;

use super::shown;
use crate::index::Indexed;
use crate::paging::{self, Paged};

const DAY: i64 = 24 * 60 * 60;
/// Days from which on a certificate is about to end.
const SOON: i64 = 21;

/// Query of the URL.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct PageQuery {
    page: String,
}

#[derive(Template)]
#[template(path = "certificates.html")]
struct Certificates {
    list: Paged<Row>,
}

struct Row {
    secret: String,
    hosts: Vec<String>,
    issuer: String,
    algorithm: &'static str,
    style: &'static str,
    /// How long it is good for.
    left: String,
    ends: i64,
}

pub(crate) async fn page(
    State(indexed): State<Arc<Indexed>>,
    Query(query): Query<PageQuery>,
) -> Response {
    let index = indexed.now();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs().cast_signed());
    let mut rows = rows(index.config(), now);
    rows.sort_by(|one, other| (one.ends, &one.secret).cmp(&(other.ends, &other.secret)));
    let list = Paged::new(rows.into_iter(), paging::number(&query.page));
    shown(&Certificates { list })
}

fn rows(config: &Config, now: i64) -> Vec<Row> {
    let mut hosts: BTreeMap<&SecretId, Vec<String>> = BTreeMap::new();
    for (name, tls) in &config.tls {
        if let Some(id) = &tls.certificate {
            hosts.entry(id).or_default().push(name.to_string());
        }
    }
    if let Some(id) = &config.default_certificate {
        hosts
            .entry(id)
            .or_default()
            .push("any other host".to_owned());
    }
    let rows = hosts
        .into_iter()
        .filter_map(|(id, hosts)| match config.secrets.get(id)? {
            SecretValue::Certificate { chain, .. } => {
                Some(row(id, hosts, &CertInfo::from_pem(chain)?, now))
            }
            SecretValue::Authorities { .. } => None,
        });
    rows.collect()
}

fn row(id: &SecretId, hosts: Vec<String>, info: &CertInfo, now: i64) -> Row {
    let days = (info.expires - now).div_euclid(DAY);
    let (style, left) = match days {
        ..0 => ("error", "expired".to_owned()),
        0 => ("error", "today".to_owned()),
        1..=SOON => ("warning", format!("{days} days")),
        _ => ("good", format!("{days} days")),
    };
    Row {
        secret: id.as_str().to_owned(),
        hosts,
        issuer: match info.issuer_common_name.is_empty() {
            true => info.issuer_organization.clone(),
            false => info.issuer_common_name.clone(),
        },
        algorithm: info.key_algorithm,
        style,
        left,
        ends: info.expires,
    }
}
