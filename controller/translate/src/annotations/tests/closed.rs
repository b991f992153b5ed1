//! Reports that close the paths of an Ingress.

use serde_json::json;
use sluice_translate_engine::{ClosedFor, Report, why_closed};

use super::reported_on;
use crate::annotations::{GROUPS, Risk};
use crate::global::Globals;
use crate::support::DataPlane;

/// Closed or not, and the reports, of an Ingress with these annotations.
fn closed(data_plane: DataPlane, annotations: &[(&str, &str)]) -> (bool, Vec<Report>) {
    let mut globals = Globals::default();
    globals.trust.risk = Risk::Critical;
    globals.trust.admission.allow_snippets = true;
    let annotations = annotations
        .iter()
        .map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), json!(value)));
    let annotations = serde_json::Value::Object(annotations.collect());
    let (read, reports) = reported_on(Some(data_plane), &annotations, &globals);
    (read.denied, reports)
}

const VALUES: [&str; 5] = ["something", "FCGI", "a b;", "deny all;", "default/none"];

#[test]
fn a_report_says_whether_it_closes_the_paths() {
    let all = || GROUPS.iter().flat_map(|group| group.annotations);
    let mut seen = 0;
    for (annotation, value) in all().flat_map(|one| VALUES.map(|value| (one.name, value))) {
        for plane in [DataPlane::Envoy, DataPlane::Nginx] {
            let (is_closed, reports) = closed(plane, &[(annotation, value)]);
            let mut closing = reports.iter().filter(|report| report.closed_for.is_some());
            assert_eq!(closing.next().is_some(), is_closed, "{annotation}: {value}");
            for report in &reports {
                let says = report.consequence.contains("answer 503");
                assert_eq!(report.closed_for.is_some(), says, "{report}");
            }
            seen += usize::from(is_closed);
        }
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn other_reasons_are_said_where_no_access_control_is_lost() {
    const GUARD: (&str, &str) = ("auth-url", "ftp://auth/");
    for (setting, closed_for) in [
        (("backend-protocol", "FCGI"), ClosedFor::UpstreamProtocol),
        (("custom-headers", "none"), ClosedFor::ResponseHeaders),
    ] {
        let (_, reports) = closed(DataPlane::Envoy, &[setting]);
        let report = &reports[0];
        assert_eq!(report.closed_for, Some(closed_for), "{report}");
        assert_eq!(why_closed(&reports), Some(report.reason.as_str()));
        let (_, reports) = closed(DataPlane::Envoy, &[setting, GUARD]);
        assert_eq!(why_closed(&reports), None, "{reports:?}");
    }
    assert_eq!(why_closed(&[]), None);
}
