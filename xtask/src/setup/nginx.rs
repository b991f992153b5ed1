//! The distribution's nginx, and its sources as far as a module needs them.
//!
//! Debian and its kin have the configured headers in `nginx-dev`; the binary is unpacked, not installed, so that no
//! service starts. Elsewhere, or for another version, `NGINX_BINARY` and `NGINX_DIR` name the two.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::apt;
use crate::step::Step;
use crate::target;

/// Sources of `nginx-dev`, without the results of `configure`.
const INSTALLED_SOURCE: &str = "/usr/share/nginx/src";
const PACKAGES: [&str; 2] = ["nginx-dev", "libclang-dev"];
/// Packages that are unpacked: nginx, and its stream module.
const UNPACKED: [&str; 2] = ["nginx", "libnginx-mod-stream"];
const STREAM: &str = "root/usr/lib/nginx/modules/ngx_stream_module.so";

/// The folder of the configured sources, `objs` in it.
pub(crate) fn source() -> PathBuf {
    env::var_os("NGINX_DIR").map_or_else(|| target().join("nginx"), PathBuf::from)
}

/// Prepares nginx; the program to use.
pub(crate) fn nginx() -> Result<PathBuf> {
    let binary = env::var_os("NGINX_BINARY").map(PathBuf::from);
    if let (Some(binary), Some(_)) = (&binary, env::var_os("NGINX_DIR")) {
        ensure!(
            binary.is_file(),
            "NGINX_BINARY is {}, which is not a file",
            binary.display()
        );
        ensure!(
            is_configured(&source()),
            "NGINX_DIR is {}, which has no objs/Makefile of a ./configure --with-stream=dynamic",
            source().display()
        );
        return binary.canonicalize().context("NGINX_BINARY");
    }
    ensure!(
        binary.is_none() && env::var_os("NGINX_DIR").is_none(),
        "set both NGINX_BINARY and NGINX_DIR (its configured sources), or neither"
    );
    let mut step = Step::start("nginx and its headers");
    let (folder, binary) = (source(), source().join("root/usr/sbin/nginx"));
    let is_whole = is_configured(&folder) && binary.is_file() && folder.join(STREAM).is_file();
    if !is_whole || version(&binary)? != source_version(&folder)? {
        prepare(&mut step, &folder)?;
    }
    let (built, headers) = (version(&binary)?, source_version(&folder)?);
    ensure!(
        built == headers,
        "nginx is {built}, its headers are of {headers}: set NGINX_BINARY and NGINX_DIR"
    );
    step.done();
    Ok(binary)
}

/// Into a folder beside the final one, which then appears whole.
fn prepare(step: &mut Step, folder: &Path) -> Result<()> {
    if !Path::new(INSTALLED_SOURCE).is_dir() || !has_libclang() {
        if !apt::is_usable() {
            let packages = PACKAGES.join(" ");
            bail!(
                "the nginx module needs nginx's headers: sudo apt-get install {packages} (Debian and its kin), or set \
                NGINX_BINARY and NGINX_DIR"
            );
        }
        apt::install(step, &PACKAGES)?;
    }
    let fresh = folder.with_extension(std::process::id().to_string());
    let result = fill(step, &fresh).and_then(|()| {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::rename(&fresh, folder).with_context(|| format!("rename to {}", folder.display()))
    });
    if fresh.exists() {
        fs::remove_dir_all(&fresh)?;
    }
    result
}

fn fill(step: &mut Step, folder: &Path) -> Result<()> {
    fs::create_dir_all(target())?;
    step.run(
        Command::new("cp")
            .args(["-R", INSTALLED_SOURCE])
            .arg(folder),
    )?;
    // The flags of the distribution's build are a bash array, without those of modules that are packages.
    let configure =
        r#"source ./conf_flags && ./configure "${NGX_CONF_FLAGS[@]}" --with-stream=dynamic"#;
    step.run(
        Command::new("bash")
            .current_dir(folder)
            .args(["-euc", configure]),
    )?;
    let root = folder.join("root");
    fs::create_dir_all(&root)?;
    UNPACKED
        .iter()
        .try_for_each(|package| apt::unpack(step, package, &root))
}

/// Also for connections without HTTP: the module is built against those headers, too.
fn is_configured(folder: &Path) -> bool {
    let makefile = fs::read_to_string(folder.join("objs/Makefile")).unwrap_or_default();
    makefile.contains("src/stream")
}

/// bindgen reads the headers with it.
fn has_libclang() -> bool {
    let llvms = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let libraries = llvms
        .filter_map(|llvm| fs::read_dir(llvm.path().join("lib")).ok())
        .flatten()
        .flatten();
    env::var_os("LIBCLANG_PATH").is_some()
        || libraries.into_iter().any(|file| {
            file.file_name()
                .to_string_lossy()
                .starts_with("libclang.so")
        })
}

fn version(binary: &Path) -> Result<String> {
    let output = Command::new(binary)
        .arg("-v")
        .output()
        .with_context(|| format!("run {}", binary.display()))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let version = text
        .split_once("nginx/")
        .and_then(|(_, rest)| rest.split_whitespace().next());
    version
        .map(str::to_owned)
        .with_context(|| format!("{} -v says {text:?}", binary.display()))
}

/// That of the sources that a module is built for.
pub(crate) fn version_of_sources() -> Result<String> {
    source_version(&source())
}

fn source_version(folder: &Path) -> Result<String> {
    let header = folder.join("src/core/nginx.h");
    let text = fs::read_to_string(&header).with_context(|| format!("read {}", header.display()))?;
    let mut lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("#define NGINX_VERSION"));
    let version = lines
        .next()
        .map(|rest| rest.trim().trim_matches('"').to_owned());
    version.with_context(|| format!("no NGINX_VERSION in {}", header.display()))
}
