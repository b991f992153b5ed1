//! Results of giving nginx a configuration.

/// The result for a configuration, identified by the hash that [`Configurations::publish`] returned.
///
/// [`Configurations::publish`]: super::Configurations::publish
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReloadEvent {
    /// nginx has loaded it.
    Reloaded {
        /// The hash.
        content: u128,
        /// The reason for a reload; `None`: nginx was started with it.
        reason: Option<ReloadReason>,
    },
    /// An adopted nginx had it already.
    Unchanged(u128),
    /// `nginx -t` rejected it; the previous configuration is kept.
    Rejected {
        /// The hash.
        content: u128,
        /// nginx's error message.
        message: String,
    },
    /// It could not be tested, or the reload failed although `nginx -t` passed; the previous configuration is kept.
    Failed,
}

/// The reason for a reload. Of several it is the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReloadReason {
    /// A new controller has found an nginx with another configuration.
    Adoption,
    /// A host that nginx.conf has to name is new, or is gone.
    Hosts,
    /// The paths of hosts in the table need a combination of settings that nginx.conf does not have.
    Profiles,
    /// A file that nginx reads when it loads its configuration: an authority, rules of a firewall.
    Files,
    /// Everything else: the ConfigMap, ports, settings of a host that nginx.conf names.
    Settings,
}

impl ReloadReason {
    /// The word for it, in metrics and in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ReloadReason::Adoption => "adoption",
            ReloadReason::Hosts => "hosts",
            ReloadReason::Profiles => "profiles",
            ReloadReason::Files => "files",
            ReloadReason::Settings => "settings",
        }
    }
}
