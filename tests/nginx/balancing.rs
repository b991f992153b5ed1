//! The filter's policies on nginx: what they read of a request, and what they write.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::echo::Echo;
use sluice_tests::http::{self, Request, Response};
use sluice_tests::ports::Network;
use sluice_tests::script::Script;

use crate::fixture::{HOST, page};
use crate::gateway::{Fixed, Form, balanced, in_both_forms, round_robin};

/// Pods, and nginx in front of them.
struct Balanced {
    pods: Vec<Echo>,
    gateway: Fixed,
    _network: Network,
}

impl Balanced {
    /// One backend of so many pods, changed like this.
    async fn start(form: Form, pods: u16, change: impl FnOnce(&mut Value)) -> Result<Balanced> {
        let network = Network::reserve()?;
        let pods = Echo::start_all("web", &network.pods(pods)).await?;
        let mut backend = round_robin("b", &pods.iter().map(Echo::addr).collect::<Vec<_>>());
        change(&mut backend);
        let locations = json!({"site": {"backend": "b", "session_path": "/"}});
        let gateway =
            Fixed::with(form, &balanced(&locations, &json!({ "b": backend })), "").await?;
        Ok(Balanced {
            pods,
            gateway,
            _network: network,
        })
    }

    async fn send(&self, request: &Request) -> Result<Response> {
        let response = http::send(self.gateway.addr(), request).await?;
        ensure!(
            response.status == 200,
            "{response:?}\n{}",
            self.gateway.nginx.log().tail()
        );
        Ok(response)
    }

    /// The pods that answer these requests.
    async fn answering_pods(
        &self,
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<Vec<String>> {
        let mut pods = Vec::new();
        for request in requests {
            pods.push(
                self.send(&request)
                    .await?
                    .pod()
                    .context("a pod")?
                    .to_owned(),
            );
        }
        Ok(pods)
    }
}

fn all_different(pods: &[String]) -> usize {
    pods.iter().collect::<BTreeSet<_>>().len()
}

fn cookie(response: &Response) -> Option<String> {
    let cookies: Vec<&str> = response.headers("set-cookie").collect();
    let [cookie] = cookies.as_slice() else {
        return None;
    };
    Some(cookie.split(';').next()?.to_owned())
}

in_both_forms! {
    session_stays_on_its_first_pod
    hash_key_of_nginx_variables_maps_to_one_pod
    ewma_learns_from_response_times
    failing_pod_is_ejected_for_a_while
    canary_rules_apply_and_set_the_backend_variable
}

async fn session_stays_on_its_first_pod(form: Form) -> Result<()> {
    for mode in ["persistent", "balanced"] {
        let affinity = json!({"mode": mode, "cookie": {"name": "route"}});
        let balanced = Balanced::start(form, 3, |backend| backend["affinity"] = affinity).await?;
        let mut pods = BTreeSet::new();
        for _ in 0..30 {
            let first = balanced.send(&page()).await?;
            let cookie =
                cookie(&first).with_context(|| format!("{mode}: one cookie, in {first:?}"))?;
            ensure!(cookie.starts_with("route="), "{mode}: {cookie}");
            let again = balanced
                .send(&page().header("cookie", &format!("a=1; {cookie}")))
                .await?;
            ensure!(again.pod() == first.pod(), "{mode}: {first:?} {again:?}");
            ensure!(again.header("set-cookie").is_none(), "{mode}: {again:?}");
            pods.extend(first.pod().map(str::to_owned));
        }
        ensure!(pods.len() == 3, "{mode}: sessions begin on {pods:?}");
        balanced.gateway.nginx.stop()?;
    }
    Ok(())
}

async fn hash_key_of_nginx_variables_maps_to_one_pod(form: Form) -> Result<()> {
    const USERS: usize = 100;
    let keys = [
        ("http_x_user", ""),
        ("arg_user", "/?user="),
        ("request_uri", "/"),
        ("cookie_user", ""),
    ];
    for (variable, target) in keys {
        let key = json!({"chash": {"key": [{"literal": "k"}, {"variable": variable}]}});
        let balanced = Balanced::start(form, 3, |backend| backend["load_balance"] = key).await?;
        let request = |user: usize| {
            let target = if target.is_empty() {
                "/".to_owned()
            } else {
                format!("{target}{user}")
            };
            let request = Request::get(HOST, &target).header("x-user", &user.to_string());
            request.header("cookie", &format!("user={user}"))
        };
        // Of so many, each pod has some, wherever its port is on the ring.
        let first = balanced.answering_pods((0..USERS).map(request)).await?;
        let again = balanced.answering_pods((0..USERS).map(request)).await?;
        ensure!(first == again, "{variable}: {first:?} {again:?}");
        ensure!(all_different(&first) == 3, "{variable}: {first:?}");
        balanced.gateway.nginx.stop()?;
    }
    Ok(())
}

/// The first requests go everywhere: nothing is known of anybody. Then the slow pod is known to be slow.
async fn ewma_learns_from_response_times(form: Form) -> Result<()> {
    let balanced =
        Balanced::start(form, 2, |backend| backend["load_balance"] = json!("ewma")).await?;
    balanced.pods[0].script(Script::status(200).delay(Duration::from_millis(100)));
    for _ in 0..60 {
        balanced.send(&page()).await?;
    }
    let (slow, quick) = (balanced.pods[0].hits(), balanced.pods[1].hits());
    ensure!(
        (1..15).contains(&slow) && slow + quick == 60,
        "slow {slow}, quick {quick}"
    );
    balanced.gateway.nginx.stop()
}

async fn failing_pod_is_ejected_for_a_while(form: Form) -> Result<()> {
    let outlier = json!({"consecutive_5xx": 2, "base_ejection": 30, "max_ejected": 50,
        "panic_threshold": 0});
    let balanced = Balanced::start(form, 2, |backend| backend["outlier"] = outlier).await?;
    balanced.pods[0].script(Script::status(503));
    for _ in 0..20 {
        http::send(balanced.gateway.addr(), &page()).await?;
    }
    ensure!(
        balanced.pods[0].hits() < 5,
        "the failing pod had {} of 20",
        balanced.pods[0].hits()
    );
    balanced.gateway.nginx.stop()
}

async fn canary_rules_apply_and_set_the_backend_variable(form: Form) -> Result<()> {
    let network = Network::reserve()?;
    let addrs = network.pods(2);
    let (stable, canary) = (
        Echo::start_all("stable", &addrs[..1]).await?,
        Echo::start_all("canary", &addrs[1..]).await?,
    );
    let rule = json!({"backend": "c", "header": {"name": "X-Canary"}, "cookie": "canary"});
    let locations = json!({"site": {"backend": "b", "canaries": [rule]}});
    let backends = json!({"b": round_robin("b", &[stable[0].addr()]), "c": round_robin("c", &[canary[0].addr()])});
    let add = "add_header x-backend $sluice_backend;";
    let gateway = Fixed::with(form, &balanced(&locations, &backends), add).await?;
    let cases = [
        (page(), "stable-0", "b"),
        (page().header("x-canary", "always"), "canary-0", "c"),
        (page().header("cookie", "canary=always"), "canary-0", "c"),
        (
            page()
                .header("x-canary", "never")
                .header("cookie", "canary=always"),
            "stable-0",
            "b",
        ),
    ];
    for (request, pod, backend) in cases {
        let response = http::send(gateway.addr(), &request).await?;
        ensure!(response.pod() == Some(pod), "expected {pod}: {response:?}");
        ensure!(
            response.header("x-backend") == Some(backend),
            "expected {backend}: {response:?}"
        );
    }
    gateway.nginx.stop()
}
