//! The API server: that it answers, and its version.

use crate::checklist::{Checklist, Section};
use crate::facts::Server;

/// The oldest minor version of Kubernetes 1 that the chart takes.
const OLDEST: u32 = 25;
const SECTION: Section = Section::KubernetesApi;

pub(crate) fn unreachable(error: &str, list: &mut Checklist) {
    list.failure(
        SECTION,
        error,
        "run `kubectl version` to see whether kubectl has the same problem; --kubeconfig, --context and --apiserver-host choose another cluster",
    );
}

pub(crate) fn kubernetes(server: &Server, list: &mut Checklist) {
    let version = match &server.version {
        Ok(version) => version,
        Err(error) => return list.unread(SECTION, "the version of the API server", error),
    };
    list.ok(SECTION, format!("API server {} answers", server.url));
    match minor(version) {
        Some(minor) if minor >= OLDEST => {
            list.ok(SECTION, format!("Kubernetes {version} is supported"));
        }
        Some(_) => list.failure(
            SECTION,
            format!("Kubernetes {version} is too old"),
            format!("upgrade to 1.{OLDEST} or later"),
        ),
        None => list.warning(
            SECTION,
            format!("expected a version such as v1.33.1 of the API server, got {version:?}"),
            format!("Kubernetes 1.{OLDEST} and later are supported"),
        ),
    }
}

/// Later major versions are newer than all of 1.
fn minor(version: &str) -> Option<u32> {
    let mut parts = version.strip_prefix('v')?.split('.');
    let major: u32 = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    match major {
        0 => None,
        1 => Some(minor),
        _ => Some(u32::MAX),
    }
}
