//! The imports of the ABI: each reads its arguments from the guest, asks the [`Env`] and writes the answer back.

mod http;
mod plugin;
mod shared;

use wasmtime::{ExternType, FuncType, Linker, Module, Result, Val, ValType, format_err};

use crate::guest::{Fault, Guest, State};
use crate::options::Unimplemented;
use crate::{Env, Status, wasi};

/// Links one function of the ABI: `import!(linker, "proxy_name", |guest, argument, ..| { .. })`, where all arguments
/// are `u32` unless they say otherwise and the body is a `Result<(), Fault>`.
macro_rules! import {
    ($linker:ident, $name:literal, |$guest:ident $(, $argument:ident $(: $ty:ty)?)*| $body:expr) => {
        $linker.func_wrap(
            "env",
            $name,
            |caller: wasmtime::Caller<'_, $crate::guest::State<E>> $(, $argument: import!(@ $($ty)?))*| {
                let mut guest = $crate::guest::Guest(caller);
                let body = |$guest: &mut $crate::guest::Guest<'_, E>| -> Result<(), $crate::guest::Fault> { $body };
                let answer = body(&mut guest);
                $crate::imports::settle(&guest, $name, answer)
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
    link_unknown(linker, module)?;
    plugin::link(linker)?;
    http::link(linker)?;
    shared::link(linker)?;
    wasi::link(linker)
}

/// Gives every function of the ABI's two modules an answer; the ones that are known replace it afterwards.
fn link_unknown<E: Env>(linker: &mut Linker<State<E>>, module: &Module) -> Result<()> {
    for import in module.imports() {
        let ExternType::Func(ty) = import.ty() else {
            continue;
        };
        if !answers_a_status(&ty) {
            continue;
        }
        let name = import.name().to_owned();
        match import.module() {
            "env" => linker.func_new("env", import.name(), ty, move |caller, _, results| {
                let answer = settle(&Guest(caller), &name, Err(Status::Unimplemented.into()))?;
                results.fill(Val::I32(answer.cast_signed()));
                Ok(())
            })?,
            wasi::MODULE => {
                let errno = wasi::errno_of_absent(&name);
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

/// Whether a function answers one number or nothing, as all of the ABI do; another has no answer that we could give.
fn answers_a_status(ty: &FuncType) -> bool {
    ty.results().len() <= 1 && ty.results().all(|result| matches!(result, ValType::I32))
}

/// What the guest is answered: a status, or a trap.
fn settle<E: Env>(guest: &Guest<'_, E>, name: &str, answer: Result<(), Fault>) -> Result<u32> {
    match answer {
        Ok(()) => Ok(Status::Ok.number()),
        Err(Fault::Trap(error)) => Err(error),
        Err(Fault::Status(Status::Unimplemented))
            if guest.options().unimplemented == Unimplemented::Traps =>
        {
            Err(format_err!("{name} is not implemented by this host"))
        }
        Err(Fault::Status(status)) => Ok(status.number()),
    }
}

/// An enum of the ABI from its number, or what the guest is told of a number that is none of it.
fn known<T>(value: Option<T>) -> Result<T, Fault> {
    value.ok_or(Fault::Status(Status::BadArgument))
}
