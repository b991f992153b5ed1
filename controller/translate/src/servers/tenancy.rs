//! Whose a host is: the namespace's whose Ingress named it first (R12 of the security rules).
//!
//! Any Ingress may add paths to any host, as in ingress-nginx. Other than there, what holds for the host as a whole (its
//! certificate, other names, an app root, certificates of clients) is said in the namespace that has it, so that nobody
//! changes what the paths of others answer.

use sluice_ir::ServerName;

use super::Assembly;
use super::claim::Author;
use crate::Severity;

impl Assembly<'_> {
    /// The first to name a host has it.
    pub(super) fn take_namespace(&mut self, name: &ServerName, author: &Author) {
        let draft = self.drafts.entry(name.clone()).or_default();
        draft.namespace.get_or_insert_with(|| author.object.key.namespace.clone());
    }

    /// Whether the host is another namespace's.
    pub(super) fn is_stranger(&self, name: &ServerName, author: &Author) -> bool {
        let namespace = self.drafts.get(name).and_then(|draft| draft.namespace.as_ref());
        namespace.is_some_and(|namespace| *namespace != author.object.key.namespace)
    }

    /// Names what a stranger says about the host, where nobody has said that before.
    pub(super) fn say_stranger(&mut self, name: &ServerName, author: &Author) {
        let Some(draft) = self.drafts.get(name) else { return };
        let host = &author.annotations.host;
        let aliased = self.aliases.iter().any(|(_, server, _)| server == name);
        let said = [
            ("spec.tls", !author.tls.is_empty() && draft.tls.is_none()),
            ("annotation app-root", host.app_root.is_some() && draft.app_root.is_none()),
            ("annotation from-to-www-redirect", host.from_to_www && !draft.from_to_www),
            ("annotation server-alias", !host.aliases.is_empty() && !aliased),
            ("annotation ssl-passthrough", host.passthrough && draft.passthrough.is_empty()),
        ];
        let namespace = draft.namespace.clone().unwrap_or_default();
        for (field, _) in said.into_iter().filter(|(_, said)| *said) {
            let reason =
                format!("expected an Ingress of namespace {namespace}, which named the host {name} first");
            self.report(&author.object).say(Severity::Warning, field, reason, "not used for this host");
        }
    }
}
