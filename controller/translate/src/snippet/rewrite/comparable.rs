//! Parts of a request that data planes compare.

use sluice_ir::{Comparison, GlobalConfig};
use sluice_pattern::TargetPart;

use crate::support::DataPlane;

/// Parts of a request that conditions may compare: nginx knows all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Comparable {
    /// The target as it was received. Envoy has it normalised.
    pub(crate) received_target: bool,
    /// Headers in both spellings: with `enable-underscores-in-headers` `X_A` and `X-A` are one to nginx, and two to Envoy.
    pub(crate) headers: bool,
    /// All headers about the client as it sent them. Envoy writes its own in their place, and keeps a few ([`sluice_ir::SENT_HEADERS`]).
    pub(crate) received_headers: bool,
    /// The address of the client. Envoy chooses routes without it.
    pub(crate) client_address: bool,
    /// All cookies as one text, with `; ` between those of several lines. Envoy has a comma there.
    pub(crate) joined_cookies: bool,
    /// Parts of the target apart. To Envoy they are patterns of all of it, and RE2 does not have words for all.
    pub(crate) target_parts: bool,
    /// The scheme of the connection. To Envoy it is what a proxy in front says, where that is believed.
    pub(crate) scheme: bool,
}

impl Comparable {
    /// nginx compares all of them.
    pub(crate) const BY_NGINX: Comparable = Comparable {
        received_target: true,
        headers: true,
        received_headers: true,
        client_address: true,
        joined_cookies: true,
        target_parts: true,
        scheme: true,
    };
    #[cfg(test)]
    pub(crate) const ALL: Comparable = Comparable::BY_NGINX;

    /// Parts that a data plane compares. What several may serve has to be what all of them can compare.
    pub(crate) fn by(data_plane: Option<DataPlane>, config: &GlobalConfig) -> Self {
        let is_nginx = data_plane == Some(DataPlane::Nginx);
        Comparable {
            received_target: is_nginx,
            headers: is_nginx || !config.underscores_in_headers,
            received_headers: is_nginx,
            client_address: is_nginx,
            joined_cookies: is_nginx,
            target_parts: is_nginx,
            scheme: is_nginx || !config.forwarded.tells_scheme(),
        }
    }

    /// The same where it makes no difference to anybody's access that Envoy has the target normalised.
    pub(super) fn with_normalised_target(self) -> Self {
        Comparable {
            received_target: true,
            ..self
        }
    }

    /// True if every data plane has words for the comparison of a part of the target.
    pub(in crate::snippet) fn compares(
        self,
        part: TargetPart<'_>,
        comparison: &Comparison,
    ) -> bool {
        let written = || match comparison {
            Comparison::Equals(text) => sluice_pattern::re2_target_equals(part, text),
            Comparison::Matches(pattern) => sluice_pattern::re2_target(part, pattern, false),
            Comparison::MatchesIgnoreCase(pattern) => {
                sluice_pattern::re2_target(part, pattern, true)
            }
        };
        self.target_parts || written().is_some()
    }

    /// True if it makes no difference what is between the cookies.
    pub(super) fn compares_cookies(self, comparison: &Comparison) -> bool {
        const SEPARATORS: &str = ";, ";
        let takes_none = match comparison {
            Comparison::Equals(text) => !text.contains([';', ',', ' ']),
            Comparison::Matches(pattern) | Comparison::MatchesIgnoreCase(pattern) => {
                sluice_pattern::takes_none_of(pattern, SEPARATORS)
            }
        };
        self.joined_cookies || takes_none
    }
}
