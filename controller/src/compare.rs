//! The command `sluice compare`: reads Ingresses and requests, and prints how two data planes answer, by [`sluice_compare`].

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use sluice_compare::{
    Client, ClientSettings, DataPlane, Findings, LeftOut, Live, LogFormat, MARK, Output, Pair,
    Plan, Scope, Selection, Site, Speed, Subject, Tally, listen, not_sent, read_har, read_line,
    write,
};
use sluice_kube::is_in_cluster;
use sluice_source::{Collected, Input, Reading, read_inputs};
use sluice_translate::{Kind, Severity, Translation, translate};

use crate::args::{Compare, ObjectSource, Requests};
use crate::output::{WriteError, complain, print};
use crate::signals::Signals;
use crate::{cluster_events, options};

/// Exit code of a comparison that could not be made.
const NOTHING_KNOWN: u8 = 2;
/// Bytes of a HAR file.
const LARGEST_HAR: u64 = 256 << 20;
/// Bytes of a line of a log.
const LONGEST_LINE: u64 = 64 << 10;

/// Reads, asks, prints.
pub(crate) fn compare(args: &Compare) -> anyhow::Result<ExitCode> {
    match compared(args) {
        Ok(code) => Ok(code),
        Err(error) if error.is::<WriteError>() => Err(error),
        Err(error) => {
            complain(&format!("sluice: {error:#}\n"));
            Ok(ExitCode::from(NOTHING_KNOWN))
        }
    }
}

