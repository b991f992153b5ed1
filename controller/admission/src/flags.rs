//! Flags of the validating webhook. Names and defaults are ingress-nginx's.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Flags of the webhook.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Admission")]
pub struct WebhookFlags {
    /// Address of the validating webhook [default: none].
    #[arg(long, value_name = "HOST:PORT")]
    pub validating_webhook: Option<String>,
    /// Certificate of the webhook (PEM), reloaded on change.
    #[arg(long, value_name = "PATH")]
    pub validating_webhook_certificate: Option<PathBuf>,
    /// Private key of the webhook (PEM), reloaded on change.
    #[arg(long, value_name = "PATH")]
    pub validating_webhook_key: Option<PathBuf>,
    /// Reject Ingresses whose hosts, paths or secret names contain patterns of attacks.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true",
        action = clap::ArgAction::Set)]
    pub deep_inspect: bool,
}

impl WebhookFlags {
    /// The port that is listened on.
    pub fn port(&self) -> Option<u16> {
        self.validating_webhook
            .as_ref()?
            .rsplit(':')
            .next()?
            .parse()
            .ok()
    }
}
