//! Flags of request metrics and logs. Names and defaults are ingress-nginx's.

use clap::{ArgAction, Args as ClapArgs};

/// Flags of request metrics and logs.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Health, metrics and admin")]
pub struct MetricsFlags {
    /// Count and measure requests. This costs the data plane some time per request.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub enable_metrics: bool,
    /// Log each request to standard output, as JSON or in the format of the ConfigMap.
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
    /// Buckets of durations, in seconds.
    #[arg(
        long,
        value_name = "SECONDS,...",
        value_delimiter = ',',
        default_value = "0.005,0.01,0.025,0.05,0.1,0.25,0.5,1,2.5,5,10"
    )]
    pub time_buckets: Vec<f64>,
    /// Buckets of the lengths of requests and responses, in bytes.
    #[arg(
        long,
        value_name = "BYTES,...",
        value_delimiter = ',',
        default_value = "10,20,30,40,50,60,70,80,90,100"
    )]
    pub length_buckets: Vec<f64>,
    /// Buckets of nginx_ingress_controller_bytes_sent.
    #[arg(
        long,
        value_name = "BYTES,...",
        value_delimiter = ',',
        default_value = "10,100,1000,10000,100000,1000000,10000000"
    )]
    pub size_buckets: Vec<f64>,
}
