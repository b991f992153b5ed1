//! Paths of built artifacts. `cargo xtask` exports them; a plain `cargo test` finds them in the target folder.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The root of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/ is a folder of the repository")
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    repository().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The controller.
pub fn sluice() -> Result<PathBuf> {
    find(
        "SLUICE_BIN",
        target().join("debug/sluice"),
        "the controller",
    )
}

/// The tasks of the repository.
pub fn xtask() -> Result<PathBuf> {
    find("SLUICE_XTASK", target().join("debug/xtask"), "xtask")
}

/// The filter as it is shipped.
pub fn filter() -> Result<PathBuf> {
    find(
        "SLUICE_FILTER_WASM",
        target().join("wasm32-wasip1/filter/sluice_filter.wasm"),
        "the filter",
    )
}

/// True if tests that do not care are to run the filter as wasm in their data planes: `SLUICE_TEST_FILTER=wasm`.
pub fn is_wasm_asked_for() -> bool {
    env::var_os("SLUICE_TEST_FILTER").is_some_and(|form| form == "wasm")
}

/// The filter as a module of Envoy.
pub fn envoy_module() -> Result<PathBuf> {
    find(
        "SLUICE_ENVOY_MODULE",
        target().join("debug/libsluice_envoy.so"),
        "the filter as a module of Envoy",
    )
}

/// The same in a debug build, which fails when a request asks for it where [`FAULTS`] is set.
pub fn debug_envoy_module() -> Result<PathBuf> {
    find(
        "SLUICE_DEBUG_ENVOY_MODULE",
        target().join("debug/libsluice_envoy.so"),
        "the debug build of the module of Envoy",
    )
}

/// The filter that fails when a request asks for it.
pub fn filter_with_faults() -> Result<PathBuf> {
    let default = target().join("fault-injection/wasm32-wasip1/filter/sluice_filter.wasm");
    find(
        "SLUICE_FAULT_FILTER_WASM",
        default,
        "the filter with fault injection",
    )
}

/// The filter as the nginx module takes it.
pub fn compiled_filter() -> Result<PathBuf> {
    let default = target().join("wasm32-wasip1/filter/sluice_filter.cwasm");
    find("SLUICE_FILTER_CWASM", default, "the compiled filter")
}

/// The filter as native code that counts its instructions.
pub fn metered_filter() -> Result<PathBuf> {
    let default = target().join("wasm32-wasip1/filter/sluice_filter.metered.cwasm");
    find("SLUICE_METERED_FILTER_CWASM", default, "the metered filter")
}

/// The filter that fails when a request asks for it, as the nginx module takes it.
pub fn compiled_filter_with_faults() -> Result<PathBuf> {
    let default = target().join("fault-injection/wasm32-wasip1/filter/sluice_filter.cwasm");
    find(
        "SLUICE_FAULT_FILTER_CWASM",
        default,
        "the compiled filter with fault injection",
    )
}

/// The nginx module.
pub fn nginx_module() -> Result<PathBuf> {
    find(
        "SLUICE_NGINX_MODULE",
        target().join("debug/libngx_sluice.so"),
        "the nginx module",
    )
}

/// The same in a debug build, which fails when a request asks for it where [`FAULTS`] is set.
pub fn debug_nginx_module() -> Result<PathBuf> {
    find(
        "SLUICE_DEBUG_NGINX_MODULE",
        target().join("debug/libngx_sluice.so"),
        "the debug build of the nginx module",
    )
}

/// In the environment of a data plane whose clients may ask a debug build to fail.
pub const FAULTS: &str = "SLUICE_FILTER_FAULTS";

/// ModSecurity's module for nginx, which `cargo xtask setup` installs.
pub fn nginx_modsecurity_module() -> PathBuf {
    PathBuf::from("/usr/lib/nginx/modules/ngx_http_modsecurity_module.so")
}

/// nginx: `NGINX_BINARY`, or the one that `cargo xtask setup` unpacked.
pub fn nginx() -> Result<PathBuf> {
    find(
        "NGINX_BINARY",
        target().join("nginx/root/usr/sbin/nginx"),
        "nginx",
    )
}

