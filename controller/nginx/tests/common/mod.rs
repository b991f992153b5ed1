//! Setup that the tests share.

use sluice_nginx::{Engine, Settings};

/// For files that need not be there.
pub fn settings() -> Settings {
    let engine = Engine::Sluice {
        module: "m.so".into(),
        wasm: None,
    };
    Settings::new(
        engine,
        ([127, 0, 0, 1], 80).into(),
        ([127, 0, 0, 1], 443).into(),
    )
}
