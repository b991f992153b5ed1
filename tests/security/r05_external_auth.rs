//! External authentication under load (R5, R6): an answer waits for nothing that other tenants do to the configuration, and
//! the service is asked over connections that are kept, however many requests there are.

use anyhow::{Result, ensure};
use sluice_tests::cases::ingress::certificates::Authorities;
use sluice_tests::echo::{Echo, EchoIdentity, Setup};
use sluice_tests::faults::Faults;
use sluice_tests::http::{self, Request};
use sluice_tests::load::Load;
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Network;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::Sluice;
use sluice_tests::{tls, wait};

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    auth_answers_do_not_wait_for_translation,
    auth_service_connections_are_few_and_reused
);

const HOST: &str = "guarded.test";

/// A host of the owner, guarded by a service of the owner.
struct Protected {
    tenants: Tenants,
    service: Echo,
    _network: Network,
    sluice: Sluice,
    faults: Faults,
}

impl Protected {
    async fn start(plane: Plane, scheme: &str) -> Result<Protected> {
        let (tenants, network, faults) =
            (Tenants::start().await?, Network::reserve()?, Faults::new()?);
        let identity = Authorities::default()
            .described("auth.owner.svc")?
            .identity()?;
        let setup = Setup {
            tls: (scheme == "https")
                .then(|| tls::server_config(identity))
                .transpose()?,
            ..Setup::default()
        };
        let (pod, service) = ("auth-0".to_owned(), "auth".to_owned());
        let identity = EchoIdentity {
            pod,
            service,
            namespace: OWNER.to_owned(),
        };
        let service = Echo::start_with(network.pod(0), identity, setup).await?;
        tenants
            .manifests
            .service(OWNER, "auth", 80, &[service.addr()])?;
        let url = format!("{scheme}://auth.owner.svc:80/verify");
        let protected = Ingress::new(OWNER, "guarded")
            .host(HOST)
            .path("/", "web", 80);
        tenants
            .manifests
            .ingress(&protected.annotation("auth-url", &url))?;
        let sluice = faults
            .for_controller(plane.options(&tenants.manifests))
            .start()
            .await?;
        sluice.wait_for_status(HOST, "/", 200).await?;
        Ok(Protected {
            tenants,
            service,
            _network: network,
            sluice,
            faults,
        })
    }

    fn respond_with(&self, status: u16) {
        self.service.script(Script::echo().answer(
            "*",
            Answer {
                status,
                ..Answer::default()
            },
        ));
    }
}

async fn auth_answers_do_not_wait_for_translation(plane: Plane) -> Result<()> {
    let protected = Protected::start(plane, "http").await?;
    let addr = protected.sluice.http();
    protected.faults.hold("translation")?;
    let new = Ingress::new(OWNER, "new")
        .host("new.test")
        .path("/", "web", 80);
    protected.tenants.manifests.ingress(&new)?;
    protected.sluice.log().wait_for("held: translation").await?;
    for (said, told) in [(200, 200), (401, 401), (204, 200), (403, 403)] {
        protected.respond_with(said);
        // More than there are threads that answer.
        for _ in 0..50 {
            let before = protected.service.hits();
            let answer = http::get(addr, HOST, "/").await?;
            ensure!(answer.status == told, "{said}: {answer:?}");
            ensure!(
                protected.service.hits() == before + 1,
                "{said}: nobody was asked"
            );
        }
    }
    ensure!(
        http::get(addr, "new.test", "/").await?.status == 404,
        "the translation was not held"
    );
    protected.faults.clear()?;
    protected
        .sluice
        .wait_for_status("new.test", "/", 200)
        .await?;
    protected.sluice.stop()
}

async fn auth_service_connections_are_few_and_reused(plane: Plane) -> Result<()> {
    const CLIENTS: usize = 8;
    for scheme in ["http", "https"] {
        let protected = Protected::start(plane, scheme).await?;
        let load = Load::new(protected.sluice.http(), Request::get(HOST, "/"));
        let tally = load
            .connections(CLIENTS)
            .max_requests(1000)
            .run_for(wait::LIMIT)
            .await?;
        ensure!(
            tally.failed() == 0 && tally.total() == 1000,
            "{scheme}: {tally}"
        );
        let (asked, connections) = (protected.service.hits(), protected.service.connections());
        ensure!(asked >= 1000, "{scheme}: asked {asked} times");
        // One for each request in process, and some for those whose connection was just about to be free.
        ensure!(
            connections <= 4 * CLIENTS as u64,
            "{scheme}: {connections} connections for {asked} requests"
        );
        protected.sluice.stop()?;
    }
    Ok(())
}
