//! Native code of the filter, written by `sluice-compile`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use wasmtime::{Engine, Module};

/// Mode bits for write access by group and others.
const WRITABLE_BY_OTHERS: u32 = 0o022;
const ROOT: u32 = 0;

/// Loads a module that was compiled ahead of time.
///
/// # Errors
///
/// The file cannot be read, is writable for users other than nginx's and root, or does not fit the engine.
pub fn load(engine: &Engine, file: &Path) -> Result<Module, String> {
    let name = file.display();
    let bytes = read_trusted(file).map_err(|reason| format!("{name}: {reason}"))?;
    // SAFETY: wasmtime requires that nobody tampered with the bytes since they were compiled: they
    // are executed. They are as trustworthy as this library itself, which nginx executes in the same way: named in its
    // configuration, and written by root or by the user that starts nginx. wasmtime checks that it is its own format,
    // of its own version, settings and processor.
    let module = unsafe { Module::deserialize(engine, &bytes) };
    module.map_err(|error| {
        format!("{name}: expected what this version's sluice-compile wrote: {error:#}")
    })
}

/// Checks the open file, so that the bytes are those of the file that was checked.
fn read_trusted(path: &Path) -> Result<Vec<u8>, String> {
    use std::io::Read;
    let mut file = fs::File::open(path).map_err(|error| error.to_string())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    // SAFETY: no arguments, cannot fail.
    let user = unsafe { nginx_sys::geteuid() };
    if metadata.uid() != ROOT && metadata.uid() != user {
        return Err("owner must be root or nginx's user, because the file is executed".to_owned());
    }
    if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(
            "must not be writable by group or others, because the file is executed".to_owned(),
        );
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}
