//! The imports of the ABI: each reads its arguments from the guest, calls the [`Env`] and writes the result back.

mod http;
mod plugin;
mod shared;

use wasmtime::{ExternType, FuncType, Linker, Module, Result, Val, ValType, format_err};

use crate::guest::{Guest, HostCallError, State};
use crate::options::Unimplemented;
use crate::{Env, Status, wasi};

/// Links one function of the ABI: `import!(linker, "proxy_name", |guest, argument, ..| { .. })`, where all arguments
/// are `u32` unless they say otherwise and the body is a `Result<(), HostCallError>`.
macro_rules! import {
    ($linker:ident, $name:literal, |$guest:ident $(, $argument:ident $(: $ty:ty)?)*| $body:expr) => {
        $linker.func_wrap(
            "env",
            $name,
            |caller: wasmtime::Caller<'_, $crate::guest::State<E>> $(, $argument: import!(@ $($ty)?))*| {
                let mut guest = $crate::guest::Guest(caller);
                let body = |$guest: &mut $crate::guest::Guest<'_, E>| -> Result<(), $crate::guest::HostCallError> { $body };
                let result = body(&mut guest);
                $crate::imports::to_status(&guest, $name, result)
            },
        )?
    };
    (@) => { u32 };
    (@ $ty:ty) => { $ty };
}
use import;

/// Links all imports that `module` names.
pub(crate) fn link<E: Env>(linker: &mut Linker<State<E>>, module: &Module) -> Result<()> {
    linker.allow_shadowing(true);
    link_unimplemented(linker, module)?;
    plugin::link(linker)?;
    http::link(linker)?;
    shared::link(linker)?;
    wasi::link(linker)
}

/// Links every imported function of the ABI's two modules as unimplemented; the implemented ones replace it afterwards.
fn link_unimplemented<E: Env>(linker: &mut Linker<State<E>>, module: &Module) -> Result<()> {
    for import in module.imports() {
        let ExternType::Func(ty) = import.ty() else {
            continue;
        };
        if !returns_status(&ty) {
            continue;
        }
        let name = import.name().to_owned();
        match import.module() {
            "env" => linker.func_new("env", import.name(), ty, move |caller, _, results| {
                let status = to_status(&Guest(caller), &name, Err(Status::Unimplemented.into()))?;
                results.fill(Val::I32(status.cast_signed()));
                Ok(())
            })?,
            wasi::MODULE => {
                let errno = wasi::errno_of_unimplemented(&name);
                linker.func_new(wasi::MODULE, &name, ty, move |_, _, results| {
                    results.fill(Val::I32(errno.cast_signed()));
                    Ok(())
                })?
            }
            _ => continue,
        };
    }
    Ok(())
}

/// True if a function returns one number or nothing, as all of the ABI do; others cannot be given a status.
fn returns_status(ty: &FuncType) -> bool {
    ty.results().len() <= 1 && ty.results().all(|result| matches!(result, ValType::I32))
}

/// Converts the result of a host call to a status for the guest, or to a trap.
fn to_status<E: Env>(
    guest: &Guest<'_, E>,
    name: &str,
    result: Result<(), HostCallError>,
) -> Result<u32> {
    match result {
        Ok(()) => Ok(Status::Ok.number()),
        Err(HostCallError::Trap(error)) => Err(error),
        Err(HostCallError::Status(Status::Unimplemented))
            if guest.options().unimplemented == Unimplemented::Trap =>
        {
            Err(format_err!("{name} is not implemented by this host"))
        }
        Err(HostCallError::Status(status)) => Ok(status.number()),
    }
}

/// The value of a valid number of an ABI enum, or `BadArgument`.
fn valid<T>(value: Option<T>) -> Result<T, HostCallError> {
    value.ok_or(HostCallError::Status(Status::BadArgument))
}
