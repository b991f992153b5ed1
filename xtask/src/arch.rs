//! The processors that images are built for.

use anyhow::{Result, bail};

/// In the words of each tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arch {
    Amd64,
    Arm64,
}

impl Arch {
    /// That of this machine.
    pub(crate) fn of_this_machine() -> Result<Arch> {
        match std::env::consts::ARCH {
            "x86_64" => Ok(Arch::Amd64),
            "aarch64" => Ok(Arch::Arm64),
            other => bail!("there are no images for {other}: only for amd64 and arm64"),
        }
    }

    pub(crate) fn parse(name: &str) -> Result<Arch> {
        match name {
            "amd64" => Ok(Arch::Amd64),
            "arm64" => Ok(Arch::Arm64),
            other => bail!("--arch is amd64 or arm64, not {other:?}"),
        }
    }

    pub(crate) fn is_native(self) -> bool {
        Arch::of_this_machine().is_ok_and(|this| this == self)
    }

    /// Debian's word, and that of image configurations.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Arch::Amd64 => "amd64",
            Arch::Arm64 => "arm64",
        }
    }

    /// The kernel's word, and that of Python's packages.
    pub(crate) fn machine(self) -> &'static str {
        match self {
            Arch::Amd64 => "x86_64",
            Arch::Arm64 => "aarch64",
        }
    }

    /// Rust's target.
    pub(crate) fn triple(self) -> &'static str {
        match self {
            Arch::Amd64 => "x86_64-unknown-linux-gnu",
            Arch::Arm64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// A program of GNU's tool chain: that of this machine, or the one for cross-compilation.
    pub(crate) fn tool(self, name: &str) -> String {
        if self.is_native() {
            name.to_owned()
        } else {
            format!("{}-linux-gnu-{name}", self.machine())
        }
    }
}
