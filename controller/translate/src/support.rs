//! Support for a setting in each data plane, and the data plane that a report names.

use std::fmt;

/// nginx knows more variables.
pub(crate) const VARIABLES_AND_PATTERNS: &str = "texts with variables that Sluice supports, and patterns; recursion, conditionals and lookbehind of varying length are reported";

/// Of a timeout that Envoy does not have.
pub(crate) const SEND_TIMEOUT: Supports = Supports {
    envoy: Support::Partly(
        "one that is longer than proxy-read-timeout, which limits both directions, is reported",
    ),
    nginx: Support::Full,
};
/// Report about a [`SEND_TIMEOUT`] that is longer.
pub(crate) const SEND_IS_LONGER: &str =
    "it is longer than proxy-read-timeout, which limits both directions";

/// The web application firewall.
pub(crate) const WAF: Supports = Supports {
    envoy: Support::Partly("where the controller has ModSecurity's library (docs/waf.md)"),
    nginx: Support::Partly("where nginx has ModSecurity's module (docs/waf.md)"),
};
/// Rules of a snippet.
pub(crate) const WAF_RULES: &str = "settings, rules and exceptions that docs/waf.md lists";

/// Advice instead of a snippet for anything but http.
pub(crate) const NO_STREAM_SNIPPETS: &str =
    "no raw nginx configuration; use --tcp-services-configmap and --udp-services-configmap";

/// Data plane that serves the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPlane {
    /// Envoy, managed or not.
    Envoy,
    /// nginx with our module.
    Nginx,
}

impl fmt::Display for DataPlane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DataPlane::Envoy => "Envoy",
            DataPlane::Nginx => "nginx",
        })
    }
}

/// Support for a setting in one data plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// As in ingress-nginx.
    Full,
    /// Not everything that it takes; what is not taken is reported where it occurs.
    Partly(&'static str),
    /// With this difference, always.
    Differs(&'static str),
    /// There is nothing to do for it.
    NotNeeded(&'static str),
    /// Not at all; what to do instead.
    Unsupported(&'static str),
}

impl Support {
    /// True if the data plane honours it.
    #[must_use]
    pub fn is_honoured(self) -> bool {
        matches!(
            self,
            Support::Full | Support::Partly(_) | Support::Differs(_)
        )
    }
}

/// Support for a setting in both data planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supports {
    /// In Envoy.
    pub envoy: Support,
    /// In nginx.
    pub nginx: Support,
}

impl Supports {
    /// Both data planes are rendered from the same words of ours.
    pub(crate) const fn both(support: Support) -> Self {
        Supports {
            envoy: support,
            nginx: support,
        }
    }

    /// Support in one data plane.
    pub(crate) fn of(self, data_plane: DataPlane) -> Support {
        match data_plane {
            DataPlane::Envoy => self.envoy,
            DataPlane::Nginx => self.nginx,
        }
    }

    /// Support in the data plane that serves; each is named where several differ.
    pub(crate) fn by_data_plane(
        self,
        served_by: Option<DataPlane>,
    ) -> impl Iterator<Item = (AppliesTo, Support)> {
        let Supports { envoy, nginx } = self;
        let both = [(DataPlane::Envoy, envoy), (DataPlane::Nginx, nginx)];
        let asked = both
            .into_iter()
            .filter(move |(one, _)| served_by.is_none_or(|wanted| wanted == *one));
        let differ = envoy != nginx;
        let told = if differ { 2 } else { 1 };
        asked.take(told).map(move |(one, support)| {
            // Where one serves, only what it lacks is worth its name: the other one has it.
            let is_named =
                differ && (served_by.is_none() || matches!(support, Support::Unsupported(_)));
            (AppliesTo(is_named.then_some(one)), support)
        })
    }

    /// How to name the data planes that serve and honour not all of it; `None` if there is none.
    pub(crate) fn partly(self, served_by: Option<DataPlane>) -> Option<AppliesTo> {
        let mut all = self.by_data_plane(served_by);
        all.find_map(|(applies_to, support)| {
            matches!(support, Support::Partly(_)).then_some(applies_to)
        })
    }

    /// True if a data plane that serves honours it.
    pub(crate) fn is_honoured(self, served_by: Option<DataPlane>) -> bool {
        self.by_data_plane(served_by)
            .any(|(_, support)| support.is_honoured())
    }
}

/// The data plane that something holds for; none: it holds for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AppliesTo(Option<DataPlane>);

impl AppliesTo {
    /// All that serve.
    pub(crate) const ALL: AppliesTo = AppliesTo(None);

    /// Message for a setting that is not supported.
    pub(crate) fn not_supported(self, advice: &str) -> String {
        match self.0 {
            Some(data_plane) => format!("not supported by {data_plane}: {advice}"),
            None => format!("not supported: {advice}"),
        }
    }

    /// Something to know about a setting.
    pub(crate) fn note(self, text: &str) -> String {
        self.0.map_or_else(
            || text.to_owned(),
            |data_plane| format!("{data_plane}: {text}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONLY_NGINX: Supports = Supports {
        envoy: Support::Unsupported("x"),
        nginx: Support::Full,
    };

    #[test]
    fn what_is_the_same_everywhere_is_told_once_and_without_a_name() {
        let told: Vec<_> = Supports::both(Support::Unsupported("x"))
            .by_data_plane(None)
            .collect();
        assert_eq!(told, [(AppliesTo(None), Support::Unsupported("x"))]);
        assert_eq!(told[0].0.not_supported("x"), "not supported: x");
    }

    #[test]
    fn a_note_names_nobody_where_one_serves() {
        let differ = Supports {
            envoy: Support::NotNeeded("x"),
            nginx: Support::Full,
        };
        let note = |served_by| {
            differ
                .by_data_plane(served_by)
                .next()
                .map(|(applies_to, _)| applies_to.note("x"))
        };
        assert_eq!(note(Some(DataPlane::Envoy)).as_deref(), Some("x"));
        assert_eq!(note(None).as_deref(), Some("Envoy: x"));
    }

    #[test]
    fn what_differs_is_told_of_who_serves() {
        let all: Vec<_> = ONLY_NGINX.by_data_plane(None).collect();
        assert_eq!(all.len(), 2);
        let envoy: Vec<_> = ONLY_NGINX.by_data_plane(Some(DataPlane::Envoy)).collect();
        assert_eq!(
            envoy,
            [(AppliesTo(Some(DataPlane::Envoy)), Support::Unsupported("x"))]
        );
        assert_eq!(envoy[0].0.not_supported("x"), "not supported by Envoy: x");
        assert!(!ONLY_NGINX.is_honoured(Some(DataPlane::Envoy)));
        assert!(ONLY_NGINX.is_honoured(Some(DataPlane::Nginx)) && ONLY_NGINX.is_honoured(None));
    }
}
