//! Verbosity of the log, as flags of klog (ingress-nginx) and of logrus (kube-webhook-certgen).

use clap::{Args as ClapArgs, ValueEnum};

#[derive(Clone, Copy, Debug, ClapArgs)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogFlags {
    /// Log level: 3 and above for debugging, 5 for everything. RUST_LOG is more precise.
    #[arg(long = "v", short = 'v', default_value_t = 0, value_name = "LEVEL")]
    pub(crate) verbosity: u8,
}

impl LogFlags {
    pub(crate) fn filter(self) -> String {
        // Of libraries only what is wrong or, at the highest level, what they do. The Kubernetes client logs each request that fails,
        // which we say ourselves, and not for each attempt.
        match self.verbosity {
            0..=2 => "info,kube_client=off".to_owned(),
            3..=4 => "info,kube_client=off,sluice=debug,envoy=debug,nginx=debug".to_owned(),
            _ => "debug".to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug, ClapArgs)]
pub(crate) struct CertgenLog {
    /// Log level.
    #[arg(long, value_enum, default_value_t = Level::Info, global = true)]
    pub(crate) log_level: Level,
    /// Log format. kube-webhook-certgen also has json.
    #[arg(long, value_enum, default_value_t = Form::Text, global = true)]
    pub(crate) log_format: Form,
}

impl CertgenLog {
    pub(crate) fn filter(self) -> &'static str {
        match self.log_level {
            Level::Panic | Level::Fatal | Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
            Level::Trace => "trace",
        }
    }
}

/// logrus' levels.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Level {
    Panic,
    Fatal,
    Error,
    #[value(alias = "warning")]
    Warn,
    Info,
    Debug,
    Trace,
}

/// One line an entry.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Form {
    /// For people.
    Text,
}
