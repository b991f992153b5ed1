//! R6: a header of a pod that the operator or the Ingress hides or replaces stays so, whatever a condition of a snippet does with the same
//! header under another spelling. `X-Accel-*` of pods reaches no client. As in nginx the condition's own value is sent.

use anyhow::{Result, ensure};
use serde_json::Value;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::script::{Answer, Script};

use crate::setup::{OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted};

on_every_plane!(conditions_bring_no_header_of_pods_back);

const OF_OPERATOR: &str =
    "more_set_headers \"X-Op: operator\"; more_clear_headers \"X-Powered-By\";";
/// Value of each of these headers of the pod.
const POD: &str = "from-pod";
const OF_POD: [&str; 5] = [
    "X-Op",
    "X-Powered-By",
    "X-App",
    "X-Accel-Redirect",
    "X-Accel-Expires",
];
const SPELLINGS: [fn(&str) -> String; 3] = [
    |name| name.to_owned(),
    |name| name.to_ascii_lowercase(),
    |name| name.to_ascii_uppercase(),
];

fn snippet(spelling: fn(&str) -> String) -> String {
    let set: String = OF_POD
        .iter()
        .map(|name| format!("more_set_headers \"{}: condition\";", spelling(name)))
        .collect();
    format!("more_set_headers \"X-App: own\";\nif ($http_x_v = \"1\") {{ {set} }}")
}

fn objects() -> Vec<Value> {
    let mut config_map = snippets_permitted();
    config_map["data"]["server-snippet"] = OF_OPERATOR.into();
    let ingresses = SPELLINGS.iter().enumerate().map(|(n, spelling)| {
        Ingress::new(OWNER, &format!("s{n}"))
            .host(&format!("s{n}.test"))
            .path("/", "web", 80)
            .annotation("configuration-snippet", &snippet(*spelling))
            .to_json()
    });
    std::iter::once(config_map).chain(ingresses).collect()
}

async fn conditions_bring_no_header_of_pods_back(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let headers = OF_POD.map(|name| (name.to_owned(), POD.to_owned()));
    let answer = Answer {
        headers: headers.to_vec(),
        ..Answer::default()
    };
    tenants.owner.script(Script::echo().answer("/said", answer));
    tenants.write("all.yaml", &objects())?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    for n in 0..SPELLINGS.len() {
        let host = format!("s{n}.test");
        sluice.wait_for_status(&host, "/", 200).await?;
        for (value, app, operator) in [("0", "own", "operator"), ("1", "condition", "condition")] {
            let request = Request::get(&host, "/said").header("x-v", value);
            let response = http::send(sluice.http(), &request).await?;
            let said = || format!("{host} {value}: {response:?}");
            ensure!(response.status == 200, "{}", said());
            let of_pod = response.headers.iter().any(|(_, value)| value == POD);
            ensure!(!of_pod, "{}", said());
            ensure!(response.header("x-app") == Some(app), "{}", said());
            ensure!(response.header("x-op") == Some(operator), "{}", said());
            let set = (value == "1").then_some("condition");
            ensure!(response.header("x-powered-by") == set, "{}", said());
        }
    }
    sluice.stop()
}
