//! IngressClasses: every combination of the flags, and classes that come and go.

use anyhow::{Result, ensure};
use serde_json::Value;
use sluice_tests::apiserver::Cluster;
use sluice_tests::apiserver::gate::Fault;
use sluice_tests::sluice::{Options, Sluice};

use crate::each_apiserver::on_each_apiserver;
use crate::setup::{NETWORKING, apply_web_ingress, flags, web, web_ingress};

/// All Ingresses of [`populate`], named after what they say.
const ALL: [&str; 7] = [
    "known",
    "unknown",
    "named",
    "annotated",
    "other",
    "empty",
    "nothing",
];

/// The value of `--ingress-class`, and the name of an IngressClass of another controller.
fn class_name(cluster: &Cluster) -> String {
    format!("{}-named", cluster.namespace())
}

fn host(name: &str) -> String {
    format!("{name}.test")
}

/// One Ingress for each way to name a class.
async fn populate(cluster: &Cluster) -> Result<()> {
    let (known, named) = (cluster.namespace(), class_name(cluster));
    cluster
        .foreign_class(&named, "example.org/somebody-else")
        .await?;
    for (name, class, annotation) in [
        ("known", Some(known), None),
        (
            "unknown",
            Some("nobody-made-this-class"),
            Some(named.as_str()),
        ),
        ("named", Some(named.as_str()), None),
        ("annotated", None, Some(named.as_str())),
        ("other", None, Some("other")),
        ("empty", None, Some("")),
        ("nothing", None, None),
    ] {
        let mut ingress = web_ingress(cluster, name, &host(name)).to_json();
        ingress["spec"]["ingressClassName"] = class.map_or(Value::Null, Value::from);
        if class.is_some() && annotation.is_some() {
            // Nobody can create one that says two things; a change can make it so.
            cluster.apply(&ingress).await?;
        }
        if let Some(annotation) = annotation {
            ingress["metadata"]["annotations"]["kubernetes.io/ingress.class"] = annotation.into();
        }
        cluster.apply(&ingress).await?;
    }
    Ok(())
}

/// Starts a controller that does not touch what is not this test's.
async fn start(cluster: &Cluster, more: &[&str]) -> Result<Sluice> {
    let named = class_name(cluster);
    let mut arguments = flags([
        "--update-status=false",
        "--watch-namespace",
        cluster.namespace(),
        "--ingress-class",
        &named,
    ]);
    arguments.extend(more.iter().map(|flag| (*flag).to_owned()));
    Options::in_cluster(cluster)
        .arguments(arguments)
        .start()
        .await
}

async fn serves(sluice: &Sluice, served: &[&str], case: &str) -> Result<()> {
    for name in served {
        sluice.wait_for_status(&host(name), "/", 200).await?;
    }
    // What is there at the start is published together.
    for name in ALL.iter().filter(|name| !served.contains(name)) {
        let page = sluice.get(&host(name), "/").await?;
        ensure!(page.status == 404, "{case}: {name} is served: {page:?}");
    }
    Ok(())
}

/// A controller with these flags serves these and no others.
async fn with_flags_serves(cluster: &Cluster, more: &[&str], served: &[&str]) -> Result<()> {
    let sluice = start(cluster, more).await?;
    serves(&sluice, served, &format!("{more:?}")).await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_class_flag_adds_its_ingresses() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        populate(cluster).await?;
        const BY_NAME: &str = "--ingress-class-by-name";
        const WITHOUT: &str = "--watch-ingress-without-class";
        for (more, served) in [
            (vec![], vec!["known", "annotated"]),
            (vec![BY_NAME], vec!["known", "annotated", "named"]),
            (vec![WITHOUT], vec!["known", "annotated", "nothing"]),
            (
                vec![BY_NAME, WITHOUT],
                vec!["known", "annotated", "named", "nothing"],
            ),
        ] {
            with_flags_serves(cluster, &more, &served).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_permission_to_list_classes_only_the_annotation_counts() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        populate(cluster).await?;
        let _forbidden = cluster
            .gate()
            .fail("GET", "/ingressclasses", Fault::Status(403));
        for (more, served) in [
            (vec![], vec!["annotated", "unknown"]),
            (
                vec!["--watch-ingress-without-class"],
                vec!["annotated", "unknown", "known", "named", "nothing"],
            ),
        ] {
            with_flags_serves(cluster, &more, &served).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn creating_and_deleting_a_class_adds_and_removes_its_ingresses() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        apply_web_ingress(cluster, "web", "web.test").await?;
        let late = format!("{}-late", cluster.namespace());
        cluster
            .apply(
                &web_ingress(cluster, "late", "late.test")
                    .class(&late)
                    .to_json(),
            )
            .await?;
        let sluice = Options::in_cluster(cluster).start().await?;
        sluice.wait_for_status("web.test", "/", 200).await?;
        ensure!(
            sluice.get("late.test", "/").await?.status == 404,
            "its class does not exist"
        );

        cluster.ingress_class(&late).await?;
        sluice.wait_for_status("late.test", "/", 200).await?;
        cluster.delete(NETWORKING, "IngressClass", &late).await?;
        sluice.wait_for_status("late.test", "/", 404).await?;
        ensure!(
            sluice.get("web.test", "/").await?.status == 200,
            "a class of its own"
        );
        sluice.stop()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn changing_the_class_adds_and_removes_an_ingress() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        let theirs = web_ingress(cluster, "web", "web.test")
            .class("nobody-made-this-class")
            .to_json();
        apply_web_ingress(cluster, "web", "web.test").await?;
        let sluice = Options::in_cluster(cluster).start().await?;
        sluice.wait_for_status("web.test", "/", 200).await?;
        cluster.apply(&theirs).await?;
        sluice.wait_for_status("web.test", "/", 404).await?;
        apply_web_ingress(cluster, "web", "web.test").await?;
        sluice.wait_for_status("web.test", "/", 200).await?;
        sluice.stop()
    })
    .await
}
