//! A host for each guard and each kind of path, where `/` is open and `/admin` is not.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use sluice_tests::certificate::Pair;
use sluice_tests::echo::{Echo, EchoIdentity, Received, Setup};
use sluice_tests::http::Request;
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Network;
use sluice_tests::script::Answer;
use sluice_tests::sluice::Sluice;

use crate::setup::{OWNER, Plane, Tenants};

/// How the guarded path is written into the Ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Prefix,
    Exact,
    Pattern,
    /// A prefix of a wildcard host.
    Wildcard,
    /// A prefix, asked for in capital letters: of the host, not of the path.
    Capitals,
}

impl Kind {
    fn rule(self) -> (&'static str, &'static str) {
        match self {
            Kind::Prefix | Kind::Wildcard | Kind::Capitals => ("Prefix", "/admin"),
            Kind::Exact => ("Exact", "/admin"),
            Kind::Pattern => ("ImplementationSpecific", "/admin(/|$)(.*)"),
        }
    }

    /// Returns `true` if this decoded path is guarded.
    pub(super) fn is_protected(self, path: &str) -> bool {
        let below = |path: &str| path == "/admin" || path.starts_with("/admin/");
        match self {
            Kind::Prefix | Kind::Wildcard | Kind::Capitals => below(path),
            Kind::Exact => path == "/admin",
            Kind::Pattern => below(&path.to_lowercase()),
        }
    }
}

/// Something that keeps requests out.
#[derive(Debug)]
pub(super) struct AccessControl {
    pub(super) name: &'static str,
    annotations: &'static [(&'static str, &'static str)],
    pub(super) status: u16,
    /// It keeps bodies out.
    pub(super) has_body: bool,
    pub(super) kinds: &'static [Kind],
}

const fn control(
    name: &'static str,
    annotations: &'static [(&'static str, &'static str)],
    status: u16,
) -> AccessControl {
    AccessControl {
        name,
        annotations,
        status,
        has_body: false,
        kinds: &[Kind::Prefix],
    }
}

pub(super) const ACCESS_CONTROLS: &[AccessControl] = &[
    AccessControl {
        kinds: &[
            Kind::Prefix,
            Kind::Exact,
            Kind::Pattern,
            Kind::Wildcard,
            Kind::Capitals,
        ],
        ..control(
            "password",
            &[("auth-type", "basic"), ("auth-secret", "users")],
            401,
        )
    },
    control("service", &[("auth-url", "http://auth.owner.svc/")], 401),
    AccessControl {
        kinds: &[Kind::Prefix, Kind::Exact, Kind::Pattern],
        ..control(
            "allowed",
            &[("allowlist-source-range", "192.0.2.0/24")],
            403,
        )
    },
    control("denied", &[("denylist-source-range", "127.0.0.0/8")], 403),
    control("closed", &[("allowlist-source-range", "nonsense")], 503),
    AccessControl {
        has_body: true,
        ..control("length", &[("proxy-body-size", "1k")], 413)
    },
];

/// Counts, so it has a test of its own.
pub(super) const RATE_LIMIT: AccessControl = control(
    "rate",
    &[("limit-rpm", "1"), ("limit-burst-multiplier", "1")],
    503,
);
/// Holds for a whole host.
pub(super) const CLIENT_CERTIFICATE: AccessControl =
    control("certificate", &[("auth-tls-secret", "owner/ca")], 400);

impl AccessControl {
    fn host(&self, kind: Kind) -> String {
        let any = if kind == Kind::Wildcard { "*." } else { "" };
        format!("{any}{}-{kind:?}.test", self.name).to_lowercase()
    }

    /// A request that the control denies.
    pub(super) fn request(&self, kind: Kind, target: &str) -> Request {
        let host = match kind {
            Kind::Wildcard => self.host(kind).replacen('*', "some", 1),
            Kind::Capitals => self.host(kind).to_uppercase(),
            Kind::Prefix | Kind::Exact | Kind::Pattern => self.host(kind),
        };
        if self.has_body {
            Request::new("POST", &host, target).body("x".repeat(2048))
        } else {
            Request::get(&host, target)
        }
    }

    fn ingresses(&self, kind: Kind) -> Vec<Value> {
        let host = self.host(kind);
        let (path_type, path) = kind.rule();
        let guarded = Ingress::new(
            OWNER,
            &format!("{}-{kind:?}-guarded", self.name).to_lowercase(),
        )
        .host(&host);
        let all = self.annotations.iter();
        let guarded = all.fold(guarded, |ingress, (name, value)| {
            ingress.annotation(name, value)
        });
        let guarded = if kind == Kind::Pattern {
            guarded.annotation("use-regex", "true")
        } else {
            guarded
        };
        let open = Ingress::new(
            OWNER,
            &format!("{}-{kind:?}-open", self.name).to_lowercase(),
        )
        .host(&host);
        vec![
            guarded.typed_path(path_type, path, "web", 80).to_json(),
            open.path("/", "web", 80).to_json(),
        ]
    }
}

/// The hosts of all guards, and who decides for the one that asks somebody.
pub(super) struct Fixture {
    pub(super) tenants: Tenants,
    _auth: Echo,
    _network: Network,
}

impl Fixture {
    pub(super) async fn start() -> Result<Fixture> {
        let (tenants, network) = (Tenants::start().await?, Network::reserve()?);
        let addr = network.pod(0);
        let nobody = |_: &Received| {
            Some(Answer {
                status: 401,
                ..Answer::default()
            })
        };
        let setup = Setup {
            reflex: Some(nobody),
            ..Setup::default()
        };
        let auth = Echo::start_with(addr, EchoIdentity::of("auth", "auth"), setup).await?;
        tenants.manifests.service(OWNER, "auth", 80, &[addr])?;
        let secret = |name: &str, data: Value| {
            json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": OWNER, "name": name}, "stringData": data,
            })
        };
        let authority = Pair::of(&["authority.test"]).context("authority")?.pem;
        let mut objects = vec![
            secret("users", json!({"auth": "ada:{PLAIN}secret\n"})),
            secret("ca", json!({"ca.crt": authority})),
        ];
        for control in ACCESS_CONTROLS
            .iter()
            .chain([&RATE_LIMIT, &CLIENT_CERTIFICATE])
        {
            objects.extend(
                control
                    .kinds
                    .iter()
                    .flat_map(|kind| control.ingresses(*kind)),
            );
        }
        objects.push(
            Ingress::new(OWNER, "last")
                .host("last.test")
                .path("/", "web", 80)
                .to_json(),
        );
        tenants.write("all.yaml", &objects)?;
        Ok(Fixture {
            tenants,
            _auth: auth,
            _network: network,
        })
    }

    pub(super) async fn serve(&self, plane: Plane) -> Result<Sluice> {
        let sluice = plane.options(&self.tenants.manifests).start().await?;
        sluice.wait_for_status("last.test", "/", 200).await?;
        Ok(sluice)
    }
}
