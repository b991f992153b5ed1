//! The part of WASI preview 1 that a Rust `std` cdylib needs: it prints, asks for the time and for randomness, and
//! finds no arguments, no environment and no files.

use wasmtime::{Caller, Linker, Result};

use crate::guest::{Fault, Guest, Parts, State};
use crate::trap::Exit;
use crate::{Env, LogLevel, Status};

/// The name of the module that wasi functions are imported from.
pub(crate) const MODULE: &str = "wasi_snapshot_preview1";

const SUCCESS: u32 = 0;
const BADF: u32 = 8;
const FAULT: u32 = 21;
const INVAL: u32 = 28;
const IO: u32 = 29;
const NOSYS: u32 = 52;

/// More than a guest has reason to ask for at once; it keeps a hostile one from buying host time with one call.
const MAX_IOVECS: u32 = 1024;
const MAX_RANDOM: u32 = 64 << 10;

/// What a wasi function that is not here answers. Of files, `BADF`: wasi-libc takes any other answer of
/// `fd_prestat_get` for a broken system and exits.
pub(crate) fn errno_of_absent(name: &str) -> u32 {
    if name.starts_with("fd_") || name.starts_with("path_") {
        BADF
    } else {
        NOSYS
    }
}

pub(crate) fn link<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    link_nothing(linker)?;
    linker.func_wrap(
        MODULE,
        "fd_write",
        |caller: Caller<'_, State<E>>, fd, iovecs, count, written| {
            errno(print(&mut Guest(caller), fd, iovecs, count, written))
        },
    )?;
    linker.func_wrap(
        MODULE,
        "clock_time_get",
        |caller: Caller<'_, State<E>>, clock: u32, _precision: u64, out: u32| {
            errno(tell_time(&mut Guest(caller), clock, out))
        },
    )?;
    linker.func_wrap(
        MODULE,
        "random_get",
        |caller: Caller<'_, State<E>>, address, length| {
            errno(fill_random(&mut Guest(caller), address, length))
        },
    )?;
    linker.func_wrap(MODULE, "sched_yield", || SUCCESS)?;
    linker.func_wrap(MODULE, "proc_exit", |code: u32| -> Result<()> {
        Err(wasmtime::Error::new(Exit(code)))
    })?;
    Ok(())
}

/// No arguments and an empty environment.
fn link_nothing<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    for name in ["args_get", "environ_get"] {
        linker.func_wrap(MODULE, name, |_strings: u32, _bytes: u32| SUCCESS)?;
    }
    for name in ["args_sizes_get", "environ_sizes_get"] {
        linker.func_wrap(
            MODULE,
            name,
            |caller: Caller<'_, State<E>>, count: u32, size: u32| {
                errno(tell_nothing(&mut Guest(caller), count, size))
            },
        )?;
    }
    Ok(())
}

fn tell_nothing<E: Env>(guest: &mut Guest<'_, E>, count: u32, size: u32) -> Result<(), Refused> {
    let Parts { mut memory, .. } = guest.parts()?;
    memory.write_u32(count, 0)?;
    Ok(memory.write_u32(size, 0)?)
}

/// Standard output and error go to the log, one write one line.
fn print<E: Env>(
    guest: &mut Guest<'_, E>,
    fd: u32,
    iovecs: u32,
    count: u32,
    written: u32,
) -> Result<(), Refused> {
    let level = match fd {
        1 => LogLevel::Info,
        2 => LogLevel::Error,
        _ => return Err(Refused::Errno(BADF)),
    };
    if count > MAX_IOVECS {
        return Err(Refused::Errno(INVAL));
    }
    let Parts {
        mut memory,
        env,
        reply: line,
        ..
    } = guest.parts()?;
    let capacity = memory.length();
    for iovec in 0..count {
        let at = iovecs.checked_add(iovec * 8).ok_or(Refused::Errno(FAULT))?;
        let length_at = at.checked_add(4).ok_or(Refused::Errno(FAULT))?;
        line.extend_from_slice(memory.bytes(memory.read_u32(at)?, memory.read_u32(length_at)?)?);
        if line.len() > capacity {
            // Iovecs that overlap: more than the guest has.
            return Err(Refused::Errno(INVAL));
        }
    }
    let length = u32::try_from(line.len()).map_err(|_| Refused::Errno(INVAL))?;
    memory.write_u32(written, length)?;
    env.log(level, line.strip_suffix(b"\n").unwrap_or(line));
    Ok(())
}

/// The real-time clock and the monotonic one are the same clock here.
fn tell_time<E: Env>(guest: &mut Guest<'_, E>, clock: u32, out: u32) -> Result<(), Refused> {
    if clock > 1 {
        return Err(Refused::Errno(INVAL));
    }
    let Parts {
        mut memory, env, ..
    } = guest.parts()?;
    Ok(memory.write_u64(out, env.now_ns())?)
}

fn fill_random<E: Env>(guest: &mut Guest<'_, E>, address: u32, length: u32) -> Result<(), Refused> {
    if length > MAX_RANDOM {
        return Err(Refused::Errno(INVAL));
    }
    let Parts {
        mut memory, env, ..
    } = guest.parts()?;
    let out = memory.bytes_mut(address, length)?;
    env.random(out).map_err(|_| Refused::Errno(IO))
}

/// Why a wasi function does not succeed.
enum Refused {
    Errno(u32),
    Fault(Fault),
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

fn errno(answer: Result<(), Refused>) -> Result<u32> {
    match answer {
        Ok(()) => Ok(SUCCESS),
        Err(Refused::Errno(errno)) => Ok(errno),
        Err(Refused::Fault(Fault::Status(Status::InvalidMemoryAccess))) => Ok(FAULT),
        Err(Refused::Fault(Fault::Status(_))) => Ok(IO),
        Err(Refused::Fault(Fault::Trap(error))) => Err(error),
    }
}
