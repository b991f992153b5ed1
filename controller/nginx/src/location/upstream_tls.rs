//! TLS towards the pods of a path, and towards mirrors.

use sluice_ir::UpstreamTls;

use crate::conf::{Value, Word, value, word};
use crate::context::RenderContext;
use crate::files::{self, Pinned};
use crate::location::module::Module;
use crate::tls::version_names;

/// TLS towards pods or a mirror.
pub(crate) struct Tls {
    /// The module that speaks it.
    pub(crate) module: Module,
    pub(crate) versions: Vec<&'static str>,
    pub(crate) ciphers: Option<Word>,
    pub(crate) name: Option<Value>,
    pub(crate) sends_name: bool,
    /// Read for each connection: OpenSSL refuses weak ones, and nginx its whole configuration with them.
    pub(crate) certificate: Option<Value>,
    pub(crate) verify: Option<(Pinned, u32)>,
}

impl Tls {
    pub(crate) fn new(tls: &UpstreamTls, module: Module, context: RenderContext<'_>) -> Self {
        let secret = |id| context.config.secret(id);
        let pinned = |id| files::pinned(id, secret(id), context.settings);
        let verify = tls.verify.as_ref();
        let name = verify
            .map(|verify| &verify.name)
            .or(tls.server_name.as_ref());
        Tls {
            module,
            versions: version_names(tls.versions),
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

    /// Without a certificate of ours; the mirror's is not verified.
    pub(crate) fn of_mirror(tls: &UpstreamTls) -> Self {
        Tls {
            module: Module::Proxy,
            versions: version_names(tls.versions),
            ciphers: None,
            name: tls.server_name.as_ref().map(value),
            sends_name: tls.server_name.is_some(),
            certificate: None,
            verify: None,
        }
    }
}
