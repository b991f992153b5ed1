//! The annotations of one Ingress, with the checks that all of them have in common behind them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{Hostname, ReasonCode, ServerName};
use sluice_syntax::shortened;
use sluice_syntax::value::{self, Parsed};
use sluice_translate_engine::{
    CLOSED, Cause, ClosedFor, Ingress, ObjectKey, References, Report, Reporter, Secrets, Severity,
    closed_text,
};

use super::admission_denied;
use super::catalogue::{self, Annotation, Role};
use super::host_closing::{self, HostClosing, Reach};
use super::intake::catalogue_name;
use super::snippets::Snippet;
use crate::risk::Risk;
use crate::snippet::Constants;
use crate::support::DataPlane;

const PART_IGNORED: &str = "this part ignored";
const HOSTS_CLOSED: &str = concat!(
    closed_text!(),
    ": all paths of its hosts; of a host that another namespace owns, those of its own namespace"
);

/// The operator's rules about annotations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rules<'a> {
    /// `--annotations-prefix`, without the slash.
    pub(crate) prefix: &'a str,
    /// `annotations-risk-level`: the highest that is taken.
    pub(crate) risk: Risk,
    /// `annotation-value-word-blocklist`: no value may contain one of these.
    pub(crate) blocked: &'a [String],
    /// Data plane that serves; none: any.
    pub(crate) data_plane: Option<DataPlane>,
}

/// Values by name, and what their trouble comes to.
pub(crate) struct View<'a, 'r> {
    pub(super) values: BTreeMap<&'static str, &'a str>,
    /// Names as they are written, of those that are written by an alias.
    written: BTreeMap<&'static str, &'static str>,
    /// Those that are written and have no value that can be honoured.
    refused: BTreeSet<&'static str>,
    /// Those that are written without a value, and should have one.
    pub(super) blank: Vec<&'static str>,
    pub(super) reporter: Reporter<'r>,
    /// Of the Ingress.
    pub(super) namespace: Arc<str>,
    /// All names that its paths are found by; `None`: there may be others.
    pub(super) hosts: Option<BTreeSet<Hostname>>,
    /// Names that all of its paths have in common.
    pub(super) constants: Constants,
    pub(super) references: References<'a>,
    pub(super) secrets: &'r mut Secrets,
    /// Something that guards access cannot be honoured.
    pub(super) denied: bool,
    /// It guards more than its own paths.
    pub(super) closes: Option<HostClosing>,
    /// The paths mean something that cannot be expressed.
    pub(super) paths_unreadable: bool,
    /// A value contains a word that the operator does not want to see.
    pub(super) blocked: bool,
    /// It is a canary: what its main Ingress says holds, but for a few settings.
    pub(super) is_canary: bool,
    /// Snippets, which are judged once everything else is known.
    pub(super) snippets: Vec<Snippet<'a>>,
    #[cfg(test)]
    asked: std::cell::RefCell<std::collections::BTreeSet<&'static str>>,
}

fn hosts(ingress: &Ingress) -> Option<BTreeSet<Hostname>> {
    let spec = ingress.spec.as_ref()?;
    let rules = spec
        .rules
        .as_ref()
        .filter(|_| spec.default_backend.is_none())?;
    let hosts = rules
        .iter()
        .map(|rule| Hostname::parse(rule.host.as_deref()?).ok());
    hosts.collect()
}

/// True if an Ingress says that it is a canary, whatever else it says.
pub(crate) fn is_canary(ingress: &Ingress, prefix: &str) -> bool {
    let written = ingress.annotations.get(&format!("{prefix}/canary"));
    written.is_some_and(|text| value::bool(text.trim()) == Ok(true))
}

fn constants(ingress: &Ingress, key: &ObjectKey) -> Constants {
    let spec = ingress.spec.iter();
    let rules = spec.clone().flat_map(|it| it.rules.iter().flatten());
    let paths = rules.flat_map(|rule| rule.http.iter().flat_map(|http| &http.paths));
    let backends = paths.map(|path| &path.backend);
    let backends = backends.chain(spec.filter_map(|it| it.default_backend.as_ref()));
    let mut services: BTreeSet<Option<(&str, String)>> = backends
        .map(|backend| {
            let service = backend.service.as_ref()?;
            let port = service.port.as_ref()?;
            let port = port.number.map(|number| number.to_string());
            Some((
                service.name.as_str(),
                port.or_else(|| service.port.as_ref()?.name.clone())?,
            ))
        })
        .collect();
    let only = services
        .pop_first()
        .flatten()
        .filter(|_| services.is_empty());
    let of_service = only
        .into_iter()
        .flat_map(|(name, port)| [("service_name", name.to_owned()), ("service_port", port)]);
    let of_ingress = [
        ("namespace", key.namespace.to_string()),
        ("ingress_name", key.name.to_string()),
    ];
    Constants::new(of_ingress.into_iter().chain(of_service))
}

