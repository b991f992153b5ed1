//! `sluice certgen`: the words of kube-webhook-certgen.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

#[derive(Debug, ClapArgs)]
pub(crate) struct Certgen {
    /// Path to a kubeconfig [default: in a pod, its service account; else as kubectl].
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) log: super::CertgenLog,
    #[command(subcommand)]
    pub(crate) command: CertgenCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CertgenCommand {
    /// Create a certificate for the webhook in a Secret, unless it exists; with --webhook-name also patch.
    Create(Create),
    /// Patch the webhook configuration with the CA of the Secret.
    Patch(Patch),
    /// Create the certificates that controller and data plane show each other, in two Secrets, unless they exist.
    Xds(Xds),
    /// Print the version.
    Version,
}

/// Secret for the certificate.
#[derive(Debug, ClapArgs)]
pub(crate) struct SecretPlace {
    /// Namespace of the Secret.
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) namespace: String,
    /// Name of the Secret.
    #[arg(long, value_name = "NAME")]
    pub(crate) secret_name: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Create {
    #[command(flatten)]
    pub(crate) secret: SecretPlace,
    /// Names of the webhook's Service, such as sluice-admission.sluice.svc.
    #[arg(long, value_name = "HOST,...", value_delimiter = ',', required = true)]
    pub(crate) host: Vec<String>,
    /// Key of the certificate in the Secret.
    #[arg(long, default_value = "cert", value_name = "KEY")]
    pub(crate) cert_name: String,
    /// Key of the private key in the Secret.
    #[arg(long, default_value = "key", value_name = "KEY")]
    pub(crate) key_name: String,
    #[command(flatten)]
    pub(crate) trust: Trust,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Patch {
    #[command(flatten)]
    pub(crate) secret: SecretPlace,
    #[command(flatten)]
    pub(crate) trust: Trust,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Xds {
    /// Namespace of both Secrets.
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) namespace: String,
    /// Name of the controller's Secret.
    #[arg(long, value_name = "NAME")]
    pub(crate) controller_secret: String,
    /// Name of the data plane's Secret.
    #[arg(long, value_name = "NAME")]
    pub(crate) data_plane_secret: String,
    /// Names of the controller's Service, such as sluice-controller.sluice.svc.
    #[arg(long, value_name = "HOST,...", value_delimiter = ',', required = true)]
    pub(crate) host: Vec<String>,
}

/// Objects that are to trust the certificate.
#[derive(Debug, ClapArgs)]
pub(crate) struct Trust {
    /// Name of the webhook configurations to patch.
    #[arg(long, value_name = "NAME")]
    pub(crate) webhook_name: Option<String>,
    /// Name of the APIService to patch.
    #[arg(long, value_name = "NAME")]
    pub(crate) apiservice_name: Option<String>,
    /// Patch the ValidatingWebhookConfiguration.
    #[arg(long, num_args = 0..=1, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) patch_validating: bool,
    /// Patch the MutatingWebhookConfiguration.
    #[arg(long, num_args = 0..=1, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) patch_mutating: bool,
    /// Failure policy of the webhook, for when it does not answer [default: unchanged].
    #[arg(long, value_enum, value_name = "POLICY", ignore_case = true)]
    pub(crate) patch_failure_policy: Option<FailurePolicy>,
}

/// As the API server names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub(crate) enum FailurePolicy {
    /// It is stored all the same.
    Ignore,
    /// It is refused.
    Fail,
}
