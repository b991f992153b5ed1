//! Flags: the certificate for hosts without one, and ports without HTTP.

use crate::backends::{PrecedenceTier, Uses};
use crate::report::Reporter;
use crate::secrets::Secrets;
use crate::streams::streams;
use crate::translation::OfFlags;
use crate::{Kind, ObjectRef, Options, Resources, Severity, Translation};

impl Translation {
    /// Applies flags: the certificate for hosts without one, and ports without HTTP.
    pub(crate) fn take_flags(&mut self, resources: &Resources, options: &Options) {
        let mut reports = Vec::new();
        let mut secrets = Secrets::default();
        self.config.default_certificate = None;
        if let Some(key) = &options.default_certificate {
            let found = resources
                .secrets
                .get(key)
                .ok_or_else(|| "expected a Secret, got none".to_owned());
            match found.and_then(|secret| secret.certificate()) {
                Ok(pair) => self.config.default_certificate = Some(secrets.present(key, pair)),
                Err(reason) => {
                    let object = ObjectRef {
                        kind: Kind::Secret,
                        key: key.clone(),
                    };
                    let consequence = "a generated certificate is presented";
                    let field = "--default-ssl-certificate";
                    Reporter::new(object, &mut reports).say(
                        Severity::Error,
                        field,
                        reason,
                        consequence,
                    );
                }
            }
        }
        let mut uses = Uses::new(&self.shared_inputs.globals.transport);
        uses.set_tier(PrecedenceTier::Ports);
        self.config.streams = streams(
            resources,
            options,
            &self.shared_inputs.globals,
            &mut uses,
            &mut reports,
        );
        let flags = OfFlags {
            secrets: self.hold(secrets),
            ports: uses.backend_refs,
            reports,
        };
        let before = std::mem::replace(&mut self.flags, flags);
        self.let_go(&before.secrets);
        if before.ports != self.flags.ports {
            before.ports.iter().for_each(|(precedence, backend_ref)| {
                self.registry
                    .withdraw(&backend_ref.id.service_port(), precedence);
            });
            let now = self.flags.ports.iter().cloned();
            now.for_each(|(precedence, backend_ref)| {
                self.registry.add_ref(precedence, backend_ref);
            });
        }
    }
}