impl<'a, 'r> View<'a, 'r> {
    pub(super) fn new(
        ingress: &'a Ingress,
        rules: &Rules<'_>,
        references: References<'a>,
        secrets: &'r mut Secrets,
        reporter: Reporter<'r>,
    ) -> Self {
        let mut view = View {
            values: BTreeMap::new(),
            written: BTreeMap::new(),
            refused: BTreeSet::new(),
            blank: Vec::new(),
            namespace: reporter.object().key.namespace.clone(),
            hosts: hosts(ingress),
            constants: constants(ingress, &reporter.object().key),
            reporter,
            references,
            secrets,
            denied: false,
            closes: None,
            paths_unreadable: false,
            blocked: false,
            is_canary: is_canary(ingress, rules.prefix),
            snippets: Vec::new(),
            #[cfg(test)]
            asked: std::cell::RefCell::default(),
        };
        for (key, value) in ingress.annotations.iter() {
            match catalogue_name(key, rules.prefix) {
                Some(name) => view.take(name, value, rules),
                None => view.warn_of_foreign_prefix(key, rules.prefix),
            }
        }
        view.resolve_aliases();
        view.reject_blanks();
        view
    }

    /// More names of its hosts.
    pub(super) fn add_hosts<'n>(&mut self, names: impl IntoIterator<Item = &'n ServerName>) {
        for name in names {
            match (name, &mut self.hosts) {
                (ServerName::Exact(name), Some(hosts)) => {
                    hosts.insert(name.clone());
                }
                _ => self.hosts = None,
            }
        }
    }

    /// The value, when there is one that is not blank.
    pub(super) fn text(&self, name: &'static str) -> Option<&'a str> {
        #[cfg(test)]
        self.asked.borrow_mut().insert(name);
        debug_assert!(
            catalogue::find(name).is_some(),
            "{name} is in the catalogue"
        );
        self.values.get(name).copied()
    }

    /// The value, parsed. One that cannot be parsed is reported, and is none.
    pub(super) fn read<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&'a str) -> Parsed<T>,
    ) -> Option<T> {
        let text = self.text(name)?;
        match parse(text) {
            Ok(value) => Some(value),
            Err(expected) => {
                self.reject(name, &expected);
                None
            }
        }
    }

    /// The value as a count. A negative one is as good as none, in ingress-nginx, too, and whoever wrote it hears of that.
    pub(super) fn count(&mut self, name: &'static str) -> Option<u32> {
        let count = self.read(name, value::count)?;
        let written = self.text(name).unwrap_or_default();
        if value::int(written).is_ok_and(|number| number < 0) {
            let reason = format!("expected 0 or more, got {:?}", shortened(written));
            self.note(ReasonCode::NoEffect, name, reason, "no effect")
                .same_as_ingress_nginx = true;
        }
        Some(count)
    }

    /// The value of what narrows: `absent` where it is not written, and `strictest` where it cannot be honoured.
    pub(super) fn strict<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&'a str) -> Parsed<T>,
        absent: T,
        strictest: T,
    ) -> T {
        if self.is_rejected(name) {
            return strictest;
        }
        match self.text(name) {
            None => absent,
            Some(_) => self.read(name, parse).unwrap_or(strictest),
        }
    }

    /// True if it is written, but has no value that can be honoured.
    pub(super) fn is_rejected(&self, name: &'static str) -> bool {
        #[cfg(test)]
        self.asked.borrow_mut().insert(name);
        self.refused.contains(name)
    }

    /// The value of a switch that is off unless it says otherwise.
    pub(super) fn flag(&mut self, name: &'static str) -> bool {
        self.read(name, value::bool).unwrap_or_default()
    }

    /// Reports a value that is not what was expected. A guard then closes its locations.
    pub(super) fn reject(&mut self, name: &'static str, expected: &str) {
        let got = self.values.get(name).copied().unwrap_or_default();
        let reason = format!("expected {expected}, got {:?}", shortened(got));
        self.not_honoured(name, reason, "annotation ignored")
            .admission_denied |= admission_denied::is_when_malformed(name);
    }

    /// As [`View::reject`], for a part of the value.
    pub(super) fn reject_part(&mut self, name: &'static str, expected: &str, got: &str) {
        let reason = format!("expected {expected}, got {:?}", shortened(got));
        let role = catalogue::find(name).map(|annotation| annotation.role);
        let field = self.field(name);
        let report = match role {
            // The other parts are as strict without it.
            Some(Role::Narrows(_)) => self.reporter.report(
                ReasonCode::InvalidValue,
                Severity::Warning,
                field,
                reason,
                PART_IGNORED,
            ),
            _ => self.not_honoured(name, reason, PART_IGNORED),
        };
        report.admission_denied |= admission_denied::is_when_malformed(name);
    }

    /// Reports what is served without, and says what that means for the Ingress.
    pub(super) fn not_honoured(
        &mut self,
        name: &'static str,
        cause: impl Into<Cause>,
        otherwise: &str,
    ) -> &mut Report {
        let annotation = catalogue::find(name);
        let role = annotation.map_or(Role::Plain, |annotation| annotation.role);
        let mut closed_for = None;
        let (severity, consequence) = match role {
            Role::Plain | Role::Snippet => (Severity::Warning, otherwise),
            Role::AccessControl => {
                closed_for = Some(ClosedFor::AccessControl);
                let reach = annotation.and_then(|annotation| self.deny(annotation));
                let consequence = match reach {
                    Some(Reach::Host) => HOSTS_CLOSED,
                    Some(Reach::Namespace) | None => CLOSED,
                };
                (Severity::Error, consequence)
            }
            Role::Narrows(consequence) => {
                self.refused.insert(
                    catalogue::find(name).map_or(name, |found| found.alias_of.unwrap_or(name)),
                );
                (Severity::Error, consequence)
            }
            Role::Paths => {
                self.paths_unreadable = true;
                (
                    Severity::Error,
                    "it changes what paths mean, so they are not served",
                )
            }
        };
        let Cause {
            code,
            reason,
            missing,
        } = cause.into();
        let field = self.field(name);
        let report = self
            .reporter
            .report(code, severity, field, reason, consequence);
        report.missing = missing;
        report.closed_for = closed_for;
        report
    }

    /// Lets nothing through where an annotation guards, and says what more that is than the paths of the Ingress.
    pub(super) fn deny(&mut self, annotation: &Annotation) -> Option<Reach> {
        self.denied = true;
        let reach = host_closing::reach(annotation)?;
        let field = self.field(annotation.name);
        HostClosing::widen(&mut self.closes, reach, field);
        Some(reach)
    }

    /// Something to know about an annotation that is honoured.
    pub(super) fn note(
        &mut self,
        code: ReasonCode,
        name: &str,
        reason: impl Into<String>,
        consequence: &str,
    ) -> &mut Report {
        let field = self.field(name);
        self.reporter
            .report(code, Severity::Note, field, reason, consequence)
    }

    /// An alias counts when the name that it stands for is not there.
    fn resolve_aliases(&mut self) {
        let aliases = self
            .values
            .keys()
            .filter_map(|name| Some((*name, catalogue::find(name)?.alias_of?)));
        for (alias, name) in aliases.collect::<Vec<_>>() {
            let Some(value) = self.values.remove(alias) else {
                continue;
            };
            if self.values.contains_key(name) {
                self.note(
                    ReasonCode::NoEffect,
                    alias,
                    format!("expected one of {name} and {alias}, got both"),
                    "annotation ignored",
                );
            } else {
                self.values.insert(name, value);
                self.written.insert(name, alias);
            }
        }
    }

    /// The field of a report, by the name that the user wrote.
    pub(super) fn field(&self, name: &str) -> String {
        format!("annotation {}", self.written.get(name).unwrap_or(&name))
    }

    /// A name, or the alias that the user wrote for it.
    pub(super) fn written_name(&self, name: &'static str) -> &'static str {
        self.written.get(name).copied().unwrap_or(name)
    }

    /// Annotations that are taken but that nothing has asked for: accepted and ignored.
    #[cfg(test)]
    pub(super) fn unread(&self) -> Vec<&'static str> {
        let asked = self.asked.borrow();
        self.values
            .keys()
            .filter(|name| !asked.contains(*name))
            .copied()
            .collect()
    }
}
