//! The part of a proxy's configuration that stays when pods change: where it listens, what clients speak, and its certificate.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use sluice_tests::ports::Port;

use super::Protocol;
use super::site::Site;

/// Of one proxy, whose ports it holds.
pub(crate) struct Plan {
    http: Port,
    https: Port,
    certificates: PathBuf,
    pub(crate) protocol: Protocol,
}

impl Plan {
    pub(crate) fn new(site: &Site, protocol: Protocol) -> Result<Plan> {
        Ok(Plan {
            http: Port::reserve()?,
            https: Port::reserve()?,
            certificates: site.certificates(),
            protocol,
        })
    }

    pub(crate) fn http(&self) -> SocketAddr {
        self.http.addr()
    }

    pub(crate) fn https(&self) -> SocketAddr {
        self.https.addr()
    }

    /// Path of the certificate (`crt`), of its key (`key`), or of both in one file (`pem`).
    pub(crate) fn certificate(&self, kind: &str) -> String {
        let file = self.certificates.join(format!("web.{kind}"));
        file.display().to_string()
    }
}
