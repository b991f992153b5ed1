//! Data planes to drive.

use clap::ValueEnum;

/// Data plane to drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataPlane {
    /// Envoy as a child process.
    Envoy,
    /// nginx as a child process, with our module.
    Nginx,
    /// None: serve xDS only, for an Envoy that you run yourself.
    None,
}

impl DataPlane {
    /// The data plane that serves. Clients of xDS are Envoys.
    pub(crate) fn serving(self) -> sluice_translate::DataPlane {
        match self {
            DataPlane::Envoy | DataPlane::None => sluice_translate::DataPlane::Envoy,
            DataPlane::Nginx => sluice_translate::DataPlane::Nginx,
        }
    }
}
