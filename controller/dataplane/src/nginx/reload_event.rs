//! Results of giving nginx a configuration.

/// The result for a configuration, identified by the hash that [`Configurations::publish`] returned.
///
/// [`Configurations::publish`]: super::Configurations::publish
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReloadEvent {
    /// nginx has loaded it, by a start or a reload.
    Reloaded(u128),
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
