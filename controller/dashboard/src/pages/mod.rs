//! The pages, one file each, with its template.

pub(crate) mod certificates;
mod data_planes;
mod endpoint;
pub(crate) mod explain;
pub(crate) mod ingress;
pub(crate) mod ingresses;
mod last_publication;
pub(crate) mod overview;
pub(crate) mod refused;

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use sluice_translate::Report;

/// A page that is there.
fn shown(page: &impl Template) -> Response {
    with_status(StatusCode::OK, page)
}

fn with_status(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => (status, Html(text)).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// A report as a page shows it.
struct ReportLine {
    /// `error`, `warning` or `note`: word and style.
    severity: String,
    field: String,
    text: String,
}

impl ReportLine {
    fn new(report: &Report) -> Self {
        ReportLine {
            severity: report.severity.to_string(),
            field: report.field.clone(),
            text: format!("{}; {}", report.reason, report.consequence),
        }
    }

    /// With the object that it is about.
    fn of_object(report: &Report) -> Self {
        ReportLine {
            field: format!("{}: {}", report.object, report.field),
            ..ReportLine::new(report)
        }
    }
}
