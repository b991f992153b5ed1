//! Every annotation of ingress-nginx, and our own, as data: what it takes, who may be hurt by it, and what Sluice makes of it.
//!
//! The rows stand in the files of their groups, beside the code that reads them. `docs/annotations.md` is written from
//! them, and what is not supported is reported in their words.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use super::{
    affinity, auth_external, auth_password, auth_tls, backend, body, canary, cors, errors, hash,
    headers, ip_access, limits, load_balance, mirror, observability, outlier_detection, proxy,
    proxy_ssl, redirect, rewrite, server, snippets, tls_redirect, waf,
};
use crate::Kind;
use crate::risk::Risk;
use crate::spelling::nearest_name;
use crate::support::{Support, Supports};

/// Groups of which a canary has settings of its own, as in ingress-nginx: its rules, and the choice among its endpoints.
static OF_CANARIES: [&Group; 5] = [
    &canary::GROUP,
    &load_balance::GROUP,
    &hash::GROUP,
    &affinity::GROUP,
    &outlier_detection::GROUP,
];

/// Groups that in ingress-nginx are those of the first Ingress of a host, a canary or not.
static OF_FIRST: [&Group; 2] = [&auth_tls::GROUP, &proxy_ssl::GROUP];

/// Annotations that belong together.
#[derive(Debug)]
pub struct Group {
    /// For a heading.
    pub title: &'static str,
    /// In the order in which they are documented.
    pub annotations: &'static [Annotation],
}

impl Group {
    fn has(&self, name: &str) -> bool {
        self.annotations.iter().any(|it| it.name == name)
    }
}

/// Every group.
pub static GROUPS: [&Group; 25] = [
    &rewrite::GROUP,
    &redirect::GROUP,
    &tls_redirect::GROUP,
    &server::GROUP,
    &backend::GROUP,
    &load_balance::GROUP,
    &hash::GROUP,
    &affinity::GROUP,
    &canary::GROUP,
    &outlier_detection::GROUP,
    &proxy::GROUP,
    &body::GROUP,
    &headers::GROUP,
    &cors::GROUP,
    &ip_access::GROUP,
    &auth_password::GROUP,
    &auth_external::GROUP,
    &auth_tls::GROUP,
    &limits::GROUP,
    &errors::GROUP,
    &mirror::GROUP,
    &proxy_ssl::GROUP,
    &observability::GROUP,
    &waf::GROUP,
    &snippets::GROUP,
];

/// One annotation.
#[derive(Clone, Copy, Debug)]
pub struct Annotation {
    /// Without the prefix.
    pub name: &'static str,
    /// The name that means the same and is asked first.
    pub alias_of: Option<&'static str>,
    /// Type of its value.
    pub value: Value,
    /// Risk of a careless value to others.
    pub risk: Risk,
    /// Scope of its effect.
    pub scope: Scope,
    /// Consequence when it cannot be honoured.
    pub role: Role,
    /// Support in each data plane.
    pub supports: Supports,
    /// Values that say what is so anyway: no reason to report anything.
    pub harmless: &'static [&'static str],
    /// Without a value it is as strict as with any, or means what it means in ingress-nginx.
    pub may_be_blank: bool,
}

/// Type of an annotation's value.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the variants are the kinds")]
pub enum Value {
    Bool,
    Cidrs,
    ConfigMap,
    Int,
    List,
    OnOff,
    OneOf(&'static [&'static str]),
    Regex,
    Seconds,
    Secret,
    Service,
    Size,
    Text,
    Url,
}

impl Value {
    /// Kind of the object that the value names, if the cluster source fetches it by name. Secrets and ConfigMaps only:
    /// every Service is read anyway.
    const fn referenced_kind(self) -> Option<Kind> {
        match self {
            Value::ConfigMap => Some(Kind::ConfigMap),
            Value::Secret => Some(Kind::Secret),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Value::Bool => "true or false",
            Value::Cidrs => "addresses and CIDRs",
            Value::ConfigMap => "name of a ConfigMap",
            Value::Int => "number",
            Value::List => "list",
            Value::OnOff => "on or off",
            Value::OneOf(values) => return f.write_str(&values.join(", ")),
            Value::Regex => "regular expression",
            Value::Seconds => "seconds",
            Value::Secret => "name of a Secret",
            Value::Service => "name of a Service",
            Value::Size => "size (`8m`)",
            Value::Text => "text",
            Value::Url => "URL",
        })
    }
}

/// Scope of an annotation's effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The paths of its Ingress.
    Location,
    /// The Ingress as a whole, or its backends.
    Ingress,
    /// Its hosts as a whole, also the paths that other Ingresses have there.
    Host,
}

/// Consequence when an annotation cannot be honoured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Served without it.
    Plain,
    /// It restricts access: if it cannot be honoured, its paths are closed.
    AccessControl,
    /// It changes what paths mean: taken literally they would match something else, so they are not served.
    Paths,
    /// It narrows what clients may do: the strictest value takes the place of one that cannot be honoured, which is what the
    /// text says.
    Narrows(&'static str),
    /// Text of somebody else's language: what in it may decide who comes in, nobody comes in without.
    Snippet,
}

