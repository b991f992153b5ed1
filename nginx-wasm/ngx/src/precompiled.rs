//! Native code that `sluice-compile` made of the filter.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use wasmtime::{Engine, Module};

/// Group and others may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;
const ROOT: u32 = 0;

/// Loads a module that was compiled ahead of time.
///
/// # Errors
///
/// The file cannot be read, somebody who may not write nginx's own modules may write it, or it does not fit the engine.
pub fn load(engine: &Engine, file: &Path) -> Result<Module, String> {
    let name = file.display();
    let bytes = read_trusted(file).map_err(|reason| format!("{name}: {reason}"))?;
    // SAFETY: what wasmtime asks of the caller is that nobody tampered with the bytes since they were compiled: they
    // are executed. They are as trustworthy as this library itself, which nginx executes in the same way: named in its
    // configuration, and written by root or by the user that starts nginx. wasmtime checks that it is its own format,
    // of its own version, settings and processor.
    let module = unsafe { Module::deserialize(engine, &bytes) };
    module.map_err(|error| {
        format!("{name}: expected what this version's sluice-compile wrote: {error:#}")
    })
}

/// Looks at the open file, so that what is read is what was looked at.
fn read_trusted(path: &Path) -> Result<Vec<u8>, String> {
    use std::io::Read;
    let mut file = fs::File::open(path).map_err(|error| error.to_string())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    // SAFETY: no arguments, cannot fail.
    let user = unsafe { nginx_sys::geteuid() };
    if metadata.uid() != ROOT && metadata.uid() != user {
        return Err("it is executed, but belongs to neither root nor nginx's user".to_owned());
    }
    if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err("it is executed, but its group or others may write it".to_owned());
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}
