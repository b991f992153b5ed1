//! R1: a text of a tenant is data in the configuration of whoever serves, and never a part of its language: neither a variable
//! of nginx nor a command of Envoy's formats in it is worked out, it ends no header, and it arrives as it was written or not at
//! all. That no text becomes a word of nginx.conf: tests/fuzz, controller/nginx/tests/hostile.rs, tests/e2e/hostile_text.rs.

use anyhow::{Result, ensure};
use serde_json::Value;
use sluice_tests::hostile::TEXTS;
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::Ingress;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(tenant_text_arrives_verbatim_or_not_at_all);

/// Texts with a meaning in the formats of Envoy and nginx, for a request with a word in a header named `evil`.
const FORMATS: &[&str] = &[
    "%REQ(evil)%",
    "%REQ(EVIL?:PATH)%",
    "x%REQ(evil)%y",
    "%RESP(evil)%",
    "%DYNAMIC_METADATA(envoy.lb)%",
    "%FILTER_STATE(evil)%",
    "%ENVIRONMENT(PATH)%",
    "%DOWNSTREAM_REMOTE_ADDRESS%",
    "%HOSTNAME%",
    "%START_TIME%",
    "%PROTOCOL%",
    "%CEL(request.headers.evil)%",
    "%%REQ(evil)%%",
    "%25",
    "${evil}$evil",
    "$$evil",
];

const WORD: &str = "word-of-the-client";

type Annotations = &'static [(&'static str, &'static str)];

/// Annotations that are seen by clients or by pods, what they stand beside, and what is put before the text.
#[rustfmt::skip]
const SEEN: &[(&str, Annotations, &str)] = &[
    ("x-forwarded-prefix", &[("rewrite-target", "/")], ""),
    ("upstream-vhost", &[], ""),
    ("permanent-redirect", &[], "http://a.example/"),
    ("permanent-redirect", &[], ""),
    ("temporal-redirect", &[], "http://a.example/"),
    ("rewrite-target", &[], "/"),
    ("app-root", &[], "/"),
    ("auth-realm", &[("auth-type", "basic"), ("auth-secret", "users")], ""),
    ("auth-signin", &[("auth-url", "http://127.0.0.1:1/")], "http://a.example/"),
    ("session-cookie-path", &[("affinity", "cookie")], "/"),
    ("session-cookie-domain", &[("affinity", "cookie")], ""),
    ("session-cookie-name", &[("affinity", "cookie")], ""),
    ("cors-allow-origin", &[("enable-cors", "true")], "https://a.example"),
    ("cors-allow-headers", &[("enable-cors", "true")], ""),
    ("cors-expose-headers", &[("enable-cors", "true")], ""),
    ("mirror-host", &[("mirror-target", "http://web.foreign.svc")], ""),
    ("proxy-cookie-path", &[], "/ /"),
    ("proxy-redirect-to", &[("proxy-redirect-from", "http://a.example/")], "http://a.example/"),
];

struct Case {
    host: String,
    annotation: &'static str,
    text: String,
}

async fn tenant_text_arrives_verbatim_or_not_at_all(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let (mut cases, mut objects) = (Vec::new(), Vec::new());
    for (annotation, beside, before) in SEEN {
        for text in TEXTS.iter().chain(FORMATS) {
            let (host, text) = (format!("h{}.test", cases.len()), format!("{before}{text}"));
            let ingress = Ingress::new(FOREIGN, &host)
                .host(&host)
                .path("/", "web", 80);
            let ingress = beside.iter().fold(ingress, |ingress, (name, value)| {
                ingress.annotation(name, value)
            });
            objects.push(ingress.annotation(annotation, &text).to_json());
            cases.push(Case {
                host,
                annotation,
                text,
            });
        }
    }
    objects.push(
        Ingress::new(OWNER, "own")
            .host("own.test")
            .path("/", "web", 80)
            .to_json(),
    );
    tenants.write("all.yaml", &objects)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    let mut arrived = 0;
    for case in &cases {
        let request = Request::get(&case.host, "/")
            .header("evil", WORD)
            .header("origin", "https://b.example");
        let answer = http::send(sluice.http(), &request).await?;
        is_only_data(case, &answer)?;
        arrived += usize::from(is_as_written(case, &answer)?);
    }
    ensure!(
        arrived > 3,
        "nothing arrives, so this says little: {arrived}"
    );
    ensure!(sluice.get("own.test", "/").await?.pod() == Some(OWNER));
    sluice.stop()
}

/// Nothing of the request is in the answer, or in what the pod got but for the header itself.
fn is_only_data(case: &Case, answer: &Response) -> Result<()> {
    let Case {
        annotation, text, ..
    } = case;
    ensure!(
        answer.header("evil").is_none(),
        "{annotation}: {text:?} is a header of its own: {answer:?}"
    );
    let leaked = answer
        .headers
        .iter()
        .find(|(_, value)| value.contains(WORD));
    ensure!(leaked.is_none(), "{annotation}: {text:?} became {leaked:?}");
    if answer.pod().is_some() {
        let mut seen = answer.json()?;
        let of_client = seen["headers"]
            .as_object_mut()
            .and_then(|headers| headers.remove("evil"));
        ensure!(
            of_client.is_some(),
            "{annotation}: {text:?}: the client's header is gone: {seen}"
        );
        ensure!(
            !seen.to_string().contains(WORD),
            "{annotation}: {text:?}: the pod got {seen}"
        );
    }
    Ok(())
}

/// Returns `true` if a text that is a whole header arrives at pods unchanged.
fn is_as_written(case: &Case, answer: &Response) -> Result<bool> {
    if answer.pod().is_none() || case.text.contains('$') {
        return Ok(false);
    }
    let seen = answer.json()?;
    let (found, absent) = match case.annotation {
        "x-forwarded-prefix" => (&seen["headers"]["x-forwarded-prefix"][0], Value::Null),
        "upstream-vhost" => (&seen["host"], Value::from(case.host.as_str())),
        _ => return Ok(false),
    };
    let is_written = found.as_str() == Some(case.text.trim());
    ensure!(
        is_written || *found == absent,
        "{}: {:?} became {found}",
        case.annotation,
        case.text
    );
    Ok(is_written)
}
