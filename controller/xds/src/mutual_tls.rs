//! How an Envoy on another machine and the controller know each other: one CA, a certificate for each side.
//!
//! Their traffic includes the private keys of every host, so both sides are authenticated. Envoy reads the files by
//! SDS, because it follows a change of files only there.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The files of a Secret as cert-manager writes them, and `kubectl create secret tls` but for the CA.
pub const CERTIFICATE_FILE: &str = "tls.crt";
/// See [`CERTIFICATE_FILE`].
pub const KEY_FILE: &str = "tls.key";
/// See [`CERTIFICATE_FILE`].
pub const AUTHORITY_FILE: &str = "ca.crt";

const TYPES: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3";
const IDENTITY: &str = "sluice_identity";
const AUTHORITY: &str = "sluice_authority";

/// Envoy's side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutualTls {
    /// The folder with the certificate, its key and the CA.
    certificates: PathBuf,
    /// A DNS name that the controller's certificate must have.
    server_name: String,
    /// The folder with the SDS files.
    sds: PathBuf,
}

impl MutualTls {
    /// `certificates` is a folder with [`CERTIFICATE_FILE`], [`KEY_FILE`] and [`AUTHORITY_FILE`]; [`MutualTls::files`]
    /// belong into the folder `sds`.
    #[must_use]
    pub fn new(
        certificates: impl Into<PathBuf>,
        server_name: impl Into<String>,
        sds: impl Into<PathBuf>,
    ) -> Self {
        MutualTls {
            certificates: certificates.into(),
            server_name: server_name.into(),
            sds: sds.into(),
        }
    }

    /// The SDS files that the bootstrap refers to. They name the certificates and hold none.
    #[must_use]
    pub fn files(&self) -> [(PathBuf, Value); 2] {
        let file = |name| json!({"filename": self.certificates.join(name)});
        // A mounted Secret changes by a rename in its folder.
        let watched = json!({"path": self.certificates});
        let identity = json!({
            "certificate_chain": file(CERTIFICATE_FILE),
            "private_key": file(KEY_FILE),
            "watched_directory": watched,
        });
        let authority = json!({"trusted_ca": file(AUTHORITY_FILE), "watched_directory": watched});
        [
            (
                self.sds_file(IDENTITY),
                secret(IDENTITY, "tls_certificate", identity),
            ),
            (
                self.sds_file(AUTHORITY),
                secret(AUTHORITY, "validation_context", authority),
            ),
        ]
    }

    pub(crate) fn transport_socket(&self) -> Value {
        // As a client, Envoy would speak 1.2 at most.
        let versions = json!({"tls_minimum_protocol_version": "TLSv1_3", "tls_maximum_protocol_version": "TLSv1_3"});
        let name = json!({"san_type": "DNS", "matcher": {"exact": self.server_name}});
        json!({
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": format!("{TYPES}.UpstreamTlsContext"),
                "sni": self.server_name,
                "common_tls_context": {
                    "tls_params": versions,
                    "tls_certificate_sds_secret_configs": [self.sds_config(IDENTITY)],
                    "combined_validation_context": {
                        "default_validation_context": {"match_typed_subject_alt_names": [name]},
                        "validation_context_sds_secret_config": self.sds_config(AUTHORITY),
                    },
                },
            },
        })
    }

    fn sds_config(&self, name: &str) -> Value {
        let source = json!({"path": self.sds_file(name)});
        json!({"name": name, "sds_config": {"path_config_source": source, "resource_api_version": "V3"}})
    }

    fn sds_file(&self, name: &str) -> PathBuf {
        Path::new(&self.sds).join(format!("{name}.json"))
    }
}

fn secret(name: &str, kind: &str, value: Value) -> Value {
    let secret = json!({"@type": format!("{TYPES}.Secret"), "name": name, kind: value});
    json!({"version_info": "1", "resources": [secret]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transport_socket_refers_to_the_files() {
        let tls = MutualTls::new("/etc/sluice", "sluice.test", "/run/sluice");
        let socket = tls.transport_socket().to_string();
        for (path, content) in tls.files() {
            assert!(
                socket.contains(&path.display().to_string()),
                "{}",
                path.display()
            );
            assert!(content.to_string().contains("/etc/sluice/"), "{content}");
        }
    }
}