/// A row: reported, until it says otherwise.
pub(super) const fn annotation(
    name: &'static str,
    value: Value,
    risk: Risk,
    scope: Scope,
) -> Annotation {
    Annotation {
        name,
        alias_of: None,
        value,
        risk,
        scope,
        role: Role::Plain,
        supports: Supports::both(Support::Unsupported("not served yet")),
        harmless: &[],
        may_be_blank: false,
    }
}

impl Annotation {
    pub(super) const fn alias_of(mut self, name: &'static str) -> Self {
        self.alias_of = Some(name);
        self
    }

    pub(super) const fn access_control(mut self) -> Self {
        self.role = Role::AccessControl;
        self
    }

    pub(super) const fn supported(mut self, supports: Supports) -> Self {
        self.supports = supports;
        self
    }

    /// The strictest value holds where this one cannot: `consequence` says what that means.
    pub(super) const fn narrows(mut self, consequence: &'static str) -> Self {
        self.role = Role::Narrows(consequence);
        self
    }

    /// Blank, it is as strict as with any value, or as if it were not there.
    pub(super) const fn may_be_blank(mut self) -> Self {
        self.may_be_blank = true;
        self
    }

    pub(super) const fn snippet(mut self) -> Self {
        self.role = Role::Snippet;
        self
    }

    pub(super) const fn changes_paths(mut self) -> Self {
        self.role = Role::Paths;
        self
    }

    pub(super) const fn full(self) -> Self {
        self.everywhere(Support::Full)
    }

    pub(super) const fn partly(self, difference: &'static str) -> Self {
        self.everywhere(Support::Partly(difference))
    }

    pub(super) const fn differs(self, difference: &'static str) -> Self {
        self.everywhere(Support::Differs(difference))
    }

    pub(super) const fn needless(self, reason: &'static str) -> Self {
        self.everywhere(Support::NotNeeded(reason))
    }

    pub(super) const fn instead(self, advice: &'static str) -> Self {
        self.everywhere(Support::Unsupported(advice))
    }

    /// In nginx this becomes of it, whatever Envoy does.
    pub(super) const fn nginx(mut self, support: Support) -> Self {
        self.supports.nginx = support;
        self
    }

    const fn everywhere(mut self, support: Support) -> Self {
        self.supports = Supports::both(support);
        self
    }

    pub(super) const fn harmless(mut self, values: &'static [&'static str]) -> Self {
        self.harmless = values;
        self
    }
}

static BY_NAME: LazyLock<BTreeMap<&'static str, &'static Annotation>> = LazyLock::new(|| {
    GROUPS
        .iter()
        .flat_map(|group| group.annotations)
        .map(|annotation| (annotation.name, annotation))
        .collect()
});

/// The annotation of this name, without the prefix.
#[must_use]
pub fn find(name: &str) -> Option<&'static Annotation> {
    BY_NAME.get(name).copied()
}

/// True if an annotation has an effect on a canary.
pub(super) fn is_of_canaries(name: &str) -> bool {
    OF_CANARIES.iter().any(|group| group.has(name))
}

/// True if an annotation of the first Ingress of a host holds for the host in ingress-nginx, and would on a canary.
pub(super) fn is_of_first(name: &str) -> bool {
    OF_FIRST.iter().any(|group| group.has(name))
}

/// Kind of the Secret or ConfigMap that an annotation refers to. `name` is without the prefix.
#[must_use]
pub fn referenced_kind(name: &str) -> Option<Kind> {
    find(name)?.value.referenced_kind()
}

/// The name that a name stands for.
pub(crate) fn canonical(name: &str) -> &str {
    find(name)
        .and_then(|annotation| annotation.alias_of)
        .unwrap_or(name)
}

/// The most similar name to a misspelt one.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    nearest_name(BY_NAME.keys().copied(), name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn all_138_annotations_of_ingress_nginx_are_known_once() {
        let all = GROUPS.iter().flat_map(|group| group.annotations);
        let all: Vec<_> = all
            .filter(|annotation| !annotation.name.contains('/'))
            .collect();
        assert_eq!(all.len(), 138);
        assert_eq!(
            all.iter()
                .map(|annotation| annotation.name)
                .collect::<BTreeSet<_>>()
                .len(),
            138
        );
    }

    #[test]
    fn an_alias_has_the_class_and_the_role_of_its_name() {
        let aliases = BY_NAME
            .values()
            .filter_map(|alias| Some((alias, find(alias.alias_of?).unwrap())));
        for (alias, name) in aliases {
            assert_eq!(
                (alias.risk, alias.role),
                (name.risk, name.role),
                "{}",
                alias.name
            );
        }
    }

    /// Annotations that close paths do so in every data plane. Snippets are judged for each by itself.
    #[test]
    fn a_guard_is_the_same_in_every_data_plane() {
        let guards = |annotation: &&&Annotation| {
            matches!(annotation.role, Role::AccessControl | Role::Paths)
        };
        for annotation in BY_NAME.values().filter(guards) {
            let Supports { envoy, nginx } = annotation.supports;
            assert_eq!(
                envoy.is_honoured(),
                nginx.is_honoured(),
                "{}",
                annotation.name
            );
        }
    }

    #[test]
    fn a_slip_is_recognised_and_an_invention_is_not() {
        assert_eq!(nearest("rewrite-targer"), Some("rewrite-target"));
        assert_eq!(nearest("proxy-body-sise"), Some("proxy-body-size"));
        assert_eq!(nearest("my-company-owner"), None);
    }
}
