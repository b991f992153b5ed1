//! The part of WASI preview 1 that a Rust `std` cdylib needs: standard output, clocks and random bytes. There are no
//! arguments, environment variables or files.

use wasmtime::{Caller, Linker, Result};

use crate::guest::{Guest, HostCallError, Parts, State};
use crate::trap::Exit;
use crate::{Env, LogLevel, Status};

/// Name of the module that WASI functions are imported from.
pub(crate) const MODULE: &str = "wasi_snapshot_preview1";

const SUCCESS: u32 = 0;
const BADF: u32 = 8;
const FAULT: u32 = 21;
const INVAL: u32 = 28;
const IO: u32 = 29;
const NOSYS: u32 = 52;

/// More than a guest needs at once; bounds the host time that one call of a hostile guest costs.
const MAX_IOVECS: u32 = 1024;
const MAX_RANDOM: u32 = 64 << 10;

/// Errno of a WASI function that is not implemented. `BADF` for files: wasi-libc treats any other result of
/// `fd_prestat_get` as a broken system and exits.
pub(crate) fn errno_of_unimplemented(name: &str) -> u32 {
    if name.starts_with("fd_") || name.starts_with("path_") {
        BADF
    } else {
        NOSYS
    }
}

pub(crate) fn link<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    link_empty_environment(linker)?;
    linker.func_wrap(
        MODULE,
        "fd_write",
        |caller: Caller<'_, State<E>>, fd, iovecs, count, written| {
            errno(fd_write(&mut Guest(caller), fd, iovecs, count, written))
        },
    )?;
    linker.func_wrap(
        MODULE,
        "clock_time_get",
        |caller: Caller<'_, State<E>>, clock: u32, _precision: u64, out: u32| {
            errno(clock_time_get(&mut Guest(caller), clock, out))
        },
    )?;
    linker.func_wrap(
        MODULE,
        "random_get",
        |caller: Caller<'_, State<E>>, address, length| {
            errno(random_get(&mut Guest(caller), address, length))
        },
    )?;
    linker.func_wrap(MODULE, "sched_yield", || SUCCESS)?;
    linker.func_wrap(MODULE, "proc_exit", |code: u32| -> Result<()> {
        Err(wasmtime::Error::new(Exit(code)))
    })?;
    Ok(())
}

/// Links the functions for arguments and environment variables: there are none.
fn link_empty_environment<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    for name in ["args_get", "environ_get"] {
        linker.func_wrap(MODULE, name, |_strings: u32, _bytes: u32| SUCCESS)?;
    }
    for name in ["args_sizes_get", "environ_sizes_get"] {
        linker.func_wrap(
            MODULE,
            name,
            |caller: Caller<'_, State<E>>, count: u32, size: u32| {
                errno(write_empty_sizes(&mut Guest(caller), count, size))
            },
        )?;
    }
    Ok(())
}

fn write_empty_sizes<E: Env>(
    guest: &mut Guest<'_, E>,
    count: u32,
    size: u32,
) -> Result<(), WasiError> {
    let Parts { mut memory, .. } = guest.parts()?;
    memory.write_u32(count, 0)?;
    Ok(memory.write_u32(size, 0)?)
}

/// Logs writes to standard output as info and to standard error as error, one line per write.
fn fd_write<E: Env>(
    guest: &mut Guest<'_, E>,
    fd: u32,
    iovecs: u32,
    count: u32,
    written: u32,
) -> Result<(), WasiError> {
    let level = match fd {
        1 => LogLevel::Info,
        2 => LogLevel::Error,
        _ => return Err(WasiError::Errno(BADF)),
    };
    if count > MAX_IOVECS {
        return Err(WasiError::Errno(INVAL));
    }
    let Parts {
        mut memory,
        env,
        output: line,
        ..
    } = guest.parts()?;
    let capacity = memory.length();
    for iovec in 0..count {
        let at = iovecs
            .checked_add(iovec * 8)
            .ok_or(WasiError::Errno(FAULT))?;
        let length_at = at.checked_add(4).ok_or(WasiError::Errno(FAULT))?;
        line.extend_from_slice(memory.bytes(memory.read_u32(at)?, memory.read_u32(length_at)?)?);
        if line.len() > capacity {
            // Overlapping iovecs: more bytes than the guest's memory.
            return Err(WasiError::Errno(INVAL));
        }
    }
    let length = u32::try_from(line.len()).map_err(|_| WasiError::Errno(INVAL))?;
    memory.write_u32(written, length)?;
    env.log(level, line.strip_suffix(b"\n").unwrap_or(line));
    Ok(())
}

/// Reads the real-time clock or the monotonic one, which are the same clock here.
fn clock_time_get<E: Env>(guest: &mut Guest<'_, E>, clock: u32, out: u32) -> Result<(), WasiError> {
    if clock > 1 {
        return Err(WasiError::Errno(INVAL));
    }
    let Parts {
        mut memory, env, ..
    } = guest.parts()?;
    Ok(memory.write_u64(out, env.now_ns())?)
}

fn random_get<E: Env>(
    guest: &mut Guest<'_, E>,
    address: u32,
    length: u32,
) -> Result<(), WasiError> {
    if length > MAX_RANDOM {
        return Err(WasiError::Errno(INVAL));
    }
    let Parts {
        mut memory, env, ..
    } = guest.parts()?;
    let out = memory.bytes_mut(address, length)?;
    env.random(out).map_err(|_| WasiError::Errno(IO))
}

/// Failure of a WASI function.
enum WasiError {
    Errno(u32),
    HostCallError(HostCallError),
}

impl From<HostCallError> for WasiError {
    fn from(fault: HostCallError) -> Self {
        Self::HostCallError(fault)
    }
}

fn errno(result: Result<(), WasiError>) -> Result<u32> {
    match result {
        Ok(()) => Ok(SUCCESS),
        Err(WasiError::Errno(errno)) => Ok(errno),
        Err(WasiError::HostCallError(HostCallError::Status(Status::InvalidMemoryAccess))) => {
            Ok(FAULT)
        }
        Err(WasiError::HostCallError(HostCallError::Status(_))) => Ok(IO),
        Err(WasiError::HostCallError(HostCallError::Trap(error))) => Err(error),
    }
}
