//! Imports of the plugin itself: log, time, properties, contexts, foreign functions.

use std::time::Duration;

use wasmtime::{Linker, Result};

use super::{import, valid};
use crate::guest::{Parts, State};
use crate::{ContextId, Env, LogLevel, PropertyPath, Status};

pub(super) fn link<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    link_log_and_time(linker)?;
    link_properties(linker)?;
    link_contexts(linker)?;
    import!(
        linker,
        "proxy_call_foreign_function",
        |guest, name, name_len, arg, arg_len, out, out_len| {
            let Parts {
                memory,
                env,
                output,
                ..
            } = guest.parts()?;
            let (name, arguments) = (memory.bytes(name, name_len)?, memory.bytes(arg, arg_len)?);
            output.extend_from_slice(&env.call_foreign_function(name, arguments)?);
            guest.return_output(out, out_len)
        }
    );
    Ok(())
}

fn link_log_and_time<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    import!(linker, "proxy_log", |guest, level, message, message_len| {
        let level = valid(LogLevel::from_number(level))?;
        let Parts { memory, env, .. } = guest.parts()?;
        env.log(level, memory.bytes(message, message_len)?);
        Ok(())
    });
    import!(linker, "proxy_get_log_level", |guest, out| {
        let Parts {
            mut memory, env, ..
        } = guest.parts()?;
        memory.write_u32(out, env.log_level()?.number())
    });
    import!(
        linker,
        "proxy_get_current_time_nanoseconds",
        |guest, out| {
            let Parts {
                mut memory, env, ..
            } = guest.parts()?;
            memory.write_u64(out, env.now_ns())
        }
    );
    import!(
        linker,
        "proxy_set_tick_period_milliseconds",
        |guest, period| {
            Ok(guest
                .env()
                .set_tick_period(Duration::from_millis(u64::from(period)))?)
        }
    );
    Ok(())
}

fn link_properties<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    import!(
        linker,
        "proxy_get_property",
        |guest, path, path_len, out, out_len| {
            let Parts {
                memory,
                env,
                output,
                ..
            } = guest.parts()?;
            output.extend_from_slice(&env.property(PropertyPath(memory.bytes(path, path_len)?))?);
            guest.return_output(out, out_len)
        }
    );
    import!(
        linker,
        "proxy_set_property",
        |guest, path, path_len, value, value_len| {
            let Parts { memory, env, .. } = guest.parts()?;
            let path = PropertyPath(memory.bytes(path, path_len)?);
            Ok(env.set_property(path, memory.bytes(value, value_len)?)?)
        }
    );
    Ok(())
}

fn link_contexts<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    import!(linker, "proxy_set_effective_context", |guest, context| {
        let context = ContextId(context);
        if !guest.is_live(context) {
            return Err(Status::BadArgument.into());
        }
        guest.env().enter(context);
        Ok(())
    });
    import!(linker, "proxy_done", |guest| Ok(guest.env().done()?));
    import!(
        linker,
        "proxy_get_status",
        |guest, out_code, out, out_len| {
            let Parts {
                mut memory,
                env,
                output,
                ..
            } = guest.parts()?;
            let (code, message) = env.call_status()?;
            memory.write_u32(out_code, code)?;
            output.extend_from_slice(&message);
            guest.return_output(out, out_len)
        }
    );
    Ok(())
}
