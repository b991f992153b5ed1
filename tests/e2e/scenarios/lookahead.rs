//! Paths that exclude texts by lookahead, in every data plane: what they take and what their groups hold is as in nginx.

use anyhow::{Result, ensure};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Options;

use crate::fixture::{Fixture, HOST};

/// A path, and what a pod sees of it; `None`: no path takes it.
const REQUESTS: &[(&str, Option<&str>)] = &[
    ("/", Some("/app/")),
    ("/a?b=c", Some("/app/a")),
    ("/api", None),
    ("/API/x", None),
    ("/ap", Some("/app/ap")),
    ("/apis", Some("/app/apis")),
    ("/admin.html", None),
    ("/adm/in", Some("/app/adm/in")),
];

pub(crate) async fn excludes_texts(data_plane: &str, arguments: &[&str]) -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let ingress = Ingress::new("default", "web")
        .annotation("use-regex", "true")
        .annotation("rewrite-target", "/app/$3")
        .host(HOST)
        .path(r"/(?!api(/|$)|admin\.(html|js))(.*)", "web", 80);
    fixture.manifests.ingress(&ingress)?;
    let arguments = arguments.iter().map(|text| (*text).to_owned()).collect();
    let options = Options::new(&fixture.manifests).data_plane(data_plane);
    let sluice = options.arguments(arguments).start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    for (path, seen) in REQUESTS {
        let answer = sluice.get(HOST, path).await?;
        match seen {
            None => ensure!(answer.status == 404, "{path}: {answer:?}"),
            Some(seen) => ensure!(answer.json()?["path"] == *seen, "{path}: {answer:?}"),
        }
    }
    sluice.stop()
}
