//! The directives.

use std::path::PathBuf;
use std::rc::Rc;

use sluice_ngxsafe::{Conf, load_precompiled};
use sluice_pwhost::wasmtime::Engine;
use sluice_pwhost::{Options, Plugin, Unimplemented, engine_config};

use crate::instance::Instance;
use crate::nginx::Nginx;

/// `http {}`.
#[derive(Default)]
pub struct Main {
    wasm: Option<PathBuf>,
    /// Each is a root context; locations that say the same share one.
    configurations: Vec<Rc<[u8]>>,
    filter: Option<Filter>,
}

/// A filter that is loaded and was tried, ready for the workers.
#[derive(Clone)]
pub(crate) struct Filter {
    pub(crate) engine: Engine,
    pub(crate) plugin: Plugin<Nginx>,
    pub(crate) configurations: Rc<[Rc<[u8]>]>,
}

/// `location {}`.
#[derive(Default)]
pub struct Location {
    filtering: Filtering,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Filtering {
    #[default]
    Inherited,
    Off,
    /// On, with the configuration of this number.
    On(usize),
}

/// How far the filter's memory can grow: the tables of the largest cluster twice, while one replaces the other.
const MEMORY: usize = 256 << 20;
/// A call may last this many ticks of the clock, one second. So much must not be too little on a machine that is
/// overloaded: a filter that is interrupted loses its tables, and would be when it reads them again.
pub(crate) const DEADLINE_TICKS: u64 = 20;

/// `sluice_wasm FILE;`
pub(crate) fn wasm(conf: &Conf<'_>, main: &mut Main) -> Result<(), String> {
    if main.wasm.is_some() {
        return Err("is duplicate".to_owned());
    }
    let name = conf.arguments().next().unwrap_or_default();
    main.wasm = Some(conf.path(name)?);
    Ok(())
}

/// `sluice_filter CONFIG...;`, `sluice_filter off;`
pub(crate) fn filter(
    conf: &Conf<'_>,
    main: &mut Main,
    location: &mut Location,
) -> Result<(), String> {
    if location.filtering != Filtering::Inherited {
        return Err("is duplicate".to_owned());
    }
    let text: Vec<u8> = conf.arguments().flatten().copied().collect();
    location.filtering = if text == b"off" {
        Filtering::Off
    } else {
        Filtering::On(main.root(&text))
    };
    Ok(())
}

impl Main {
    fn root(&mut self, text: &[u8]) -> usize {
        let known = self
            .configurations
            .iter()
            .position(|known| **known == *text);
        known.unwrap_or_else(|| {
            self.configurations.push(text.into());
            self.configurations.len() - 1
        })
    }

    /// Loads the filter and tries it, so that one that cannot work fails `nginx -t` and not the workers.
    pub(crate) fn finish(&mut self) -> Result<bool, String> {
        let Some(file) = &self.wasm else {
            return if self.configurations.is_empty() {
                Ok(false)
            } else {
                Err(
                    "\"sluice_filter\" needs \"sluice_wasm\", the filter that sluice-compile wrote"
                        .to_owned(),
                )
            };
        };
        let engine =
            Engine::new(&engine_config()).map_err(|error| format!("wasmtime: {error:#}"))?;
        let module = load_precompiled(&engine, file)?;
        let options = Options {
            memory_bytes: MEMORY,
            deadline_ticks: Some(DEADLINE_TICKS),
            unimplemented: Unimplemented::Answers,
        };
        let failed = |reason: String| format!("{}: {reason}", file.display());
        let plugin = Plugin::new(&module, options).map_err(|trap| failed(trap.to_string()))?;
        let configurations = self.configurations.as_slice().into();
        let filter = Filter {
            engine,
            plugin,
            configurations,
        };
        Instance::new(&filter, Nginx::on_trial()).map_err(failed)?;
        self.filter = Some(filter);
        Ok(!self.configurations.is_empty())
    }

    /// What a worker starts with; `None` where nothing is filtered.
    pub(crate) fn filter(&self) -> Option<&Filter> {
        self.filter
            .as_ref()
            .filter(|filter| !filter.configurations.is_empty())
    }
}

impl Location {
    pub(crate) fn inherit(&mut self, outer: &Location) {
        if self.filtering == Filtering::Inherited {
            self.filtering = outer.filtering;
        }
    }

    /// The number of the configuration that filters here.
    pub(crate) fn root(&self) -> Option<usize> {
        match self.filtering {
            Filtering::On(root) => Some(root),
            Filtering::Inherited | Filtering::Off => None,
        }
    }
}
