//! `sluice check`.

use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};

use super::{AccessArgs, Colours, seconds};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code 0: nothing has failed; 1: something has, or with --strict there is a warning. Examples:\n  \
    sluice check --pre --namespace sluice-system\n  \
    sluice check --wait 60 --strict"
)]
pub(crate) struct Check {
    /// Check a cluster before an installation: rights to install, IngressClass, other webhooks.
    #[arg(long)]
    pub(crate) pre: bool,
    /// Namespace of Sluice's pods [default: all; with --pre sluice-system].
    #[arg(long, short, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Label selector of Sluice's pods, beside app.kubernetes.io/component=controller or data-plane.
    #[arg(
        long,
        short = 'l',
        value_name = "SELECTOR",
        default_value = "app.kubernetes.io/name=sluice"
    )]
    pub(crate) selector: String,
    /// Keep retrying failed checks for up to this many seconds.
    #[arg(long, default_value = "0", value_name = "SECONDS", value_parser = seconds)]
    pub(crate) wait: Duration,
    /// Warn about certificates that expire within this many days.
    #[arg(long, default_value_t = 21, value_name = "DAYS")]
    pub(crate) certificate_days: u32,
    /// Fail (exit code 1) on warnings, too.
    #[arg(long)]
    pub(crate) strict: bool,
    /// IngressClass to be created, with --pre.
    #[arg(long, default_value = "nginx", value_name = "NAME")]
    pub(crate) ingress_class: String,
    /// `spec.controller` of that IngressClass, with --pre.
    #[arg(
        long,
        default_value = "k8s.io/ingress-nginx",
        value_name = "CONTROLLER"
    )]
    pub(crate) controller_class: String,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t, help_heading = "Output")]
    pub(crate) output: CheckOutput,
    /// Colours of the text.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        help_heading = "Output"
    )]
    pub(crate) color: Colours,
}

/// Format of a checklist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckOutput {
    /// Lines for people.
    #[default]
    Text,
    /// JSON.
    Json,
}