/// PHP as a FastCGI application: `PHP_CGI`, or the one that `cargo xtask setup` installed.
pub fn php_cgi() -> Result<PathBuf> {
    find("PHP_CGI", "/usr/bin/php-cgi".into(), "php-cgi")
}

/// The library of nginx's stream module, where distributions have it; `None` where it should be a part of nginx.
pub fn nginx_stream_module() -> Result<Option<PathBuf>> {
    let nginx = nginx()?;
    let root = nginx
        .parent()
        .and_then(Path::parent)
        .context("nginx is in no folder")?;
    let folders = [
        root.join("lib/nginx/modules"),
        root.join("modules"),
        "/usr/lib/nginx/modules".into(),
    ];
    Ok(folders
        .map(|folder| folder.join("ngx_stream_module.so"))
        .into_iter()
        .find(|file| file.is_file()))
}

/// An nginx with Kong's ngx_wasm_module, `SLUICE_NGX_WASM`: where it is set, managed nginx runs there.
pub fn ngx_wasm() -> Option<PathBuf> {
    env::var_os("SLUICE_NGX_WASM").map(PathBuf::from)
}

/// The nginx that a controller runs: that one, or the distribution's with our module.
pub fn managed_nginx() -> Result<PathBuf> {
    ngx_wasm().map_or_else(nginx, Ok)
}

/// The runtime of the filter in a managed nginx, for the output of a test.
pub fn nginx_host() -> String {
    let kongs = |binary: PathBuf| format!("Kong's ngx_wasm_module ({})", binary.display());
    ngx_wasm().map_or_else(|| "Sluice's module".to_owned(), kongs)
}

/// Envoy: `ENVOY_BINARY`, or the one that `cargo xtask setup` installed.
pub fn envoy() -> Result<PathBuf> {
    find(
        "ENVOY_BINARY",
        installed_envoy().unwrap_or_else(|| target().join("envoy")),
        "Envoy",
    )
}

/// Helm: `HELM_BINARY`, or the one that `cargo xtask setup` installed.
pub fn helm() -> Result<PathBuf> {
    find("HELM_BINARY", target().join("helm/helm"), "Helm")
}

/// kubectl: `KUBECTL_BINARY`, or the one that `cargo xtask setup` installed.
pub fn kubectl() -> Result<PathBuf> {
    find("KUBECTL_BINARY", target().join("helm/kubectl"), "kubectl")
}

/// WebDriver of Chromium: `CHROMEDRIVER`, or Debian's.
pub fn chromedriver() -> Result<PathBuf> {
    find(
        "CHROMEDRIVER",
        PathBuf::from("/usr/bin/chromedriver"),
        "chromedriver",
    )
}

/// Prometheus: `PROMETHEUS_BINARY`, or the one that `cargo xtask setup` unpacked.
pub fn prometheus() -> Result<PathBuf> {
    let unpacked = target().join("prometheus/usr/bin/prometheus");
    find("PROMETHEUS_BINARY", unpacked, "Prometheus")
}

/// promtool: `PROMTOOL_BINARY`, or the one that `cargo xtask setup` unpacked.
pub fn promtool() -> Result<PathBuf> {
    let unpacked = target().join("prometheus/usr/bin/promtool");
    find("PROMTOOL_BINARY", unpacked, "promtool")
}

fn installed_envoy() -> Option<PathBuf> {
    let folders = target().read_dir().ok()?.flatten();
    let mut binaries = folders
        .filter(|folder| folder.file_name().to_string_lossy().starts_with("envoy-"))
        .map(|folder| folder.path().join("envoy"));
    binaries.find(|binary| binary.is_file())
}

fn find(variable: &str, default: PathBuf, what: &str) -> Result<PathBuf> {
    let path = env::var_os(variable).map_or(default, PathBuf::from);
    if !path.is_file() {
        bail!(
            "{what} is not at {}: run `cargo xtask test`, which builds it, or set {variable}",
            path.display()
        );
    }
    path.canonicalize()
        .with_context(|| format!("{what} at {}", path.display()))
}
