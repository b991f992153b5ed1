//! The command `sluice compare`: reads Ingresses and requests, and prints how two data planes answer, by [`sluice_compare`].

mod ingresses;
mod records;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use sluice_compare::{
    Client, ClientSettings, DataPlane, Findings, LeftOut, Live, MARK, Output, Pair, Scope,
    Selection, Site, Speed, Subject, Tally, Unjudged, listen, not_sent, write,
};

use sluice_syntax::printable;

use self::ingresses::Ingresses;
use self::records::plan;
use crate::args::{Compare, Requests};
use crate::log::complain;
use crate::output::{WriteError, print};
use crate::signals::Signals;

/// Exit code of a comparison that could not be made.
const NOTHING_KNOWN: u8 = 2;

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
    let mut unused = Vec::new();
    let (tally, left_out, others) = match args.live.listen {
        Some(address) => {
            let (tally, others) = runtime.block_on(live(args, &pair, site.as_ref(), address))?;
            (tally, BTreeMap::new(), others)
        }
        None => {
            let selection = selection(args);
            let mut plan = plan(args, site.as_ref(), &selection)?;
            let hosts = plan.hosts_without_requests(&selection);
            unused.extend(hosts.map(|host| unused_host(host, site.as_ref())));
            if args.requests.host.is_empty() {
                // Also those of which nothing is served.
                for name in ingresses.reports.keys() {
                    let subject = Subject::Ingress(name.clone());
                    match ingresses.reason_for_no_requests(name) {
                        Some(reason) => plan.expect_without_requests(subject, reason),
                        None => plan.expect([subject].into_iter()),
                    }
                }
            }
            let tally = runtime.block_on(pair.compare(&plan));
            (tally, plan.subjects, plan.others)
        }
    };
    unused.extend(pair.without_effect());
    let unused = unused.into_iter().map(|reason| Unjudged {
        reason: printable(&reason),
        requests: 0,
        examples: Vec::new(),
    });
    let unused = unused.collect();
    let (old, new) = pair.urls();
    let findings = Findings {
        old,
        new,
        ingresses: tally.findings(&left_out, &|subject| ingresses.reports(subject)),
        left_out: [ingresses.others.clone(), not_sent(&others), unused].concat(),
        failure: pair.failure(),
    };
    print_findings(args, findings)
}

/// A host of --host that nothing is sent to.
fn unused_host(host: &str, site: Option<&Site<'_>>) -> String {
    match site.is_some_and(|site| !site.has_host(host)) {
        true => format!("--host {host}: no Ingress has this host"),
        false => format!("--host {host}: no request for this host"),
    }
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
        shares: usize::try_from(sending.share_requests).unwrap_or(usize::MAX),
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
