//! `sluice certgen`: the flags of it. What comes of them is in `sluice_kube::certgen`.

use anyhow::Context;
use sluice_kube::certgen::{self, FailurePolicy, SecretRef, Wanted, XdsSecrets};

use crate::args::{self, Certgen, CertgenCommand, SecretPlace};
use crate::{log, output};

/// Runs once and ends.
pub(crate) fn certgen(args: &Certgen) -> anyhow::Result<()> {
    if let CertgenCommand::Version = args.command {
        return Ok(output::print(concat!(
            "sluice ",
            env!("CARGO_PKG_VERSION"),
            "\n"
        ))?);
    }
    log::to_stderr(args.log.filter(), args.log.log_format);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("runtime")?;
    runtime.block_on(async {
        let client = certgen::connect(args.kubeconfig.as_deref()).await?;
        match &args.command {
            CertgenCommand::Create(create) => {
                certgen::create(&client, &wanted(create), &trust(&create.trust)).await
            }
            CertgenCommand::Patch(patch) => {
                certgen::patch(&client, &place(&patch.secret), &trust(&patch.trust)).await
            }
            CertgenCommand::Xds(xds) => certgen::create_xds(&client, &xds_secrets(xds)).await,
            // Needs no API server, and has been answered.
            CertgenCommand::Version => Ok(()),
        }
    })
}

fn wanted(create: &args::Create) -> Wanted {
    Wanted {
        secret: place(&create.secret),
        hosts: create.host.clone(),
        certificate_key: create.cert_name.clone(),
        private_key_key: create.key_name.clone(),
    }
}

fn xds_secrets(xds: &args::Xds) -> XdsSecrets {
    XdsSecrets {
        namespace: xds.namespace.clone(),
        controller: xds.controller_secret.clone(),
        data_plane: xds.data_plane_secret.clone(),
        hosts: xds.host.clone(),
    }
}

fn place(secret: &SecretPlace) -> SecretRef {
    SecretRef {
        namespace: secret.namespace.clone(),
        name: secret.secret_name.clone(),
    }
}

fn trust(trust: &args::Trust) -> certgen::Trust {
    certgen::Trust {
        webhook: trust.webhook_name.clone(),
        apiservice: trust.apiservice_name.clone(),
        validating: trust.patch_validating,
        mutating: trust.patch_mutating,
        failure_policy: trust.patch_failure_policy.map(|policy| match policy {
            args::FailurePolicy::Ignore => FailurePolicy::Ignore,
            args::FailurePolicy::Fail => FailurePolicy::Fail,
        }),
    }
}
