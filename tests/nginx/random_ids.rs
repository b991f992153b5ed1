//! Identifiers of requests are given once: not by two workers, and not again after a reload.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use sluice_tests::http;
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::Port;
use sluice_tests::sluice;

use crate::fixture::HOST;
use crate::gateway::{Form, TWO_WORKERS, fixed, in_both_forms};

/// More than a worker takes from the kernel at once, also where both take turns.
const REQUESTS: usize = 80;

in_both_forms! {
    no_identifier_is_given_twice
}

async fn no_identifier_is_given_twice(form: Form) -> Result<()> {
    let port = Port::reserve()?;
    // Without reuseport one of them might take all connections.
    let http = format!(
        "{}\n{}\nserver {{ listen {} reuseport; location / {{ return 200 \"$pid $sluice_random_id\"; }} }}",
        form.directive()?,
        fixed("site", &[]),
        port.addr()
    );
    let mut nginx = Nginx::start(Conf::write(TWO_WORKERS, &http)?).await?;
    let (mut workers, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for reload in [false, true] {
        if reload {
            nginx.reload().await?;
        }
        sluice::wait_for_status(port.addr(), HOST, "/", 200).await?;
        for _ in 0..REQUESTS {
            let text = http::get(port.addr(), HOST, "/").await?.text();
            let (worker, id) = text.split_once(' ').context("a worker and an id")?;
            ensure!(id.len() == 32, "{text}");
            workers.insert(worker.to_owned());
            ensure!(ids.insert(id.to_owned()), "{text} was there before");
        }
    }
    ensure!(
        workers.len() > 2,
        "expected workers of both starts, got {workers:?}"
    );
    nginx.stop()
}
