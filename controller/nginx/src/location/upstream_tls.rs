//! TLS towards the pods of a path, and towards mirrors.

use sluice_ir::{TlsVersions, UpstreamTls};

use crate::conf::{Value, Word, value, word};
use crate::context::RenderContext;
use crate::files::{self, Pinned};

/// TLS towards pods.
pub(crate) struct Tls {
    pub(crate) versions: Vec<&'static str>,
    pub(crate) ciphers: Option<Word>,
    pub(crate) name: Option<Value>,
    pub(crate) sends_name: bool,
    /// Read for each connection: OpenSSL refuses weak ones, and nginx its whole configuration with them.
    pub(crate) certificate: Option<Value>,
    pub(crate) verify: Option<(Pinned, u32)>,
}

/// TLS towards a mirror, which is not verified.
pub(crate) struct MirrorTls {
    pub(crate) versions: Vec<&'static str>,
    /// SNI
    pub(crate) name: Option<Value>,
}

impl Tls {
    pub(crate) fn new(tls: &UpstreamTls, context: RenderContext<'_>) -> Self {
        let secret = |id| context.config.secret(id);
        let pinned = |id| files::pinned(id, secret(id), context.settings);
        let verify = tls.verify.as_ref();
        let name = verify
            .map(|verify| &verify.name)
            .or(tls.server_name.as_ref());
        Tls {
            versions: names(tls.versions),
            ciphers: (!tls.ciphers.is_empty()).then(|| word(tls.ciphers.join(":"))),
            name: name.map(value),
            sends_name: tls.server_name.is_some(),
            certificate: tls
                .certificate
                .as_ref()
                .and_then(|id| files::when_needed(id, secret(id), context.settings)),
            verify: verify.and_then(|verify| Some((pinned(&verify.ca)?, verify.depth))),
        }
    }
}

impl MirrorTls {
    pub(crate) fn new(tls: &UpstreamTls) -> Self {
        MirrorTls {
            versions: names(tls.versions),
            name: tls.server_name.as_ref().map(value),
        }
    }
}

/// Versions as nginx calls them. Written wherever TLS is spoken: nginx's own default depends on its version.
fn names(versions: TlsVersions) -> Vec<&'static str> {
    let names = [(versions.v1_2, "TLSv1.2"), (versions.v1_3, "TLSv1.3")];
    let offered = names.into_iter().filter(|(is_offered, _)| *is_offered);
    offered.map(|(_, name)| name).collect()
}
