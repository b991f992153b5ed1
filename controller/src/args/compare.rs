//! Flags of `sluice compare`.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use sluice_compare::{FailOn, LogFormat, Output, Resolve, Share};

use super::{Colours, Listeners, SourceArgs, Translation, seconds, socket_address};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code: 0 when all that is compared is the same, 1 when something differs as --fail-on says, 2 when nothing can be \
                  compared or the command line is wrong. Examples:\n  \
    sluice compare --old 10.0.0.1 --new 10.0.0.2 --source kube\n  \
    sluice compare --old 10.0.0.1 --new 10.0.0.2 --manifests DIR --access-log access.log --output markdown\n  \
    sluice compare --old 10.0.0.1 --new 10.0.0.2 --har shop.har --host shop.example\n  \
    sluice compare --old 10.0.0.1 --new 10.0.0.2 --source kube --listen 0.0.0.0:9000 --share 5% --duration 3600"
)]
pub(crate) struct Compare {
    /// Old data plane: `[http://|https://]HOST[:PORT]`. Without a port: 80 for http and 443 for https; with one, that of its scheme alone.
    /// Repeatable: one for each scheme.
    #[arg(long, value_name = "URL", required = true, value_delimiter = ',')]
    pub(crate) old: Vec<String>,
    /// New data plane, as --old.
    #[arg(long, value_name = "URL", required = true, value_delimiter = ',')]
    pub(crate) new: Vec<String>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) requests: Requests,
    #[command(flatten)]
    pub(crate) live: Live,
    #[command(flatten)]
    pub(crate) sending: Sending,
    #[command(flatten)]
    pub(crate) report: Report,
    #[command(flatten)]
    pub(crate) translation: Translation,
    #[command(flatten)]
    pub(crate) listeners: Listeners,
}

/// Choice of requests.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Requests")]
pub(crate) struct Requests {
    /// Access log with the requests to send; `-` is standard input [default: requests made for each host and path of the Ingresses].
    #[arg(long, value_name = "FILE", conflicts_with = "har")]
    pub(crate) access_log: Option<PathBuf>,
    /// Format of --access-log, as nginx's log_format [default: that of ingress-nginx, combined with the host in front or behind; lines of
    /// JSON with host, method and uri are always read].
    #[arg(long, value_name = "FORMAT", requires = "access_log", value_parser = log_format)]
    pub(crate) log_format: Option<LogFormat>,
    /// HAR file with the requests to send, with their cookies and credentials.
    #[arg(long, value_name = "FILE")]
    pub(crate) har: Option<PathBuf>,
    /// Only requests for this host. Repeatable.
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    pub(crate) host: Vec<String>,
    /// Methods to send. Requests of methods other than GET, HEAD and OPTIONS may change something, and are sent to both.
    #[arg(
        long,
        value_name = "METHOD,...",
        value_delimiter = ',',
        default_value = "GET,HEAD,OPTIONS"
    )]
    pub(crate) methods: Vec<String>,
    /// Maximum number of requests per Ingress.
    #[arg(long, value_name = "NUMBER", default_value_t = NonZeroUsize::new(50).unwrap_or(NonZeroUsize::MIN), conflicts_with = "listen")]
    pub(crate) max_requests: NonZeroUsize,
}

/// Requests of clients.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Live traffic")]
pub(crate) struct Live {
    /// Take requests that a proxy in front of the old data plane mirrors here, and compare as they come; safe methods only. The report
    /// is printed at the end: after --duration, or when interrupted.
    #[arg(long, value_name = "IP:PORT", value_parser = socket_address, conflicts_with_all = ["access_log", "har"])]
    pub(crate) listen: Option<SocketAddr>,
    /// Share of the mirrored requests that is compared.
    #[arg(long, value_name = "PERCENT", default_value = "100%", value_parser = Share::parse, requires = "listen")]
    pub(crate) share: Share,
    /// Stop after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "listen")]
    pub(crate) duration: Option<Duration>,
}

