//! Files of the host table that are torn, missing or somebody else's: workers keep the table that they have, and say why. One that has none
//! closes what may be in such a file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sluice_host_table::shard_of;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::{process, wait};

use crate::fixture::{Fixture, HOST};
use crate::managed::reloads;

/// The index of the table that nginx reads.
pub(crate) fn index(sluice: &Sluice) -> Result<PathBuf> {
    let entries = fs::read_dir(sluice.run_dir().join("nginx/hosts"))?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let paths: Vec<PathBuf> = paths.collect::<Result<_>>()?;
    let is_index = |path: &PathBuf| path.extension().is_some_and(|it| it == "json");
    paths.into_iter().find(is_index).context("an index")
}

pub(crate) fn replace(path: &Path, text: &str) -> Result<()> {
    let staged = path.with_extension("staged");
    fs::write(&staged, text)?;
    Ok(fs::rename(staged, path)?)
}

/// The index with another first shard.
fn with_shard(text: &str, name: &str) -> Result<String> {
    let (before, shards) = text.split_once(":[\"").context("shards")?;
    let (_, others) = shards.split_once('"').context("a shard")?;
    Ok(format!("{before}:[\"{name}\"{others}"))
}

async fn is_as_before(sluice: &Sluice) -> Result<()> {
    for (host, expected) in [(HOST, 200), ("nobody.test", 404)] {
        let status = sluice.get(host, "/").await?.status;
        ensure!(status == expected, "{host}: {status}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn table_that_cannot_be_read_as_a_whole_changes_nothing() -> Result<()> {
    let fixture = Fixture::start(3, 2).await?;
    let ingress = |name: &str, host: &str| Ingress::new("default", name).host(host);
    fixture
        .manifests
        .ingress(&ingress("web", HOST).path("/", "web", 80))?;
    let options = Options::new(&fixture.manifests).data_plane("nginx");
    let sluice = options.workers(1).start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let index = index(&sluice)?;
    let good = fs::read_to_string(&index)?;
    let [missing, torn] = ["0".repeat(32), "f".repeat(32)];
    replace(&index.with_file_name(&torn), "{\"hosts\":{},\"certifi")?;
    let name = index.file_stem().context("a name")?.to_string_lossy();
    for (number, (text, said)) in [
        (good[..good.len() / 2].to_owned(), "EOF".to_owned()),
        (good.replace(&*name, "other"), "got other".to_owned()),
        (
            with_shard(&good, &missing)?,
            format!("{missing}: No such file"),
        ),
        (
            with_shard(&good, &torn)?,
            format!("{torn}: not its content"),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let place = sluice.log().len();
        replace(&index, &text)?;
        // The filter has something new, and so the worker looks at its table.
        fixture.endpoints(&[number % 2, 2])?;
        sluice.log().wait_after(place, &said).await?;
        is_as_before(&sluice).await?;
    }
    // A worker that starts has no table to keep. A name of the bad shard may be a host in it.
    let worker = *sluice.workers().first().context("a worker")?;
    process::kill(worker);
    sluice.wait_for_end_of(&[worker]).await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    is_as_before(&sluice).await?;
    let mut names = (0..).map(|n| format!("h{n}.test"));
    let closed = names.find(|name| shard_of(name.as_bytes()) == 0);
    let status = sluice.get(&closed.context("a name")?, "/").await?.status;
    ensure!(status == 503, "{status}");
    // The next table is read, by workers that start as well.
    fixture
        .manifests
        .ingress(&ingress("more", "more.test").path("/", "web", 80))?;
    sluice.wait_for_status("more.test", "/", 200).await?;
    is_as_before(&sluice).await?;
    let worker = *sluice.workers().first().context("a worker")?;
    process::kill(worker);
    sluice.wait_for_end_of(&[worker]).await?;
    sluice.wait_for_status("more.test", "/", 200).await?;
    is_as_before(&sluice).await?;
    ensure!(reloads(&sluice) == 0, "{}", sluice.log().tail());
    sluice.stop()
}

/// Also without another change: what was to be served is, once there is room again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_could_not_be_written_are_written_later() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = Options::new(&fixture.manifests)
        .data_plane("nginx")
        .start()
        .await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    // A file where the folder was: nobody can write below it, whoever he is.
    let hosts = sluice.run_dir().join("nginx/hosts");
    let away = sluice.run_dir().join("nginx/away");
    std::fs::rename(&hosts, &away)?;
    std::fs::write(&hosts, "")?;
    let new = Ingress::new("default", "new").host("new.test");
    fixture.manifests.ingress(&new.path("/", "web", 80))?;
    let told = async || {
        let lines = sluice.log().lines();
        let is_it = |line: &String| line.contains("cannot write files for nginx");
        lines.iter().any(is_it).then_some(())
    };
    wait::until("the failure to be told", told).await?;
    ensure!(sluice.get("new.test", "/").await?.status == 404);
    std::fs::remove_file(&hosts)?;
    std::fs::rename(&away, &hosts)?;
    sluice.wait_for_status("new.test", "/", 200).await?;
    sluice.stop()
}
