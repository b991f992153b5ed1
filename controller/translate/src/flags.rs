//! Flags that name objects: the certificate for hosts without one, and TCP and UDP ports.

use sluice_ir::{ReasonCode, SecretId};
use sluice_translate_engine::{
    BackendRefs, Flags, Kind, ObjectCache, ObjectRef, PrecedenceTier, Report, Reporter, Secrets,
    Severity,
};

use crate::Options;
use crate::global::Globals;
use crate::stapling;
use crate::streams::streams;

/// Applies the flags.
pub(crate) fn apply(cluster: &ObjectCache, options: &Options, globals: &Globals) -> Flags {
    let (mut secrets, mut reports) = (Secrets::default(), Vec::new());
    let default_certificate = default_certificate(cluster, options, &mut secrets, &mut reports);
    let mut backend_refs = BackendRefs::new(&globals.upstream.transport);
    backend_refs.set_tier(PrecedenceTier::Ports);
    let streams = streams(cluster, options, globals, &mut backend_refs, &mut reports);
    Flags {
        default_certificate,
        streams,
        secrets,
        backend_refs: backend_refs.into_refs(),
        reports,
    }
}

fn default_certificate(
    cluster: &ObjectCache,
    options: &Options,
    secrets: &mut Secrets,
    reports: &mut Vec<Report>,
) -> Option<SecretId> {
    let key = options.default_certificate.as_ref()?;
    let found = cluster
        .secret(key)
        .ok_or_else(|| "expected a Secret, got none".to_owned());
    let pair = found.and_then(|secret| secret.certificate());
    let pair = pair.and_then(|pair| Ok(stapling::presentable(pair, options)?));
    match pair {
        Ok(pair) => Some(secrets.present(key, pair)),
        Err(reason) => {
            let object = ObjectRef {
                kind: Kind::Secret,
                key: key.clone(),
            };
            Reporter::new(object, reports).report(
                ReasonCode::InvalidRef,
                Severity::Error,
                "--default-ssl-certificate",
                reason,
                "a generated certificate is presented",
            );
            None
        }
    }
}
