//! Objects of the API server that cannot be parsed: reported to their owners by an Event, too.

use std::collections::BTreeMap;

use sluice_ir::ReasonCode;
use sluice_translate::{InvalidObject, Kind, ObjectKey, ObjectRef, Report, Severity};
use tokio::sync::mpsc::UnboundedSender;

use crate::Notification;

/// Reports on unreadable objects, as long as they hold.
#[derive(Debug, Default)]
pub(super) struct InvalidObjects(BTreeMap<(Kind, ObjectKey), Report>);

impl InvalidObjects {
    /// One cannot be read.
    pub(super) fn report(
        &mut self,
        object: ObjectRef,
        error: InvalidObject,
        listener: &UnboundedSender<Vec<Notification>>,
    ) {
        let name = (object.kind, object.key.clone());
        let (field, reason) = match error {
            InvalidObject::Malformed { field, reason, .. } => (field, reason),
            other => ("kind".to_owned(), other.to_string()),
        };
        let consequence = "the object is served as it was before, if at all";
        let report = Report::new(
            object,
            ReasonCode::InvalidValue,
            Severity::Error,
            field,
            reason,
            consequence,
        );
        self.clear(&name, listener);
        // The receiver is gone only when the program ends.
        listener
            .send(vec![Notification::ReportAdded(report.clone())])
            .ok();
        self.0.insert(name, report);
    }

    /// It can be read again, or is gone.
    pub(super) fn clear(
        &mut self,
        name: &(Kind, ObjectKey),
        listener: &UnboundedSender<Vec<Notification>>,
    ) {
        if let Some(report) = self.0.remove(name) {
            listener
                .send(vec![Notification::ReportRemoved(report)])
                .ok();
        }
    }
}
