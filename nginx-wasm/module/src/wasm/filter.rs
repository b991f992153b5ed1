//! The loaded filter: native code, linked to the host calls of [`NginxEnv`].

use std::path::Path;
use std::rc::Rc;

use sluice_ngx::load_precompiled;
use sluice_wasm_host::wasmtime::Engine;
use sluice_wasm_host::{Options, Plugin, Unimplemented, engine_config};

use super::env::NginxEnv;
use super::instance::Instance;

/// A loaded filter with its plugin configurations, ready for the workers.
#[derive(Clone)]
pub(crate) struct Filter {
    pub(crate) engine: Engine,
    pub(crate) plugin: Plugin<NginxEnv>,
    /// One root context each.
    pub(crate) configurations: Rc<[Rc<[u8]>]>,
}

/// Limit of the filter's memory: twice the tables of the largest cluster, for the time that one replaces the other.
const MEMORY_BYTES: usize = 256 << 20;
/// Limit of a call in ticks of the epoch clock: one second. It must not be too short for an overloaded machine: a
/// filter that is interrupted loses its tables, and would be interrupted again when it reads them anew.
const DEADLINE_TICKS: u64 = 20;
/// The filter does nothing in the first two, and `proxy_on_delete` tells it of requests that were never logged: nginx logs all.
const SKIPPED: &[&str] = &[
    "proxy_on_context_create",
    "proxy_on_done",
    "proxy_on_delete",
];

impl Filter {
    /// Loads a filter that `sluice-compile` wrote, and starts an instance on trial.
    ///
    /// # Errors
    ///
    /// wasmtime cannot start; the file cannot be read, is not trusted or does not fit this module; or the instance does not start.
    pub(crate) fn load(file: &Path, configurations: &[Rc<[u8]>]) -> Result<Self, String> {
        let filter = Filter::read(file, configurations)?;
        Instance::new(&filter, NginxEnv::for_configuration_test())
            .map_err(|reason| format!("{}: {reason}", file.display()))?;
        Ok(filter)
    }

    fn read(file: &Path, configurations: &[Rc<[u8]>]) -> Result<Self, String> {
        let engine =
            Engine::new(&engine_config()).map_err(|error| format!("wasmtime: {error:#}"))?;
        let module = load_precompiled(&engine, file)?;
        let options = Options {
            memory_bytes: MEMORY_BYTES,
            deadline_ticks: Some(DEADLINE_TICKS),
            unimplemented: Unimplemented::ReturnStatus,
            skipped: SKIPPED,
        };
        let plugin =
            Plugin::new(&module, options).map_err(|trap| format!("{}: {trap}", file.display()))?;
        Ok(Self {
            engine,
            plugin,
            configurations: configurations.into(),
        })
    }
}