/// How requests are sent.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Sending")]
pub(crate) struct Sending {
    /// Header of all requests, in place of theirs. Repeatable.
    #[arg(long, short = 'H', value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) header: Vec<(String, String)>,
    /// Address of a host of --old or --new, as curl's. Repeatable.
    #[arg(long, value_name = "HOST:PORT:ADDRESS", value_parser = Resolve::parse)]
    pub(crate) resolve: Vec<Resolve>,
    /// Requests per second to each data plane. A safe one whose responses differ is sent again, up to twelve times in all.
    #[arg(long, value_name = "NUMBER", default_value = "10", value_parser = rate)]
    pub(crate) rate: f64,
    /// Requests at a time.
    #[arg(long, value_name = "NUMBER", default_value_t = NonZeroUsize::new(4).unwrap_or(NonZeroUsize::MIN))]
    pub(crate) concurrency: NonZeroUsize,
    /// Requests sent to each data plane to compare the traffic split of weighted backends (canaries), for each set of backends; 0 and 1
    /// turn this off.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=10_000), conflicts_with = "listen")]
    pub(crate) share_requests: u32,
    /// For one request and its response, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: Duration,
    /// Do not verify certificates; those of both are compared.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) insecure: bool,
}

/// The comparison and its report.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Report")]
pub(crate) struct Report {
    /// Header of responses that is not compared. Repeatable.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = header_name)]
    pub(crate) ignore_header: Vec<String>,
    /// Do not compare bodies.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) ignore_body: bool,
    /// Bytes of a body that are compared.
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    pub(crate) max_body: u64,
    /// Header of responses that names the upstream.
    #[arg(long, value_name = "NAME", value_parser = header_name)]
    pub(crate) upstream_header: Option<String>,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t)]
    pub(crate) output: Output,
    /// Fail (exit code 1) if there is such a difference.
    #[arg(long, value_enum, default_value_t, value_name = "DIFFERENCE")]
    pub(crate) fail_on: FailOn,
    /// Colours of the table.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Colours,
}

fn log_format(text: &str) -> Result<LogFormat, String> {
    LogFormat::parse(text)
}

/// A header whose name is in lower case. `Host` is what requests are chosen by.
fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("expected NAME: VALUE")?;
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
    if !is_name(&name) || value.contains(char::is_control) {
        return Err("expected NAME: VALUE".to_owned());
    }
    match name.as_str() {
        "host" => Err("expected another header than Host: --host selects requests".to_owned()),
        "connection" | "content-length" | "transfer-encoding" | "upgrade" => Err(format!(
            "expected another header than {name}, which is the connection's"
        )),
        _ => Ok((name, value.to_owned())),
    }
}

/// The name of a header, in lower case.
fn header_name(text: &str) -> Result<String, String> {
    let name = text.trim().to_ascii_lowercase();
    match is_name(&name) {
        true => Ok(name),
        false => Err("expected the name of a header alone".to_owned()),
    }
}

fn is_name(name: &str) -> bool {
    let is_of_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(is_of_token)
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok();
    let rate = rate.filter(|rate: &f64| rate.is_finite() && (0.01..=10_000.0).contains(rate));
    rate.ok_or_else(|| "expected a number from 0.01 to 10000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Command};

    fn parsed(line: &str) -> Result<Box<Compare>, String> {
        let words = ["sluice", "compare"].into_iter().chain(line.split(' '));
        match Args::parse_from_words(words)
            .map_err(|error| error.to_string())?
            .command
        {
            Command::Compare(compare) => Ok(compare),
            _ => Err("another command".to_owned()),
        }
    }

    #[test]
    fn both_data_planes_are_required_and_values_are_checked() {
        let both = "--old 127.0.0.1 --new 127.0.0.2";
        assert_eq!(
            parsed(both).unwrap().requests.methods,
            ["GET", "HEAD", "OPTIONS"]
        );
        for more in [
            "--rate 0",
            "--rate nan",
            "--concurrency 0",
            "--header Host:a",
            "--header Content-Length:1",
            "--header x",
            "--header a\u{7f}:b",
            "--resolve a:1",
            "--ignore-header content-length:",
            "--upstream-header ,",
            "--log-format $request",
            "--access-log a --har b",
            "--max-requests 0",
            "--share-requests 10001",
            "--share 5%",
            "--duration 5",
            "--listen 127.0.0.1:1 --har b",
            "--listen 127.0.0.1:1 --max-requests 3",
            "--listen 127.0.0.1:1 --share 0%",
        ] {
            assert!(parsed(&format!("{both} {more}")).is_err(), "{more}");
        }
        assert!(parsed("--old a").is_err() && parsed("--new a").is_err());
    }
}
