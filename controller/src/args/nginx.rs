//! Flags of an nginx that Sluice runs.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

/// A proxy-wasm host for nginx.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NginxHost {
    /// Sluice's own module, for a stock nginx.
    Sluice,
    /// Kong's ngx_wasm_module, in an nginx that has it: no keep-alive to upstreams, takes --filter-wasm.
    Kong,
}

/// Forms of the filter in an nginx with Sluice's module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NginxFilter {
    /// Built into the module: less CPU time than as wasm, without a sandbox.
    Module,
    /// WebAssembly.
    Wasm,
}

/// Use of the host table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NginxHostTable {
    /// Used where possible; docs/differences-nginx.md lists the hosts that stay in nginx.conf.
    Auto,
    /// Not used: nginx.conf names every host, and each new host or path is a reload.
    Off,
}

/// The process, with `--data-plane nginx`.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Data plane")]
pub(crate) struct NginxChild {
    /// Module that runs the filter in nginx.
    #[arg(long, value_enum, default_value_t = NginxHost::Sluice)]
    pub(crate) nginx_host: NginxHost,
    /// Keep hosts and paths in a table that Sluice's module reads, so that most new ones need no reload.
    #[arg(long, env = "SLUICE_NGINX_HOST_TABLE", value_enum, default_value_t = NginxHostTable::Auto, value_name = "MODE")]
    pub(crate) nginx_host_table: NginxHostTable,
    /// nginx binary [default: `nginx` in PATH].
    #[arg(long, env = "NGINX_BINARY", value_name = "PATH")]
    pub(crate) nginx_binary: Option<PathBuf>,
    /// Sluice's module for this nginx [default: `libngx_sluice.so` in `../lib/sluice` or beside this program], or Kong's if it is
    /// a dynamic module.
    #[arg(long, env = "SLUICE_NGINX_MODULE", value_name = "PATH")]
    pub(crate) nginx_module: Option<PathBuf>,
    /// Form of the filter in nginx, with --nginx-host sluice.
    #[arg(long, env = "SLUICE_NGINX_FILTER", value_enum, default_value_t = NginxFilter::Module, value_name = "FORM")]
    pub(crate) nginx_filter: NginxFilter,
    /// Filter as wasm, compiled by `sluice-compile` for nginx [default: `sluice_filter.cwasm` in `../lib/sluice` or beside
    /// this program].
    #[arg(long, env = "SLUICE_FILTER_CWASM", value_name = "PATH")]
    pub(crate) filter_cwasm: Option<PathBuf>,
    /// Worker processes of nginx [default: one per core].
    #[arg(long, value_name = "N")]
    pub(crate) nginx_workers: Option<u32>,
}

impl NginxChild {
    /// True if our module runs the filter as wasm.
    pub(crate) fn takes_compiled_wasm(&self) -> bool {
        self.nginx_host == NginxHost::Sluice && self.nginx_filter == NginxFilter::Wasm
    }
}
