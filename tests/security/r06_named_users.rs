//! R6: where a snippet tells pods the user (`$remote_user`), it is the one whose password was right, whatever a client says.

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted};

on_every_plane!(clients_name_no_other_user_than_the_one_with_the_password);

const HOST: &str = "users.test";
const NAME: &str = "X-Remote-User";
const WAYS: &[(&str, &[(&str, &str)])] = &[
    ("/", &[]),
    ("/a%2f/%61", &[]),
    ("/a/../b", &[]),
    ("/", &[("x-canary", "always")]),
    ("/", &[("connection", "upgrade"), ("upgrade", "websocket")]),
];

fn objects(underscores: bool) -> Vec<Value> {
    let mut settings = snippets_permitted();
    settings["data"]["enable-underscores-in-headers"] = underscores.to_string().into();
    let users = STANDARD.encode("ada:{PLAIN}secret\n");
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "users", "namespace": OWNER},
        "data": {"auth": users},
    });
    let ingress = |name: &str| Ingress::new(OWNER, name).host(HOST).path("/", "web", 80);
    let main = ingress("main")
        .annotation("auth-type", "basic")
        .annotation("auth-secret", "users")
        .annotation(
            "configuration-snippet",
            "proxy_set_header X-Remote-User $remote_user;",
        );
    let canary = ingress("canary")
        .annotation("canary", "true")
        .annotation("canary-by-header", "x-canary");
    vec![settings, secret, main.to_json(), canary.to_json()]
}

async fn clients_name_no_other_user_than_the_one_with_the_password(plane: Plane) -> Result<()> {
    for underscores in [false, true] {
        let tenants = Tenants::start().await?;
        tenants.write("all.yaml", &objects(underscores))?;
        let options = plane.options(&tenants.manifests).arguments(snippet_flags());
        let sluice = options.start().await?;
        sluice.wait_for_status(HOST, "/", 401).await?;
        for (path, headers) in WAYS {
            let before = tenants.received.len();
            let forged = Request::get(HOST, path)
                .headers(headers)
                .header(NAME, "root")
                .header("x-remote-user", "root")
                .header("X_Remote_User", "root")
                .header("x-remote_user", "root");
            let answer = http::send(sluice.http(), &forged).await?;
            ensure!(answer.status == 401, "{path} {headers:?}: {answer:?}");
            let wrong = format!("Basic {}", STANDARD.encode("root:secret"));
            let wrong = forged.clone().header("authorization", &wrong);
            let answer = http::send(sluice.http(), &wrong).await?;
            ensure!(answer.status == 401, "{path} {headers:?}: {answer:?}");
            let right = format!("Basic {}", STANDARD.encode("ada:secret"));
            let right = forged.header("authorization", &right);
            http::send(sluice.http(), &right).await?;
            let received = tenants.received.since(before);
            ensure!(received.len() == 1, "{path} {headers:?}: {received:?}");
            for request in &received {
                let mut users = request.headers.iter().filter(|(name, _)| {
                    name.to_ascii_lowercase().replace('_', "-") == "x-remote-user"
                });
                let is_ada = users.all(|(_, values)| values.iter().all(|value| value == "ada"));
                ensure!(
                    is_ada && request.header("x-remote-user").as_deref() == Some("ada"),
                    "{path} {headers:?}: {request:?}"
                );
                ensure!(request.header("authorization").is_none(), "{request:?}");
            }
        }
        sluice.stop()?;
    }
    Ok(())
}
