//! The operator's flags: the certificate for hosts without one, and TCP and UDP ports.

use crate::Translation;
use crate::assembled::Flags;
use crate::ids::without_variant;
use crate::input::RouteInput;
use crate::translation::AppliedFlags;

impl<S> Translation<S> {
    /// Applies the flags.
    pub(super) fn update_flags<I: RouteInput<Settings = S>>(&mut self, input: &I) {
        let Flags {
            default_certificate,
            streams,
            secrets,
            backend_refs,
            reports,
        } = input.flags(&self.shared_inputs.settings);
        self.config.default_certificate = default_certificate;
        self.config.streams = streams;
        let flags = AppliedFlags {
            secrets: self.acquire(secrets),
            backend_refs,
            reports,
        };
        let before = std::mem::replace(&mut self.flags, flags);
        self.release(&before.secrets);
        if before.backend_refs != self.flags.backend_refs {
            for (precedence, backend_ref) in &before.backend_refs {
                self.registry
                    .withdraw(&without_variant(&backend_ref.id), precedence);
            }
            for (precedence, backend_ref) in self.flags.backend_refs.iter().cloned() {
                self.registry.add_ref(precedence, backend_ref);
            }
        }
    }
}
