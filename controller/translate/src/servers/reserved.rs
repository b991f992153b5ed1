//! Names that have an owner though no Ingress names them as a host (R12 of the security rules): those under a wildcard host,
//! other names of a host, and the name with `www.` that leads to one, or without it. A newer namespace does not take them.

use sluice_ir::{ReasonCode, ServerName};
use sluice_translate_engine::{Kind, ObjectRef, Severity};

use super::path_rule::IngressContext;
use super::{Assembly, server_builder};

/// The flag of the operator, for wildcards: who has one may give names under it away. Other names were written one by one.
const FLAG: &str = "--allow-hosts-under-foreign-wildcards";

/// Holder of a reserved name, and the reason.
struct Holder {
    object: ObjectRef,
    by: String,
    /// [`FLAG`] is about it.
    is_wildcard: bool,
}

impl Holder {
    fn of_written(object: &ObjectRef, by: &str) -> Self {
        Holder {
            object: object.clone(),
            by: by.to_owned(),
            is_wildcard: false,
        }
    }
}

impl Assembly<'_> {
    /// Yields a name that is reserved for an older namespace; reported either way. True if this Ingress does not get it.
    pub(super) fn yield_reserved_name(
        &mut self,
        name: &ServerName,
        context: &IngressContext,
        field: &str,
        consequence: &str,
    ) -> bool {
        let Some(Holder {
            object,
            by,
            is_wildcard,
        }) = self.holder(name, context)
        else {
            return false;
        };
        let is_allowed = is_wildcard && self.options.hosts_under_foreign_wildcards;
        let reason = format!(
            "host {name} already claimed by {object} of another namespace, which is older, by {by}"
        );
        let (severity, consequence) = match is_allowed {
            true => (Severity::Warning, format!("served, because {FLAG} is on")),
            false if is_wildcard => (Severity::Error, format!("{consequence} ({FLAG} is off)")),
            false => (Severity::Error, consequence.to_owned()),
        };
        self.report(&context.object).report(
            ReasonCode::Conflicted,
            severity,
            field,
            reason,
            consequence,
        );
        !is_allowed
    }

    /// Of a name that no older Ingress has as a host.
    fn holder(&self, name: &ServerName, context: &IngressContext) -> Option<Holder> {
        let is_named = |name: &ServerName| {
            self.builders
                .get(name)
                .is_some_and(|builder| builder.tenants.are_any())
        };
        if *name == ServerName::CatchAll || is_named(name) {
            return None;
        }
        let is_foreign = |object: &&ObjectRef| object.key.namespace != context.object.key.namespace;
        if let Some(object) = self.aliases.owner(name).filter(is_foreign) {
            return Some(Holder::of_written(object, "server-alias"));
        }
        let counterpart = server_builder::www_counterpart(name)
            .and_then(|other| self.builders.get(&other)?.from_to_www.as_ref());
        if let Some(object) = counterpart.filter(is_foreign) {
            return Some(Holder::of_written(object, "from-to-www-redirect"));
        }
        let suffix = name.wildcard_suffix()?;
        let holder = self.wildcards.get(&suffix)?;
        let object = ObjectRef {
            kind: Kind::Ingress,
            key: holder.key().clone(),
        };
        let is_older = (false, holder.age.clone()) < context.seniority;
        let by = format!("the wildcard *.{}", suffix.as_str());
        (is_older && is_foreign(&&object)).then_some(Holder {
            object,
            by,
            is_wildcard: true,
        })
    }
}
