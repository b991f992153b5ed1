//! Flags that name objects: the certificate for hosts without one, and TCP and UDP ports.

use sluice_ir::SecretId;
use sluice_translate_engine::{
    BackendRefs, Cause, Flags, Kind, ObjectCache, ObjectRef, PrecedenceTier, Report, Reporter,
    Secrets, Severity,
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
        .ok_or_else(|| Cause::missing(Kind::Secret, key.clone()));
    let pair = found.and_then(|secret| {
        let pair = secret.certificate().map_err(Cause::invalid_ref)?;
        stapling::presentable(pair, options).map_err(Cause::invalid_ref)
    });
    match pair {
        Ok(pair) => Some(secrets.present(key, pair)),
        Err(Cause {
            code,
            reason,
            missing,
        }) => {
            let object = ObjectRef {
                kind: Kind::Secret,
                key: key.clone(),
            };
            let (field, consequence) = (
                "--default-ssl-certificate",
                "a generated certificate is presented",
            );
            Reporter::new(object, reports)
                .report(code, Severity::Error, field, reason, consequence)
                .missing = missing;
            None
        }
    }
}
