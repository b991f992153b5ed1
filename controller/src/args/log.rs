//! Verbosity of the log, as flags of klog (ingress-nginx) and of logrus (kube-webhook-certgen), and its format.

use std::ffi::OsString;

use clap::{Args as ClapArgs, ValueEnum};

/// Commands that log; `compare` has a flag of the same name, for access logs.
const LOGGING: [&str; 4] = ["run", "envoy", "certgen", "firewall"];

#[derive(Clone, Copy, Debug, ClapArgs)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogFlags {
    /// Log level: 3 and above for debugging, 5 for everything. RUST_LOG is more precise.
    #[arg(long = "v", short = 'v', default_value_t = 0, value_name = "LEVEL")]
    pub(crate) verbosity: u8,
    /// Log format, of Envoy's and nginx's own messages, too; the access log keeps the format of log-format-upstream in the ConfigMap.
    #[arg(long, env = LogFormat::VARIABLE, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
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
    /// Log format.
    #[arg(long, env = LogFormat::VARIABLE, value_enum, default_value_t, value_name = "FORMAT", global = true)]
    pub(crate) log_format: LogFormat,
}

impl CertgenLog {
    pub(crate) fn filter(self) -> &'static str {
        match self.log_level {
            // What the Kubernetes client says of requests that fail, we say ourselves.
            Level::Panic | Level::Fatal | Level::Error => "error,kube_client=off",
            Level::Warn => "warn,kube_client=off",
            Level::Info => "info,kube_client=off",
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// JSON with timestamp, level, message and target.
    Json,
}

impl LogFormat {
    /// Variable of the environment.
    pub(crate) const VARIABLE: &str = "SLUICE_LOG_FORMAT";

    /// As a value of the flag.
    pub(crate) fn name(self) -> &'static str {
        match self {
            LogFormat::Text => "text",
            LogFormat::Json => "json",
        }
    }

    /// The format that a command line asks for which cannot be read; `variable`: that of the environment.
    pub(crate) fn of_rejected(
        words: impl IntoIterator<Item = OsString>,
        variable: Option<&str>,
    ) -> Self {
        let words: Vec<String> = words
            .into_iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let logs = words
            .get(1)
            .is_some_and(|command| LOGGING.contains(&command.as_str()));
        let after = words.iter().zip(words.iter().skip(1));
        let value = words
            .iter()
            .filter_map(|word| word.strip_prefix("--log-format="))
            .chain(
                after
                    .filter(|(flag, _)| *flag == "--log-format")
                    .map(|(_, value)| value.as_str()),
            )
            .next_back();
        match value.or(variable) {
            Some("json") if logs => LogFormat::Json,
            _ => LogFormat::Text,
        }
    }

    /// The same of this process.
    pub(crate) fn of_rejected_process() -> Self {
        Self::of_rejected(
            std::env::args_os(),
            std::env::var(Self::VARIABLE).ok().as_deref(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_that_cannot_be_read_still_says_its_format() {
        let is_json = |words: &str, variable| {
            let words = words.split(' ').map(OsString::from);
            LogFormat::of_rejected(words, variable) == LogFormat::Json
        };
        for command in LOGGING {
            assert!(is_json(
                &format!("sluice {command} --x --log-format=json"),
                None
            ));
            assert!(is_json(
                &format!("sluice {command} --log-format json --x"),
                None
            ));
            assert!(is_json(&format!("sluice {command} --x"), Some("json")));
            assert!(!is_json(
                &format!("sluice {command} --log-format=text"),
                Some("json")
            ));
            assert!(!is_json(&format!("sluice {command} --log-format"), None));
            assert!(!is_json(&format!("sluice {command} --x"), Some("yaml")));
        }
        assert!(!is_json("sluice compare --log-format json", Some("json")));
        assert!(!is_json("sluice", Some("json")));
    }
}
