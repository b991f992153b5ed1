//! Flags of request metrics and logs. Names and defaults are ingress-nginx's.

use clap::{ArgAction, Args as ClapArgs};

use crate::buckets::HistogramBuckets;

/// Flags of request metrics and logs.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Health, metrics and admin")]
pub struct MetricsFlags {
    /// Count and measure requests. This costs the data plane some time per request.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub enable_metrics: bool,
    /// Log each request to standard output, in ingress-nginx's format unless the ConfigMap has another.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub access_log: bool,
    /// Add the host as a label to request metrics.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub metrics_per_host: bool,
    /// Use status classes, such as 2xx, as the status label.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub report_status_classes: bool,
    /// Request metrics to leave out, with or without the prefix nginx_ingress_controller_.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub exclude_socket_metrics: Vec<String>,
    /// Buckets of histograms.
    #[command(flatten)]
    pub buckets: HistogramBuckets,
}
