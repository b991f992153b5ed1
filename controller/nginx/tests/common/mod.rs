//! What the tests have in common.

use std::net::SocketAddr;

use sluice_nginx::{Engine, Settings};

/// For files that need not be there.
pub fn settings() -> Settings {
    Settings {
        engine: Engine::Sluice { module: "m.so".into(), filter: "f.cwasm".into() },
        controller: "controller.sock".into(),
        checkpoint: "{}".to_owned(),
        http: SocketAddr::from(([127, 0, 0, 1], 80)),
        https: SocketAddr::from(([127, 0, 0, 1], 443)),
        folder: "run".into(),
        resolvers: vec![[127, 0, 0, 1].into()],
        user: None,
        workers: Some(1),
        openssl: None,
        access_log: None,
        streams: None,
        requests: None,
        drain: 1,
    }
}