fn compared(args: &Compare) -> anyhow::Result<ExitCode> {
    let pair = pair(args)?;
    let ingresses = Ingresses::read(args)?;
    let owner = |id: &_| ingresses.owner(id);
    let site = ingresses.translation.as_ref().map(|translation| Site {
        config: translation.config(),
        owner: &owner,
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("runtime")?;
    let (tally, left_out, others) = match args.live.listen {
        Some(address) => {
            let (tally, others) = runtime.block_on(live(args, &pair, site.as_ref(), address))?;
            (tally, BTreeMap::new(), others)
        }
        None => {
            let mut plan = plan(args, site.as_ref())?;
            if args.requests.host.is_empty() {
                // Also those of which nothing is served.
                let names = ingresses.reports.keys().cloned();
                plan.expect(names.map(Subject::Ingress));
            }
            let tally = runtime.block_on(pair.compare(&plan));
            (tally, plan.subjects, plan.others)
        }
    };
    let (old, new) = pair.urls();
    let findings = Findings {
        old,
        new,
        ingresses: tally.findings(&left_out, &|subject| ingresses.reports(subject)),
        left_out: not_sent(&others),
        failure: pair.failure(),
    };
    print_findings(args, findings)
}

fn print_findings(args: &Compare, findings: Findings) -> anyhow::Result<ExitCode> {
    let failure = match (&findings.failure, findings.summary().requests) {
        (None, 0) => Some("no request could be judged".to_owned()),
        (failure, _) => failure.clone(),
    };
    let findings = Findings {
        failure,
        ..findings
    };
    let report = &args.report;
    let has_colours = report.output == Output::Table && report.color.are_used();
    print(&write(&findings, report.output, has_colours))?;
    if let Some(failure) = &findings.failure {
        bail!("{failure}");
    }
    Ok(match findings.fail(report.fail_on) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

fn pair(args: &Compare) -> anyhow::Result<Pair> {
    let (sending, report) = (&args.sending, &args.report);
    let mut headers = sending.header.clone();
    if args.live.listen.is_some() {
        headers.push((MARK.0.to_owned(), MARK.1.to_owned()));
    }
    let settings = Arc::new(ClientSettings {
        headers,
        resolve: sending.resolve.clone(),
        timeout: sending.timeout,
        most_body: report.max_body,
        insecure: sending.insecure,
    });
    let client = |flag, urls: &[String]| {
        let plane = DataPlane::parse(urls.iter().map(String::as_str));
        let plane = plane.map_err(|error| anyhow::anyhow!("{flag}: {error}"))?;
        Client::new(flag, plane, Arc::clone(&settings)).map_err(anyhow::Error::msg)
    };
    let lower = |name: &String| name.to_ascii_lowercase();
    let scope = Scope {
        ignored_headers: report.ignore_header.iter().map(lower).collect(),
        ignore_body: report.ignore_body,
        upstream_header: report.upstream_header.as_ref().map(lower),
    };
    let speed = Speed {
        rate: sending.rate,
        concurrency: sending.concurrency.get(),
    };
    let (old, new) = (client("--old", &args.old)?, client("--new", &args.new)?);
    Ok(Pair::new(old, new, scope, speed))
}

/// Compares what comes until it is interrupted; each difference is said on standard error when it is seen first.
async fn live(
    args: &Compare,
    pair: &Pair,
    site: Option<&Site<'_>>,
    address: SocketAddr,
) -> anyhow::Result<(Tally, LeftOut)> {
    let selection = selection(args);
    if let Some(method) = selection.unsafe_method() {
        bail!("--listen: expected --methods of GET, HEAD and OPTIONS, got {method}");
    }
    let mut signals = Signals::listen()?;
    let listener = listen(address).await;
    let listener = listener.with_context(|| format!("--listen {address}"))?;
    complain(&format!("taking mirrored requests on {address}\n"));
    let live = Live {
        listener,
        share: args.live.share,
        selection,
        site,
    };
    let stop = async {
        let end = async {
            match args.live.duration {
                Some(duration) => tokio::time::sleep(duration).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = signals.wait() => {}
            () = end => {}
        }
    };
    let mut news = |subject: &Subject, difference: &str| {
        complain(&format!("{subject}: {difference}\n"));
    };
    let concurrency = args.sending.concurrency.get();
    Ok(live.compare(pair, concurrency, stop, &mut news).await)
}

/// The Ingresses as they are served; without a translation there are none.
struct Ingresses {
    translation: Option<Translation>,
    reports: BTreeMap<String, Vec<String>>,
}

impl Ingresses {
    fn read(args: &Compare) -> anyhow::Result<Ingresses> {
        let options = options::translation(&args.translation, &args.listeners, []);
        let records = &args.requests;
        let has_records =
            records.access_log.is_some() || records.har.is_some() || args.live.listen.is_some();
        let has_source = args.source.source.is_some()
            || args.source.manifests.is_some()
            || args.source.names_a_cluster();
        let origin = match args.source.origin(is_in_cluster()) {
            Ok(origin) => origin,
            // Requests are enough. Those of a browser are also for others, with cookies of theirs.
            Err(_) if !has_source && has_records => {
                if records.har.is_some() && records.host.is_empty() {
                    bail!(
                        "--har without Ingresses: give --host for the hosts whose requests are sent"
                    );
                }
                return Ok(Ingresses {
                    translation: None,
                    reports: BTreeMap::new(),
                });
            }
            Err(error) if has_source => return Err(error),
            Err(_) => bail!(
                "nothing to compare: give --manifests DIR, --source kube for a cluster, --access-log, --har or --listen"
            ),
        };
        let reading: Reading = match origin {
            ObjectSource::Files(folder) => read_inputs(&[Input::Path(folder)])?,
            ObjectSource::Kube => cluster_events::read(&args.source, &options)?.into(),
        };
        let collected: Collected = reading.events.into_iter().collect();
        let translation = translate(&collected.resources, &options);
        let reports = reports(&translation);
        Ok(Ingresses {
            translation: Some(translation),
            reports,
        })
    }

    fn owner(&self, id: &sluice_ir::RouteId) -> Option<String> {
        let owners = self.translation.as_ref()?.owners();
        owners.get(id).map(ToString::to_string)
    }

    /// Ingresses that are not served as written.
    fn reports(&self, subject: &Subject) -> Vec<String> {
        match subject {
            Subject::Ingress(name) => self.reports.get(name).cloned().unwrap_or_default(),
            Subject::Host(_) => Vec::new(),
        }
    }
}

fn reports(translation: &Translation) -> BTreeMap<String, Vec<String>> {
    let mut reports: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for report in translation.reports() {
        if report.object.kind == Kind::Ingress && report.severity != Severity::Note {
            let text = format!(
                "{}: {}; {}",
                report.field, report.reason, report.consequence
            );
            let of_ingress = reports.entry(report.object.key.to_string());
            of_ingress
                .or_default()
                .push(text.replace(char::is_control, "\u{fffd}"));
        }
    }
    reports
}

fn selection(args: &Compare) -> Selection {
    let Requests {
        methods,
        host,
        max_requests,
        ..
    } = &args.requests;
    let methods = methods.iter();
    let hosts = host.iter();
    Selection {
        methods: methods.map(|method| method.to_ascii_uppercase()).collect(),
        hosts: hosts.map(|host| host.to_ascii_lowercase()).collect(),
        most: max_requests.get(),
    }
}

fn plan(args: &Compare, site: Option<&Site<'_>>) -> anyhow::Result<Plan> {
    let (requests, selection) = (&args.requests, selection(args));
    let mut plan = Plan::default();
    if let Some(path) = &requests.har {
        let text = har(path)?;
        let recorded =
            read_har(&text).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
        for request in recorded {
            plan.add_recorded(site, request, &selection);
        }
    } else if let Some(path) = &requests.access_log {
        let formats = match &requests.log_format {
            Some(format) => vec![format.clone()],
            None => LogFormat::usual(),
        };
        lines(path, |line| {
            plan.add_recorded(site, read_line(line, &formats), &selection);
        })?;
    } else if let Some(site) = site {
        plan.add_ingresses(site, &selection);
        return Ok(plan);
    }
    if let Some(site) = site
        && selection.hosts.is_empty()
    {
        plan.expect_ingresses(site);
    }
    Ok(plan)
}

fn har(path: &Path) -> anyhow::Result<String> {
    let name = || path.display().to_string();
    let mut text = String::new();
    let mut file = File::open(path).with_context(name)?.take(LARGEST_HAR + 1);
    file.read_to_string(&mut text).with_context(name)?;
    if text.len() as u64 > LARGEST_HAR {
        bail!("{}: expected at most {} MiB", name(), LARGEST_HAR >> 20);
    }
    Ok(text)
}

/// Each line of a log that is not empty; of a longer one than any request is, the beginning.
fn lines(path: &Path, mut take: impl FnMut(&str)) -> anyhow::Result<()> {
    let name = || path.display().to_string();
    let mut log: Box<dyn BufRead> = match path.as_os_str() == OsStr::new("-") {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(path).with_context(name)?)),
    };
    let mut line = Vec::new();
    loop {
        line.clear();
        let limited = log.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        if limited.with_context(name)? == 0 {
            return Ok(());
        }
        if !line.ends_with(b"\n") {
            log.skip_until(b'\n').with_context(name)?;
        }
        if !line.trim_ascii().is_empty() {
            take(&String::from_utf8_lossy(&line));
        }
    }
}
